package outcome

// platform tells how a CI platform names the job that runs.
type platform struct {
	name string
	// mark is a variable that only this platform sets, with the value it has
	// there; "" for any.
	mark, value string
	// id are the variables that together tell this job from any other that
	// may run on the machine. All have to be set.
	id []string
	// more are added to the id where they are set.
	more []string
}

// platforms are asked in this order. Platforms that copy another's variables
// stand before it.
var platforms = []platform{
	// Every job of a matrix has the same GITHUB_JOB, and no variable holds the
	// job's own number. A runner takes one job at a time, so together with its
	// name the id is unique among the jobs that run at once. GITHUB_RUN_ATTEMPT
	// and RUNNER_NAME are missing on some work-alikes.
	{"github", "GITHUB_ACTIONS", "true", []string{"GITHUB_RUN_ID", "GITHUB_JOB"}, []string{"GITHUB_RUN_ATTEMPT", "RUNNER_NAME"}},
	// Numbered per server, and one runner may serve several.
	{"gitlab", "GITLAB_CI", "", []string{"CI_JOB_ID"}, []string{"CI_SERVER_HOST"}},
	{"buildkite", "BUILDKITE", "true", []string{"BUILDKITE_JOB_ID"}, nil},
	// BUILD_TAG holds both, but can't tell the job a/b from a-b.
	{"jenkins", "JENKINS_URL", "", []string{"JOB_NAME", "BUILD_NUMBER"}, nil},
	{"jenkins", "BUILD_TAG", "", []string{"BUILD_TAG"}, nil},
	{"circleci", "CIRCLECI", "true", []string{"CIRCLE_WORKFLOW_JOB_ID"}, []string{"CIRCLE_NODE_INDEX"}},
	{"circleci", "CIRCLECI", "true", []string{"CIRCLE_PROJECT_USERNAME", "CIRCLE_PROJECT_REPONAME", "CIRCLE_BUILD_NUM"}, []string{"CIRCLE_NODE_INDEX"}},
	// SYSTEM_JOBID comes from the job's name and is the same in every build.
	{"azure", "TF_BUILD", "", []string{"BUILD_BUILDID", "SYSTEM_JOBID"}, []string{"SYSTEM_JOBATTEMPT", "SYSTEM_TEAMPROJECTID"}},
	{"woodpecker", "CI", "woodpecker", []string{"CI_REPO", "CI_PIPELINE_NUMBER"}, []string{"CI_WORKFLOW_NUMBER"}},
	{"drone", "DRONE", "true", []string{"DRONE_REPO", "DRONE_BUILD_NUMBER"}, []string{"DRONE_STAGE_NUMBER"}},
	{"travis", "TRAVIS", "true", []string{"TRAVIS_JOB_ID"}, nil},
}

// ciJob returns the platform that runs the caller and a name for the job,
// safe as a file name; both are "" outside of any.
func ciJob(env Lookup) (name, id string) {
	for _, p := range platforms {
		mark := get(env, p.mark)
		if mark == "" || p.value != "" && mark != p.value {
			continue
		}
		if parts, ok := p.parts(env); ok {
			return p.name, joinParts(append([]string{p.name}, parts...)...)
		}
	}
	return "", ""
}

// parts reads the variables of the id. An optional one keeps its place when
// it is unset, so that no other one can be mistaken for it.
func (p platform) parts(env Lookup) ([]string, bool) {
	var parts []string
	for _, name := range p.id {
		value := get(env, name)
		if value == "" {
			return nil, false
		}
		parts = append(parts, value)
	}
	for _, name := range p.more {
		parts = append(parts, get(env, name))
	}
	return parts, true
}
