package unitfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Wired is a unit that Generate gave its hooks.
type Wired struct {
	Unit string // its name; a template's covers all instances
	File string // path of the drop-in
}

// Generate writes a drop-in below dir for every service that has cleanup
// sections and calls job-cleanup nowhere by itself: the work of a generator,
// see systemd.generator(7). Nothing outside of dir is touched. What went wrong
// with one unit is an error of its own and keeps no other from its hooks.
//
// The files are first looked through for the name of our sections, since next
// to none of a machine's units has one.
func Generate(s Search, dir, binary string) ([]Wired, []error) {
	s = s.existing()
	all, problems := s.list()
	var errs []error
	for _, p := range problems {
		errs = append(errs, p)
	}
	files, folders := s.mentions(all)
	if len(files) == 0 && len(folders) == 0 {
		return nil, errs
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, append(errs, fmt.Errorf("open the generator's folder: %w", err))
	}
	defer root.Close()
	known := s.namesIn(all, problems)
	var wired []Wired
	done := map[string]bool{}
	for _, name := range known.planned(files, folders) {
		u, err := s.load(name, known)
		if err != nil {
			if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrMasked) {
				errs = append(errs, err)
			}
			continue
		}
		if done[u.Name] || len(Hooks(u)) > 0 || len((&Facts{Unit: u}).steps()) == 0 {
			continue
		}
		done[u.Name] = true
		file, err := wire(root, u, binary)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		wired = append(wired, Wired{Unit: u.Name, File: filepath.Join(dir, file)})
	}
	return wired, errs
}

// existing is the search path without what does not exist or stands there
// already under another name, as /lib and /usr/lib do: each directory is asked
// for the drop-ins of each unit.
func (s Search) existing() Search {
	var dirs []string
	var seen []fs.FileInfo
	for i, dir := range s.dirs() {
		info, err := os.Stat(dir)
		same := func(other fs.FileInfo) bool { return os.SameFile(info, other) }
		if errors.Is(err, fs.ErrNotExist) || err == nil && slices.ContainsFunc(seen, same) {
			continue
		}
		if err == nil {
			seen = append(seen, info)
		}
		dirs = append(dirs, s.Dirs[i])
	}
	return Search{Dirs: dirs, Root: s.Root}
}

// wire writes the drop-in of one unit and returns its path below the root.
func wire(root *os.Root, u *Unit, binary string) (string, error) {
	text, err := WiringDropIn(u, binary)
	if err != nil {
		return "", err
	}
	folder := u.Name + ".d"
	if err := root.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the drop-in folder of %q: %w", u.Name, err)
	}
	file := filepath.Join(folder, WiringName)
	header := "# Written by job-cleanup's generator, since " + u.Name + " has an [X-Cleanup]\n# section and no hook.\n\n"
	if err := root.WriteFile(file, []byte(header+text), 0o644); err != nil {
		return "", fmt.Errorf("write the drop-in of %q: %w", u.Name, err)
	}
	return file, nil
}

// planned returns the services that may have cleanup sections, by name: those
// whose own file has one, and those that take drop-ins from a folder where a
// file has one.
func (n names) planned(files, folders map[string]bool) []Name {
	if len(folders) > 0 {
		for name := range n.files {
			files[name] = files[name] || takesFrom(name, folders)
		}
	}
	for folder := range folders { // one instance may have drop-ins, and its template the file
		files[folder] = true
	}
	var planned []Name
	for name, mentions := range files {
		if parsed, err := ParseName(name); mentions && err == nil && parsed.Type == "service" {
			planned = append(planned, parsed)
		}
	}
	slices.SortFunc(planned, func(a, b Name) int { return strings.Compare(a.String(), b.String()) })
	return planned
}
