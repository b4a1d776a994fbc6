//go:build linux

package vm

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"job-cleanup/test/vm/wire"
)

// Limits of what a machine may take, without hardware acceleration too.
const (
	bootLimit   = 5 * time.Minute
	bootTries   = 3
	answerLimit = wire.Limit + time.Minute
)

// machine is one virtual machine, which boots again and again from its disks.
type machine struct {
	t      *testing.T
	img    *image
	folder string // of its disks, socket and console
	boots  int

	qemu   *exec.Cmd // nil while it is off
	exited chan struct{}
	conn   net.Conn
	lines  *bufio.Reader
}

// newMachine makes the disks of a machine. It ends with its test.
func newMachine(t *testing.T, img *image, tools string) *machine {
	t.Helper()
	m := &machine{t: t, img: img, folder: t.TempDir()}
	t.Cleanup(m.cut)
	data := m.file("data.ext4")
	if err := pack(data, "vm-data", "1G", ""); err != nil {
		t.Fatal(err)
	}
	for disk, base := range map[string]string{"root": img.disk, "tools": tools, "data": data} {
		if err := command("qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", base, m.file(disk)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m *machine) file(name string) string { return filepath.Join(m.folder, name) }

// args are qemu's. A guest's write reaches the image at once, but where it
// stands there is told to the image only when the guest flushes: killing qemu
// loses what the guest had not written, and of what it had written much of what
// it had not flushed, as a disk with a cache does. cache=unsafe leaves out only
// that the host's own disk is waited for, and the host does not fail.
func (m *machine) args() []string {
	args := []string{
		"-accel", m.img.accel, "-cpu", "max", "-smp", "2", "-m", "1024",
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		"-serial", "file:" + m.file("console"), "-nic", "none", "-device", "virtio-rng-pci",
		"-kernel", m.img.kernel, "-initrd", m.img.initrd,
		"-append", "root=/dev/vda rw console=ttyS0 panic=-1 no_timer_check mitigations=off audit=0 quiet loglevel=4 systemd.show_status=no",
		"-chardev", "socket,id=agent,server=on,wait=off,path=" + m.file("agent"),
		"-device", "virtio-serial-pci", "-device", "virtserialport,chardev=agent,name=" + wire.PortName,
	}
	for _, disk := range []string{"root", "tools", "data"} {
		args = append(args, "-drive", "if=virtio,format=qcow2,cache=unsafe,file="+m.file(disk))
	}
	return args
}

// boot starts the machine and waits for its agent. The boot's sweep waits for
// openGate. On a host that is very busy a kernel may lose its timer and never
// come up: one more power cut, and the next boot.
func (m *machine) boot() {
	m.t.Helper()
	for try := 1; ; try++ {
		said, err := m.tryBoot()
		if err == nil {
			return
		}
		console := m.console()
		m.cut()
		m.t.Logf("boot %d: %v\nqemu: %s\nconsole: %s", m.boots, err, said, console)
		if try == bootTries {
			m.t.FailNow()
		}
	}
}

func (m *machine) tryBoot() (said string, err error) {
	m.t.Helper()
	m.boots++
	_ = os.Remove(m.file("agent"))
	m.qemu, m.exited = exec.Command("qemu-system-x86_64", m.args()...), make(chan struct{})
	m.qemu.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // a killed test run leaves no machine
	words, err := os.Create(m.file("qemu"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer words.Close()
	m.qemu.Stdout, m.qemu.Stderr = words, words
	if err := m.qemu.Start(); err != nil {
		m.t.Fatal(err)
	}
	go func(qemu *exec.Cmd, exited chan struct{}) {
		_ = qemu.Wait() // it is killed, mostly
		close(exited)
	}(m.qemu, m.exited)
	err = m.greet()
	text, _ := os.ReadFile(m.file("qemu"))
	return string(text), err
}

// greet connects to the agent and waits for its hello.
func (m *machine) greet() (err error) {
	end := time.Now().Add(bootLimit)
	for time.Now().Before(end) {
		if m.conn, err = net.Dial("unix", m.file("agent")); err == nil {
			break
		}
		select {
		case <-m.exited:
			return errors.New("qemu ended")
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err != nil {
		return err
	}
	m.lines = bufio.NewReader(m.conn)
	answer, err := m.answer(end)
	if err == nil && !answer.Hello {
		err = fmt.Errorf("the agent said %v", answer)
	}
	return err
}

func (m *machine) answer(end time.Time) (answer wire.Answer, err error) {
	_ = m.conn.SetReadDeadline(end)
	line, err := m.lines.ReadBytes('\n')
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(line, &answer)
}

// cut is the power cut: qemu is gone between two instructions.
func (m *machine) cut() {
	if m.qemu == nil {
		return
	}
	_ = m.qemu.Process.Kill()
	<-m.exited
	if m.conn != nil {
		m.conn.Close()
	}
	m.qemu, m.conn = nil, nil
}

// run runs a script in the machine as root and returns what it did.
func (m *machine) run(script string) wire.Answer {
	m.t.Helper()
	order, err := json.Marshal(wire.Order{Script: script})
	if err == nil {
		_, err = m.conn.Write(append(order, '\n'))
	}
	var answer wire.Answer
	if err == nil {
		answer, err = m.answer(time.Now().Add(answerLimit))
	}
	if err != nil {
		m.t.Fatalf("boot %d: script %q: %v\nconsole: %s", m.boots, script, err, m.console())
	}
	return answer
}

// shell is run for a script that must not fail. It returns the output without
// the last newline.
func (m *machine) shell(script string) string {
	m.t.Helper()
	answer := m.run(script)
	if answer.Code != 0 {
		m.t.Fatalf("boot %d: script %q: exit status %d\n%s", m.boots, script, answer.Code, answer.Output)
	}
	return strings.TrimSuffix(answer.Output, "\n")
}

// write makes a file in the machine.
func (m *machine) write(path, mode, text string) {
	m.t.Helper()
	m.shell(fmt.Sprintf("install -D -m %s /dev/stdin %s <<'END OF FILE'\n%s\nEND OF FILE", mode, path, strings.TrimSuffix(text, "\n")))
}

// openGate lets the boot's sweep begin.
func (m *machine) openGate() {
	m.t.Helper()
	m.shell("touch " + wire.Gate)
}

// console is the end of what the kernel and systemd said.
func (m *machine) console() string {
	text, _ := os.ReadFile(m.file("console"))
	return string(text[max(0, len(text)-4000):])
}
