package amqp

import (
	"testing"

	"job-cleanup/test/servers"
)

func TestTLS(t *testing.T) {
	w := real(t)
	cert, file := servers.Certificate(t)
	_, strange := servers.Certificate(t)
	address := "amqps://" + servers.TLS(t, w.Address, cert)
	w.fill(t, "/", "secured", 1)
	_, err := opened(t, w, "DeleteQueue", "secured", "Address", address, "CACert", strange).Find(background)
	want(t, "signed by a stranger", err, "owed error")
	_, err = opened(t, w, "DeleteQueue", "secured", "Address", address).Find(background)
	want(t, "not known to the system", err, "owed error")
	want(t, "verified", clean(t, opened(t, w, "DeleteQueue", "secured", "Address", address, "CACert", file)), "removed")
}
