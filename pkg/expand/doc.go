// Package expand turns the text of a plan into what it stands for: specifiers
// (%i), variables (${NAME}), command lines and time spans, in the manner of
// systemd.unit(5), systemd.service(5) and systemd.time(7).
//
// Two things differ from the service manager, both so that a cleanup never
// removes something nobody named. Expanded text is literal: it is never empty,
// never split, never a pattern, and never brings a "." or ".." component. And
// whatever has no value is an error instead of nothing.
//
//	%i                specifier; %% is a percent sign
//	${NAME}           variable; unset or empty is an error
//	${NAME:-default}  the default when unset or empty; it may hold specifiers,
//	                  but no variable, and must not be empty
//	$$                a dollar sign
//
// $NAME without braces is an error, since taken literally it would name
// something else than what was meant. A dollar sign before anything that
// can't begin a name stands for itself; outside of command lines $( and $1
// are errors too.
package expand
