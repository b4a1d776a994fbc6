//go:build linux

// Command agent is the test's hand in the machine: it runs the scripts that
// come in through a virtio port and answers with what they printed. As
// `agent gate` it waits until the test opens the gate.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"job-cleanup/test/vm/wire"
)

func main() {
	work := serve
	if len(os.Args) > 1 && os.Args[1] == "gate" {
		work = gate
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// gate waits for the file that opens it.
func gate() error {
	for {
		if _, err := os.Stat(wire.Gate); err == nil {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// serve says that the machine is there, and runs one script after the other.
func serve() error {
	port, err := open()
	if err != nil {
		return err
	}
	defer port.Close()
	answers := json.NewEncoder(port)
	if err := answers.Encode(wire.Answer{Hello: true}); err != nil {
		return err
	}
	for lines := bufio.NewReader(port); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		var order wire.Order
		if err := json.Unmarshal(line, &order); err != nil {
			return err
		}
		if err := answers.Encode(run(order)); err != nil {
			return err
		}
	}
}

// open waits for the port: udev names it a moment after the kernel has it.
func open() (*os.File, error) {
	for range 3000 {
		port, err := os.OpenFile(wire.Port, os.O_RDWR, 0)
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return port, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, fmt.Errorf("there is no %q", wire.Port)
}

func run(order wire.Order) wire.Answer {
	cmd := exec.Command("timeout", "-k", "5", fmt.Sprint(wire.Limit.Seconds()), "sh", "-ec", order.Script)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"}
	output, err := cmd.CombinedOutput()
	answer := wire.Answer{Output: string(output)}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		answer.Code = exit.ExitCode()
	case err != nil:
		answer.Code, answer.Output = -1, err.Error()
	}
	return answer
}
