package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCIPages runs the plan and the command line of each page for a CI
// platform as that platform would, after a cancelled job.
func TestCIPages(t *testing.T) {
	tests := []struct {
		page string
		env  []string // %W stands for the workspace
		tree string
		how  string
	}{
		{"ci-github.md", []string{"GITHUB_ACTIONS=true", "GITHUB_RUN_ID=9", "GITHUB_JOB=b", "RUNNER_TEMP=%W", "GITHUB_WORKSPACE=%W", "JOB_STATUS=cancelled"}, "build-9", "github (cancelled)"},
		{"ci-gitlab.md", []string{"GITLAB_CI=true", "CI_JOB_ID=7", "CI_PROJECT_DIR=%W", "CI_JOB_STATUS=canceled"}, "build-7", "gitlab (cancelled)"},
		{"ci-jenkins.md", []string{"JENKINS_URL=x", "JOB_NAME=a", "BUILD_NUMBER=5", "WORKSPACE=%W"}, "build-5", "jenkins (aborted)"},
	}
	plan := regexp.MustCompile("(?s)```ini\n(.*?)```")
	line := regexp.MustCompile(`job-cleanup (run --plan ci/cleanup\.conf[^"\n` + "`]*)")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.page, func(t *testing.T) {
			text, err := os.ReadFile("../../docs/" + tt.page)
			if err != nil {
				t.Fatal(err)
			}
			work := t.TempDir()
			for _, dir := range []string{"ci", tt.tree} {
				if err := os.Mkdir(filepath.Join(work, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			write := func(name, text string) {
				if err := os.WriteFile(filepath.Join(work, "ci", name), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			write("cleanup.conf", plan.FindStringSubmatch(string(text))[1])
			write("drop-environment.sh", "#!/bin/sh\necho dropped\n")
			command := strings.ReplaceAll(line.FindStringSubmatch(string(text))[1], "${currentBuild.currentResult}", "ABORTED")
			cmd := exec.Command(program, append(strings.Fields(command), "--state-dir", "state")...)
			cmd.Args[0], cmd.Dir = "job-cleanup", work
			for _, pair := range append(tt.env, "HOME=%W", "PATH=/usr/bin:/bin") {
				cmd.Env = append(cmd.Env, strings.ReplaceAll(pair, "%W", work))
			}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "cleanup of "+tt.how+": 2 removed") {
				t.Errorf("%s: %v\n%s", command, err, out)
			}
			if _, err := os.Stat(filepath.Join(work, tt.tree)); err == nil {
				t.Errorf("%s is there", tt.tree)
			}
		})
	}
}
