package cleantest

import "job-cleanup/pkg/residue"

var classes = map[residue.Class]string{
	residue.Retry: "owed", residue.Unreachable: "unreachable", residue.Refused: "refused",
	residue.Lost: "lost", residue.Until: "until",
}

// Verdict is what a cleaner's answer means, in a word or two: "removed",
// "gone", else the class and the reason, such as "owed timeout".
func Verdict(err error) string {
	e := residue.AsError(err)
	switch {
	case e == nil:
		return "removed"
	case e.Class == residue.Gone:
		return "gone"
	}
	return classes[e.Class] + " " + string(e.Reason)
}
