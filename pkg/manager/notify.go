package manager

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// Notify sends state lines such as "STATUS=removing" or
// "EXTEND_TIMEOUT_USEC=5000000" to a notification socket; see sd_notify(3).
// The socket is what NOTIFY_SOCKET= held: a path, or "@" and an abstract name.
// A line break inside a line becomes a space, so that a file name can't add a
// line of its own. It takes a second at most.
func Notify(socket string, lines ...string) error {
	if !strings.HasPrefix(socket, "/") && !strings.HasPrefix(socket, "@") {
		return fmt.Errorf("notify socket %q is neither a path nor abstract", socket)
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	defer conn.Close()
	clean := make([]string, len(lines))
	for i, line := range lines {
		clean[i] = strings.Map(oneLine, line)
	}
	if err := conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	if _, err := conn.Write([]byte(strings.Join(clean, "\n"))); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}

func oneLine(r rune) rune {
	if r == '\n' || r == '\r' || r == 0 {
		return ' '
	}
	return r
}
