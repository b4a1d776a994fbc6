package path

// mark says that an exclusion's first components are matched, so that the rest
// may match below.
type mark struct{ pattern, done int }

// marks are the exclusions that may lie below a folder, under either of its
// paths.
func (w *walk) marks(paths ...[]string) []mark {
	var all []mark
	for i, p := range w.exclude {
		for _, names := range paths {
			if len(p.parts) > len(names) && p.covers(names, true) {
				all = append(all, mark{i, len(names)})
			}
		}
	}
	return all
}

// marksBelow are those that may still lie below the folder name.
func (w *walk) marksBelow(watch []mark, name []byte) []mark {
	var all []mark
	for _, m := range watch {
		parts := w.exclude[m.pattern].parts
		if len(parts) > m.done+1 && parts[m.done].matches(string(name), true) {
			all = append(all, mark{m.pattern, m.done + 1})
		}
	}
	return all
}

// excludes reports whether an exclusion ends in name.
func (w *walk) excludes(watch []mark, name string) bool {
	for _, m := range watch {
		parts := w.exclude[m.pattern].parts
		if len(parts) == m.done+1 && parts[m.done].matches(name, true) {
			return true
		}
	}
	return false
}
