// Package plan compiles the [X-Cleanup…] sections of a unit or a plain file
// into specs: checked, expanded, and self-contained.
//
// A step is taken whole or not at all. One bad line refuses its step with a
// Problem that names file, line and the nearest word that would have been
// right; the other steps still compile.
package plan
