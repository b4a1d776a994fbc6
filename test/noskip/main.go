// Command noskip runs go test and reports what matters: failures with their
// output, skips with their reason, and the totals as the last line. With a
// list of required tests it also fails when one of them did not run.
//
//	go run ./test/noskip [-required FILE] -- GO-TEST-ARGUMENTS
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	list := flag.String("required", "", "fail if a test of this `FILE` is skipped or missing")
	flag.Parse()
	if err := run(*list, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "noskip:", err)
		os.Exit(1)
	}
}

// run runs go test with args, writes the report and returns an error unless
// everything passed.
func run(list string, args []string, out io.Writer) error {
	var rules []rule
	if list != "" {
		text, err := os.ReadFile(list)
		if err != nil {
			return err
		}
		if rules, err = parseRules(string(text)); err != nil {
			return fmt.Errorf("%s: %w", list, err)
		}
	}
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := newReport(out)
	readErr := r.read(json.NewDecoder(events))
	_, _ = io.Copy(io.Discard, events) // let go test end by itself
	runErr := cmd.Wait()
	broken := r.broken(rules)
	for _, problem := range broken {
		fmt.Fprintln(out, problem)
	}
	passed, failed, skipped := r.totals()
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	switch {
	case readErr != nil:
		return fmt.Errorf("read the events of go test: %w", readErr)
	case runErr != nil:
		return fmt.Errorf("go test: %w", runErr)
	case failed > 0 || len(broken) > 0:
		return fmt.Errorf("%d tests failed, %d rules are broken", failed, len(broken))
	case passed == 0:
		return fmt.Errorf("nothing was tested")
	}
	return nil
}
