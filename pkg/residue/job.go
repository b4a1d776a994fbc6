package residue

import (
	"time"

	"job-cleanup/pkg/outcome"
)

// Job is one invocation of a unit, a CI job or a wrapped command. Unknown
// fields are zero.
type Job struct {
	Unit       string          `json:"unit"`                  // "batch@1.service", or a CI platform's word for it
	Invocation string          `json:"invocation"`            // 32 hexadecimal digits, or a CI platform's job id
	Boot       string          `json:"boot,omitempty"`        // boot id, 32 hexadecimal digits
	User       *Identity       `json:"user,omitempty"`        // who the job runs as; nil when not known
	Start      time.Time       `json:"start,omitzero"`        // when the invocation began
	End        time.Time       `json:"end,omitzero"`          // when it ended
	Bases      []string        `json:"bases,omitempty"`       // folders of the job's own: RUNTIME_DIRECTORY, the CI workspace, …
	Homes      []string        `json:"-"`                     // home folders, which are never residue
	Sandbox    []Hidden        `json:"sandbox,omitempty"`     // where the job's file tree is not the host's
	Outside    bool            `json:"-"`                     // we do not stand in the job's sandbox
	UserBus    bool            `json:"user_bus,omitempty"`    // the unit belongs to a user manager
	Outcome    outcome.Outcome `json:"-"`                     // how it ended
	FullRights bool            `json:"full_rights,omitempty"` // the unit's stop hook has root's rights though its job has not: "+"
	CI         bool            `json:"ci,omitempty"`          // Invocation is a CI platform's job id
}

// Identity is a user of the machine, by number.
type Identity struct {
	UID  uint32 `json:"uid"`
	GID  uint32 `json:"gid"`
	Name string `json:"name,omitempty"`
	Home string `json:"home,omitempty"`

	// Dynamic users have no lasting uid: another unit may hold it tomorrow.
	Dynamic bool `json:"dynamic,omitempty"`
}

// Hidden is a part of the file tree that meant something else to the job than
// it means outside of its sandbox.
type Hidden struct {
	Path string    `json:"path"` // absolute and clean
	How  HiddenHow `json:"how"`
}

// HiddenHow says what stands at a Hidden path inside the sandbox.
type HiddenHow string

// The ways a sandbox hides a path.
const (
	Private   HiddenHow = "private" // a tree of the unit's own that goes with it: PrivateTmp=, TemporaryFileSystem=
	Elsewhere HiddenHow = "other"   // another tree that stays: RootDirectory=, RootImage=, BindPaths=
	Masked    HiddenHow = "masked"  // not to be seen at all: ProtectHome=, InaccessiblePaths=
)
