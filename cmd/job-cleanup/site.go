package main

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"job-cleanup/pkg/engine"
	"job-cleanup/pkg/journal"
	"job-cleanup/pkg/ledger"
	"job-cleanup/pkg/residue"
)

// Where root keeps things; see file-hierarchy(7).
const (
	systemState   = "/var/lib/job-cleanup"
	systemRuntime = "/run/job-cleanup"
)

// recordsTold is how many removals of one job the journal is told one by one.
const recordsTold = 1000

// site is the place a process works at: its folders and where its records go.
type site struct {
	*program
	opts    *options
	state   string // of ledgers; of the caller's own when it is not root
	shared  string // of root's ledgers, also for those who may only read them
	runtime string // of stashed secrets; "" for nowhere
	journal journal.Sender
	logFile *journal.File
	flushed sync.Once // the journal, before it is read

	ledgerDisk sync.Once
	ledgerDev  uint64 // of the ledgers, where their disk has one log; else 0

	endpoints engine.Endpoints // what the cleanup of a job learned of servers
}

// site opens the place that the options and the caller's rights lead to.
func (p *program) site(o *options) *site {
	s := &site{program: p, opts: o, state: o.stateDir, shared: systemState, runtime: o.runtimeDir}
	if s.state != "" {
		s.shared = s.state
	}
	switch {
	case s.uid == 0:
		s.state = cmp.Or(s.state, systemState)
		s.runtime = cmp.Or(s.runtime, systemRuntime)
	default:
		s.state = cmp.Or(s.state, p.xdg("XDG_STATE_HOME", ".local/state"))
		s.runtime = cmp.Or(s.runtime, systemRuntime)
	}
	s.openJournal()
	return s
}

// xdg is our folder below one of the XDG base folders, "" without a home. A
// timer or a person with an empty environment must find what the job recorded.
func (p *program) xdg(variable, below string) string {
	if dir := p.env[variable]; filepath.IsAbs(dir) {
		return filepath.Join(dir, "job-cleanup")
	}
	home := p.env["HOME"]
	if home == "" {
		home = homeOf(accounts("/etc/passwd"), uint32(p.uid))
	}
	if filepath.IsAbs(home) {
		return filepath.Join(home, below, "job-cleanup")
	}
	return ""
}

// openJournal chooses where records go: to the journal where there is one, to
// the log file if one is named, and to stdout for whoever looks at it, unless
// that leads to the journal too.
func (s *site) openJournal() {
	var senders []journal.Sender
	native := journal.NewNative(s.uid == 0)
	stdoutJournal := s.leadsToJournal(s.stdout)
	switch {
	case s.opts.dry: // for whoever looks, not for the journal
	case native.Available() && s.leadsToJournal(s.stderr):
		senders = append(senders, journal.First(native, journal.NewStream(s.stderr, true)))
	case native.Available():
		senders = append(senders, native)
	case stdoutJournal:
		senders = append(senders, journal.NewStream(s.stderr, s.leadsToJournal(s.stderr)))
	}
	switch {
	case s.opts.json:
		senders = append(senders, jsonLines{s.stdout})
	case !stdoutJournal || s.opts.dry:
		senders = append(senders, journal.NewStream(s.stdout, false))
	}
	if s.opts.logFile != "" {
		file, err := journal.OpenFile(s.opts.logFile)
		if err != nil {
			s.trouble("the log file is not written", err)
		} else {
			s.logFile = file
			senders = append(senders, file)
		}
	}
	s.journal = journal.Limit(journal.Tee(senders...), recordsTold)
}

func (s *site) leadsToJournal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && journal.IsJournal(file, s.env["JOURNAL_STREAM"])
}

func (s *site) close() {
	if s.logFile != nil {
		_ = s.logFile.Close()
	}
}

// ledgerOf returns the ledger that this process records a job in; nil when
// there is nowhere to write.
func (s *site) ledgerOf(job residue.Job) (*ledger.Ledger, error) {
	if job.Unit == "" || job.Invocation == "" {
		return nil, nil
	}
	return s.storeOf(job).Ledger(job.Unit, job.Invocation)
}

// storeOf returns the store of this process for a job: root's for root, the
// folder that arm gave to the job for the job itself, else the caller's own.
func (s *site) storeOf(job residue.Job) *ledger.Store {
	switch {
	case s.uid == 0:
		return s.rootStore(job)
	case s.given(job.Unit):
		return ledger.Jobs(s.shared)
	default:
		return ledger.Own(s.state)
	}
}

// rootStore is root's store; a User= job's group may read it, since its hook
// looks for what was armed there.
func (s *site) rootStore(job residue.Job) *ledger.Store {
	group := -1
	if job.User != nil && job.User.UID != 0 {
		group = int(job.User.GID)
	}
	return ledger.Root(s.shared, group)
}

// hasJobLedger reports whether the job's user has a folder of the unit's. It
// looks at the folder, never into it.
func (s *site) hasJobLedger(sub *subject) bool {
	info, err := os.Lstat(filepath.Join(s.shared, "job", sub.job.Unit))
	if err != nil || !info.IsDir() || sub.job.User == nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == sub.job.User.UID
}

// given reports whether arm made a folder for the unit that is ours to use.
func (s *site) given(unit string) bool {
	info, err := os.Lstat(filepath.Join(s.shared, "job", unit))
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == s.uid
}

// jsonLines sends records as JSON objects, one a line.
type jsonLines struct{ out io.Writer }

// Send implements journal.Sender.
func (j jsonLines) Send(r journal.Record) error {
	line, err := json.Marshal(r.Fields())
	if err != nil {
		return err
	}
	_, err = j.out.Write(append(line, '\n'))
	return err
}
