//go:build linux

package servers

import (
	"crypto/rand"
	"math/big"
	"net"
	"strconv"

	"job-cleanup/test/rig"
)

// Ports are looked for below those that the kernel gives to outgoing
// connections: nobody else comes by one by chance while its server is stopped.
const (
	firstPort = 10_000
	lastPort  = 32_000
)

// freePort returns a port of 127.0.0.1 that nobody listens on.
func freePort(t rig.T) int {
	t.Helper()
	for range 1000 {
		offset, err := rand.Int(rand.Reader, big.NewInt(lastPort-firstPort))
		if err != nil {
			t.Fatal(err)
		}
		port := firstPort + int(offset.Int64())
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue
		}
		listener.Close()
		return port
	}
	t.Fatal("no free port on 127.0.0.1")
	return 0
}

func loopback(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// NewSecret returns a word that nobody guesses and that stands nowhere else,
// so that a test can look for it where no secret may be.
func NewSecret() string { return "canary-" + rand.Text() }
