// Package unitfile reads units as the service manager reads them: the lines
// of a file with their positions, the names of units, where a unit's fragment
// and drop-ins lie, and what they say together.
//
// The manager ignores sections whose name begins with X-, and hands them to
// nobody, so whoever keeps something there has to read the files. Whatever is
// wrong in a file is a Problem with file and line; the rest of it still counts.
package unitfile
