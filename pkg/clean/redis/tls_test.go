package redis

import (
	"testing"

	"job-cleanup/test/servers"
)

func TestTLS(t *testing.T) {
	w := real(t)
	cert, file := servers.Certificate(t)
	_, strange := servers.Certificate(t)
	w.RedisServer.Address = servers.TLS(t, w.Address, cert)
	defer func(address string) { w.RedisServer.Address = address }(w.Client.Options().Addr)
	w.put(t, "x", "tls:1:a")
	_, err := opened(t, w, "DeleteKeys", "tls:1:", "CACert", strange).Find(background)
	want(t, "signed by a stranger", err, "owed error")
	_, err = opened(t, w, "DeleteKeys", "tls:1:", "TLS", "yes").Find(background)
	want(t, "not known to the system", err, "owed error")
	want(t, "verified", clean(t, opened(t, w, "DeleteKeys", "tls:1:", "CACert", file)), "removed")
}
