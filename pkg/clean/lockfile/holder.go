package lockfile

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// holder is who a lock file says holds it. Zero fields are not known.
type holder struct {
	pid   int
	start uint64 // as written: clock ticks, unless the writer meant another unit
	exact bool   // start was read from the kernel by us, its unit is certain
	boot  string // 32 hexadecimal digits
	host  string
}

// parse reads the content of a lock file. Known are a process id alone (padded
// as UUCP does), "PID HOST", "HOST:PID", "PID@HOST"; a process id with the host
// in the next line; Qt's five lines; lines of "key=value" or "key: value"; and
// a JSON object. Whatever is not understood could name another host, so it is
// no holder; with lenient the id at the start of the file is enough.
func parse(content []byte, ours string, lenient bool) (holder, bool) {
	text := strings.TrimRight(string(content), "\x00 \t\r\n")
	if text == "" || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return holder{}, false
	}
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return parseObject(text)
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if h, ok := parseKeys(lines); ok {
		return h, true
	}
	if h, ok := parseLines(lines, ours); ok {
		return h, true
	}
	first := strings.Fields(lines[0])
	if !lenient || len(first) == 0 {
		return holder{}, false
	}
	id, ok := processID(first[0])
	return holder{pid: id}, ok
}

// processID reads an id that kill(2) can mean one process with.
func processID(text string) (int, bool) {
	id, err := strconv.ParseInt(text, 10, 32)
	return int(id), err == nil && id > 0 && text[0] != '+'
}

// parseLines reads the forms without keys.
func parseLines(lines []string, ours string) (holder, bool) {
	h, ok := parseWord(lines[0])
	if !ok || len(lines) > 1 && h.host != "" {
		return holder{}, false
	}
	switch len(lines) {
	case 1:
		return h, true
	case 2: // a host or a program: only our own host can be told apart
		h.host = lines[1]
		return h, strings.EqualFold(h.host, ours) && ours != ""
	case 3, 4, 5: // Qt: id, program, host, machine id, boot id
		h.host = lines[2]
		if len(lines) == 5 {
			h.boot = bootID(lines[4])
		}
		return h, hostName(h.host)
	}
	return holder{}, false
}

// parseWord reads a process id and perhaps a host.
func parseWord(line string) (holder, bool) {
	var id, host string
	switch fields := strings.Fields(line); len(fields) {
	case 1:
		id = fields[0]
		if a, b, ok := strings.Cut(id, "@"); ok {
			id, host = a, b
		} else if i := strings.LastIndexByte(id, ':'); i >= 0 {
			id, host = id[i+1:], id[:i]
		}
		if id != fields[0] && !hostName(host) {
			return holder{}, false
		}
	case 2:
		if id, host = fields[0], fields[1]; !hostName(host) {
			return holder{}, false
		}
	default:
		return holder{}, false
	}
	n, ok := processID(id)
	return holder{pid: n, host: host}, ok
}

// parseLink reads the text of a link that is a lock: "HOST:PID" or "HOST-PID",
// as browsers write it, and "USER@HOST.PID", with ":BOOT" behind it, as an
// editor does. Its boot is a wall-clock time, which proves nothing.
func parseLink(text string) (holder, bool) {
	if _, after, ok := strings.Cut(text, "@"); ok {
		after, _, _ = strings.Cut(after, ":")
		i := strings.LastIndexByte(after, '.')
		if i < 0 {
			return holder{}, false
		}
		n, ok := processID(after[i+1:])
		return holder{pid: n, host: after[:i]}, ok && hostName(after[:i])
	}
	i := strings.LastIndexAny(text, ":-")
	if i < 0 {
		return parseWord(text)
	}
	n, ok := processID(strings.TrimPrefix(text[i+1:], "+"))
	return holder{pid: n, host: text[:i]}, ok && hostName(text[:i])
}

// hostName reports whether text can be a host's name and is not a number,
// which would be a time or another id.
func hostName(text string) bool {
	letters := strings.ToLower(text)
	return text != "" && strings.Trim(letters, "abcdefghijklmnopqrstuvwxyz0123456789.-_") == "" &&
		strings.Trim(letters, "0123456789") != ""
}

// parseKeys reads lines of key=value or "key: value". One of them must be pid.
func parseKeys(lines []string) (holder, bool) {
	var h holder
	for _, line := range lines {
		i := strings.IndexAny(line, "=:")
		if i < 0 {
			continue
		}
		if !h.set(line[:i], strings.Trim(strings.TrimSpace(line[i+1:]), `"'`)) {
			return holder{}, false
		}
	}
	return h, h.pid > 0
}

// parseObject reads a JSON object, its top level only.
func parseObject(text string) (holder, bool) {
	var object map[string]any
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	if err := dec.Decode(&object); err != nil || dec.More() {
		return holder{}, false
	}
	var h holder
	for key, value := range object {
		var word string
		switch v := value.(type) {
		case json.Number:
			word = v.String()
		case string:
			word = v
		default:
			continue
		}
		if !h.set(key, word) {
			return holder{}, false
		}
	}
	return h, h.pid > 0
}

// set takes one key's value; false means that it contradicts what is known or
// can't be read though it matters. Unknown keys and a start or boot in another
// form are passed over: then less is known.
func (h *holder) set(key, value string) bool {
	key = strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(strings.TrimSpace(key)))
	switch key {
	case "pid":
		n, ok := processID(value)
		if !ok || h.pid != 0 {
			return false
		}
		h.pid = n
	case "host", "hostname", "host_name", "node":
		if h.host != "" && h.host != value {
			return false
		}
		h.host = value
	case "boot", "boot_id", "bootid":
		h.boot = bootID(value)
	case "start", "starttime", "start_time", "start_ticks":
		h.start, _ = strconv.ParseUint(value, 10, 64)
	}
	return true
}
