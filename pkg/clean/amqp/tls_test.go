package amqp

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
	"testing"
	"time"
)

// certificate makes one for 127.0.0.1, signed by itself, and writes it to a
// file.
func certificate(t *testing.T) (tls.Certificate, string) {
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
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// behindTLS listens with TLS before a plain server.
func behindTLS(t *testing.T, to string, cert tls.Certificate) string {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			pipe := func(to, from net.Conn) { _, _ = io.Copy(to, from); to.Close() }
			go pipe(in, out)
			go pipe(out, in)
		}
	}()
	return l.Addr().String()
}

func TestTLS(t *testing.T) {
	w := real(t)
	cert, file := certificate(t)
	_, strange := certificate(t)
	address := "amqps://" + behindTLS(t, w.Address, cert)
	w.fill(t, "/", "secured", 1)
	_, err := opened(t, w, "DeleteQueue", "secured", "Address", address, "CACert", strange).Find(background)
	want(t, "signed by a stranger", err, "owed error")
	_, err = opened(t, w, "DeleteQueue", "secured", "Address", address).Find(background)
	want(t, "not known to the system", err, "owed error")
	want(t, "verified", clean(t, opened(t, w, "DeleteQueue", "secured", "Address", address, "CACert", file)), "removed")
}
