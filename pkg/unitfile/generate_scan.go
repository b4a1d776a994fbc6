package unitfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// mention is how our sections begin, in small letters: what systemd.syntax(7)
// calls a header has nothing between bracket and name.
const mention = "[x-cleanup"

// look is a file or drop-in folder to look into, and whose it is.
type look struct {
	owner    string // name of a unit; of a folder, its name without the ".d"
	dir      int    // descriptor of the directory that path is relative to
	path     string
	isFolder bool
	found    bool
}

// mentions looks through the files of a search path for our sections. It
// returns the names of units whose file has one, and of what drop-in folders,
// without the ".d", hold one that has.
func (s Search) mentions(all []listed) (files, folders map[string]bool) {
	looks, dirs := s.looks(all)
	defer func() {
		for _, fd := range dirs {
			_ = unix.Close(fd)
		}
	}()
	const workers = 4 // each waits for the kernel most of its time
	var done sync.WaitGroup
	for first := range workers {
		done.Go(func() {
			var in scanner
			for i := first; i < len(looks); i += workers {
				in.look(&looks[i])
			}
		})
	}
	done.Wait()
	files, folders = map[string]bool{}, map[string]bool{}
	for _, l := range looks {
		switch {
		case l.found && l.isFolder:
			folders[l.owner] = true
		case l.found:
			files[l.owner] = true
		}
	}
	return files, folders
}

// looks lists the services' files and drop-in folders, and the descriptors of
// their directories: to be found from there saves the kernel most of its work.
func (s Search) looks(all []listed) (looks []look, dirs []int) {
	for _, l := range all {
		fd, err := unix.Open(l.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // there was nothing to list either
		}
		dirs = append(dirs, fd)
		for _, e := range l.entries {
			name := e.Name()
			owner, isFolder := strings.CutSuffix(name, ".d")
			if strings.HasSuffix(owner, ".service") || isFolder && owner == "service" {
				looks = append(looks, look{owner: owner, dir: fd, path: s.target(l.dir, e), isFolder: isFolder})
			}
		}
	}
	return looks, dirs
}

// target is the path to read for an entry, from its directory. Below another
// root an absolute link leads to what lies below that root.
func (s Search) target(dir string, e fs.DirEntry) string {
	if s.Root == "" || e.Type()&fs.ModeSymlink == 0 {
		return e.Name()
	}
	if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && filepath.IsAbs(to) {
		return filepath.Join(s.Root, to)
	}
	return e.Name()
}

// scanner reads files one after the other into the same memory.
type scanner struct{ buffer []byte }

func (in *scanner) look(l *look) {
	if l.isFolder {
		l.found = in.folderMentions(l.dir, l.path)
	} else {
		l.found = in.fileMentions(l.dir, l.path)
	}
}

// folderMentions reports whether a drop-in of a folder has our section. What
// can't be read has none: whoever loads the unit is told.
func (in *scanner) folderMentions(at int, path string) bool {
	fd, err := unix.Openat(at, path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.HasSuffix(name, ".conf") && in.fileMentions(fd, name)
	})
}

// fileMentions reports whether a file has our section. The system is called
// directly: what package os does beside (a poller, a finalizer) costs more than
// reading a file of this size. Special files are not waited for.
func (in *scanner) fileMentions(at int, path string) bool {
	fd, err := unix.Openat(at, path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if in.buffer == nil {
		in.buffer = make([]byte, 16<<10)
	}
	kept := 0 // of the end of what was read before: the word may be cut in two
	for total := 0; total < maxFile; {
		n, err := unix.Read(fd, in.buffer[kept:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return false
		}
		text := in.buffer[:kept+n]
		if mentioned(text) {
			return true
		}
		if kept+n < len(in.buffer) { // a file gives less than asked for only at its end
			return false
		}
		total += n
		kept = copy(in.buffer, text[max(0, len(text)-len(mention)+1):])
	}
	return false
}

// mentioned reports whether text has the section's name in any case. A bracket
// is rare in a unit and found fast.
func mentioned(text []byte) bool {
	for {
		at := bytes.IndexByte(text, '[')
		if at < 0 || len(text)-at < len(mention) {
			return false
		}
		if bytes.EqualFold(text[at:at+len(mention)], []byte(mention)) {
			return true
		}
		text = text[at+1:]
	}
}

// takesFrom reports whether a unit takes drop-ins from one of the folders.
func takesFrom(name string, folders map[string]bool) bool {
	parsed, err := ParseName(name)
	if err != nil {
		return false
	}
	if folders[parsed.Type] {
		return true
	}
	for _, v := range variants(parsed) {
		if folders[v] {
			return true
		}
	}
	return false
}
