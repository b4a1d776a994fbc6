package main

// The exit codes. The table only grows: scripts depend on it.
const (
	exitDone    = 0 // all that was asked is done; run also when something is owed, unless strict
	exitOwed    = 1 // run --strict, ExitPolicy=strict: something is owed or refused; plan: a step is wrong; others: it failed
	exitUsage   = 2 // options that can't be parsed
	exitRefused = 3 // run by hand on a unit that is active, without --force

	// exec exits as its command did, and as env(1) and the shells do where there is none.
	execFailed   = 125 // exec itself could not begin
	execCannot   = 126 // the command is there and can't be executed
	execNotFound = 127 // there is no such command
)

// exitTable is the table as help shows it.
var exitTable = []struct {
	code int
	text string
}{
	{exitDone, "done; run: also when something is still owed, unless strict"},
	{exitOwed, "run under --strict or ExitPolicy=strict: something is owed or refused; plan: a step is wrong; other verbs: it failed"},
	{exitUsage, "options or arguments that can't be parsed (arm: 0)"},
	{exitRefused, "run by hand while the unit is active, without --force"},
	{execFailed, "exec: it could not begin"},
	{execCannot, "exec: the command can't be executed"},
	{execNotFound, "exec: there is no such command"},
}
