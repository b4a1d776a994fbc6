package path

import (
	"strconv"
	"time"

	"job-cleanup/pkg/residue"
)

// Keys of a residue's proof. Numbers are decimal.
const (
	proofDev   = "dev"   // device number
	proofIno   = "ino"   // inode number
	proofBirth = "btime" // birth time, RFC 3339 with nanoseconds, UTC; missing where the file system keeps none
	proofMount = "mount" // mount point that it lies on, without the sandbox's own mounts
	proofKind  = "kind"  // dir, file, link, fifo, socket, device; mount for a mount
	proofBoot  = "boot"  // boot id of the observation: device numbers hold for one boot
)

// birthSlack is how much earlier than the clock a file system may stamp a
// birth: it uses the time of the last timer tick.
const birthSlack = 10 * time.Millisecond

// proof writes down what identifies a thing.
func proof(f facts, all mounts) map[string]string {
	p := map[string]string{
		proofDev:  strconv.FormatUint(f.dev, 10),
		proofIno:  strconv.FormatUint(f.ino, 10),
		proofKind: f.kind(),
	}
	if !f.btime.IsZero() {
		p[proofBirth] = f.btime.Format(time.RFC3339Nano)
	}
	if point := all.point(f.mount); point != "" {
		p[proofMount] = point
	}
	if boot := bootID(); boot != "" {
		p[proofBoot] = boot
	}
	return p
}

// verdict is what comparing a thing with a proof tells.
type verdict int

const (
	same   verdict = iota
	other          // provably something else
	unsure         // the proof does not reach
)

// compare tells whether the thing that f describes is the one of the proof.
func compare(want map[string]string, f facts, all mounts) verdict {
	if want[proofIno] != strconv.FormatUint(f.ino, 10) || want[proofKind] != f.kind() {
		return other
	}
	recorded, known := want[proofBirth]
	if known != !f.btime.IsZero() {
		return unsure
	}
	if known {
		born, err := time.Parse(time.RFC3339Nano, recorded)
		if err != nil || !born.Equal(f.btime) {
			return other
		}
	}
	sameMount := want[proofMount] != "" && want[proofMount] == all.point(f.mount)
	thisBoot := want[proofBoot] != "" && want[proofBoot] == bootID()
	switch {
	case thisBoot && want[proofDev] == strconv.FormatUint(f.dev, 10):
	case thisBoot && sameMount: // mounted anew: the number says nothing any more
		return unsure
	case !thisBoot && sameMount:
	default:
		return other
	}
	if !known { // device and inode are given out again
		return unsure
	}
	return same
}

// judge makes the answer about a thing that stands where ref points: nil when
// it is the one of the proof, or for an intent, when it can only be the job's.
func (c *cleaner) judge(ref string, want map[string]string, f facts, all mounts) error {
	if len(want) == 0 {
		return c.bornInJob(ref, f)
	}
	verdict := compare(want, f, all)
	if verdict == unsure && c.saw(ref, f) {
		verdict = same
	}
	switch {
	case verdict == same:
		return nil
	case verdict == unsure:
		return residue.Errorf(residue.Retry, residue.Changed, "%q: nothing proves that it is still the one that was recorded", ref)
	case c.job.Outside && hidden(c.job, ref) != "":
		return residue.Errorf(residue.Retry, residue.Changed, "%q is another one outside of the unit's sandbox", ref)
	}
	return residue.Errorf(residue.Lost, residue.Changed, "%q is not the one that was recorded", ref)
}

// bornInJob accepts what was announced before it was there: only what was
// born while the job ran, and belongs to the job's user or root.
func (c *cleaner) bornInJob(ref string, f facts) error {
	start, end := c.job.Start, c.job.End
	switch {
	case c.job.Outside && hidden(c.job, ref) != "":
		return residue.Errorf(residue.Retry, residue.Changed, "%q is another one outside of the unit's sandbox", ref)
	case start.IsZero() || f.btime.IsZero():
		return residue.Errorf(residue.Retry, residue.Changed, "%q: nothing proves that it was made by the job", ref)
	case f.btime.Before(start.Add(-birthSlack)):
		return residue.Errorf(residue.Lost, residue.Changed, "%q was there before the job", ref)
	case !end.IsZero() && f.btime.After(end):
		return residue.Errorf(residue.Lost, residue.Changed, "%q was made after the job", ref)
	case c.job.User != nil && f.uid != c.job.User.UID && f.uid != 0:
		return residue.Errorf(residue.Lost, residue.Changed, "%q belongs to uid %d, not to the job", ref, f.uid)
	}
	return nil
}

// identity is what holds as proof within one life of a cleaner, where a file
// system keeps no birth time.
type identity struct{ dev, ino, mount uint64 }

func (c *cleaner) note(ref string, f facts) {
	c.seen.Store(ref, identity{f.dev, f.ino, f.mount})
}

func (c *cleaner) saw(ref string, f facts) bool {
	was, ok := c.seen.Load(ref)
	return ok && was == identity{f.dev, f.ino, f.mount}
}
