package path

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// mount is a line of /proc/self/mountinfo.
type mount struct {
	id, parent uint64
	dev        string // MAJOR:MINOR
	root       string // the folder of the file system that shows
	point      string
	fstype     string
}

// mounts are the mounts of our own mount namespace by id.
type mounts map[uint64]mount

// readMounts reads a mountinfo file.
func readMounts(file string) (mounts, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all := mounts{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m, err := parseMount(lines.Text())
		if err != nil {
			return nil, err
		}
		all[m.id] = m
	}
	return all, lines.Err()
}

// parseMount reads "27 1 254:0 / / rw,relatime … - ext4 /dev/vda rw".
func parseMount(line string) (mount, error) {
	fields := strings.Fields(line)
	if len(fields) < 7 {
		return mount{}, fmt.Errorf("mountinfo line %q is too short", line)
	}
	id, err := strconv.ParseUint(fields[0], 10, 64)
	if err != nil {
		return mount{}, err
	}
	parent, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return mount{}, err
	}
	m := mount{id: id, parent: parent, dev: fields[2], root: unescape(fields[3]), point: unescape(fields[4])}
	for i, f := range fields[6:] {
		if f == "-" && 6+i+1 < len(fields) {
			m.fstype = fields[6+i+1]
		}
	}
	return m, nil
}

// unescape undoes \040 and its like, as proc(5) and fstab(5) write them.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// transparent reports whether mount m shows just the folder that it covers,
// as the sandbox's ReadWritePaths= and ProtectSystem= do: crossing it does not
// change what a path means.
func (all mounts) transparent(id uint64) bool {
	m, ok := all[id]
	if !ok {
		return false
	}
	over, ok := all[m.parent]
	if !ok || over.id == m.id || over.dev != m.dev {
		return false
	}
	rel, ok := below(m.point, over.point)
	if !ok {
		return false
	}
	return m.root == glue(over.root, rel)
}

// point is the mount point that a mount's files belong to, seen without the
// sandbox's transparent mounts; "" when the mount is not known.
func (all mounts) point(id uint64) string {
	for range len(all) {
		if !all.transparent(id) {
			break
		}
		id = all[id].parent
	}
	return all[id].point
}

// below returns the rest of path beneath front, "" for front itself.
func below(path, front string) (string, bool) {
	if front == "/" {
		return strings.TrimPrefix(path, "/"), true
	}
	rest, ok := strings.CutPrefix(path, front)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return strings.TrimPrefix(rest, "/"), true
}

func glue(root, rel string) string {
	switch {
	case rel == "":
		return root
	case root == "/":
		return "/" + rel
	}
	return root + "/" + rel
}
