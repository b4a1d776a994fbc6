//go:build linux

package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"job-cleanup/test/rig"
)

// Door is a way to a server that can be shut, while the server itself lives.
type Door struct {
	Address string // 127.0.0.1:PORT, the same after it was shut

	t      rig.T
	to     string
	config *tls.Config // nil for a way without TLS

	mu       sync.Mutex
	listener net.Listener
	open     []net.Conn
}

// NewDoor opens one to an address.
func NewDoor(t rig.T, to string) *Door {
	t.Helper()
	return newDoor(t, to, nil)
}

// TLS opens one that speaks TLS before a server that does not, for as long as
// the test lasts, and returns its address.
func TLS(t rig.T, to string, certificate tls.Certificate) string {
	t.Helper()
	return newDoor(t, to, &tls.Config{Certificates: []tls.Certificate{certificate}}).Address
}

func newDoor(t rig.T, to string, config *tls.Config) *Door {
	t.Helper()
	d := &Door{Address: "127.0.0.1:0", t: t, to: to, config: config}
	d.Open()
	t.Cleanup(d.Shut)
	return d
}

// Open opens the door.
func (d *Door) Open() {
	d.t.Helper()
	listener, err := net.Listen("tcp", d.Address)
	if err != nil {
		d.t.Fatal(err)
	}
	d.Address = listener.Addr().String()
	if d.config != nil {
		listener = tls.NewListener(listener, d.config)
	}
	d.listener = listener
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			d.pass(in)
		}
	}()
}

// pass connects who came with the server.
func (d *Door) pass(in net.Conn) {
	out, err := net.Dial("tcp", d.to)
	if err != nil {
		in.Close()
		return
	}
	d.mu.Lock()
	d.open = append(d.open, in, out)
	d.mu.Unlock()
	pipe := func(to, from net.Conn) { _, _ = io.Copy(to, from); to.Close() }
	go pipe(in, out)
	go pipe(out, in)
}

// Shut shuts the door, and ends who went through.
func (d *Door) Shut() {
	d.listener.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.open {
		c.Close()
	}
	d.open = nil
}

// Certificate makes one for 127.0.0.1 that vouches for itself, and a file of
// it as an authority.
func Certificate(t rig.T) (certificate tls.Certificate, authority string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	authority = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, authority
}
