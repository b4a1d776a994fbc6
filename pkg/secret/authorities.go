package secret

import (
	"crypto/x509"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxAuthorities bounds a file of certificates, in bytes: those of a whole
// machine are a quarter of a megabyte.
const maxAuthorities = 4 << 20

// Authorities reads a PEM file of certificates; for no path it is nil, which
// means those of the machine. It holds no secret, but the same care is due in
// opening it: what a job named may be a FIFO, or have no end.
func Authorities(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxAuthorities {
		return nil, fmt.Errorf("%q is no PEM file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxAuthorities))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("no certificate in %q", path)
	}
	return pool, nil
}
