package unitfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// maxFile is the largest file that is read; no unit is near it.
const maxFile = 16 << 20

// errTooLong is what the kernel says of a file name over 255 bytes.
var errTooLong error = syscall.ENAMETOOLONG

// readFile reads a unit's file. /dev/null, the manager's mask, is empty; any
// other special file is an error and not waited for.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeCharDevice != 0:
		return nil, nil
	case !mode.IsRegular():
		return nil, fmt.Errorf("read %q: not a regular file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("read %q: larger than %d bytes", path, maxFile)
	}
	return text, err
}

// unread is the Problem of a file or directory that could not be read.
func unread(path string, err error) Problem {
	p := Problem{File: path, Text: "can't be read: " + reason(err)}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.Hint = "remove the link, or reload the service manager if the file was removed"
	case errors.Is(err, fs.ErrPermission):
		p.Hint = "make it readable for the user that runs this"
	}
	return p
}

// reason is an error without the path that the Problem names already.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}
