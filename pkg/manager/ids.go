package manager

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// BootID returns the id of the running boot, 32 hexadecimal digits. root is
// the folder that holds proc, "/" on a real machine.
func BootID(root string) (string, error) {
	return readID(filepath.Join(root, "proc/sys/kernel/random/boot_id"))
}

// MachineID returns the machine's id, 32 hexadecimal digits; see
// machine-id(5). A machine in its first boot has none yet, which is an error.
// root is the folder that holds etc, "/" on a real machine.
func MachineID(root string) (string, error) {
	return readID(filepath.Join(root, "etc/machine-id"))
}

func readID(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read an id: %w", err)
	}
	id := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(string(text)), "-", ""))
	if raw, err := hex.DecodeString(id); err != nil || len(raw) != 16 {
		return "", fmt.Errorf("%q holds no id: %q", path, id)
	}
	return id, nil
}
