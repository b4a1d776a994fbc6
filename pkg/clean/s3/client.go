package s3

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"job-cleanup/pkg/residue"
	"job-cleanup/pkg/secret"
)

const (
	dialTime    = 4 * time.Second // for one connection
	requestTime = 8 * time.Second // for one request, answer included
	maxAnswer   = 16 << 20        // bytes of one answer; a page of a listing has at most some 3 MB
)

var regionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9-]{1,63}$`) })

// connect makes the client. It sends nothing.
func (c *cleaner) connect(deps residue.Deps) error {
	region, err := c.locate(deps)
	if err != nil {
		return err
	}
	keys, err := c.keys(deps)
	if err != nil {
		return err
	}
	roots, err := secret.Authorities(c.spec.Option("CACert"))
	if err != nil {
		return residue.Errorf(residue.Retry, residue.Other, "CACert=: %w", err)
	}
	c.web = httpClient(roots)
	c.client = s3.New(s3.Options{
		BaseEndpoint:               &c.endpoint,
		Region:                     region,
		UsePathStyle:               c.spec.Option("PathStyle") == "yes",
		Credentials:                keys,
		HTTPClient:                 c.web,
		Retryer:                    aws.NopRetryer{}, // what fails is owed, and tried again from the ledger
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		Logger:                     logging.Nop{},
	})
	return nil
}

// locate says where the store is and which region to sign for.
func (c *cleaner) locate(deps residue.Deps) (region string, err error) {
	c.endpoint, region = strings.TrimRight(c.spec.Option("Endpoint"), "/"), c.spec.Option("Region")
	switch {
	case region != "" && !regionName().MatchString(region):
		return "", residue.Errorf(residue.Refused, residue.Other, "Region=%q is no region's name", region)
	case c.endpoint != "":
		if region == "" {
			region = "us-east-1" // stores that know no regions take it
		}
		return region, c.checkEndpoint()
	case elsewhere(deps):
		return "", residue.Errorf(residue.Retry, residue.Unset, "AWS_ENDPOINT_URL is set; write Endpoint=${AWS_ENDPOINT_URL}")
	case region == "":
		return "", residue.Errorf(residue.Refused, residue.Unset, "neither Endpoint= nor Region= says where bucket %q is", c.target.bucket)
	}
	c.endpoint, c.amazon = "https://s3."+region+".amazonaws.com", true
	if strings.HasPrefix(region, "cn-") {
		c.endpoint += ".cn"
	}
	return region, nil
}

// elsewhere reports whether the job's own tools used another store than
// Amazon's, by a variable that serves more than S3.
func elsewhere(deps residue.Deps) bool {
	if deps.Env == nil {
		return false
	}
	v, _ := deps.Env("AWS_ENDPOINT_URL")
	return v != ""
}

func (c *cleaner) checkEndpoint() error {
	u, err := url.Parse(c.endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return residue.Errorf(residue.Refused, residue.Other, "Endpoint= is not http(s)://HOST[:PORT][/PATH] (text not shown)")
	}
	return nil
}

// httpClient makes requests without a proxy, a redirect or an endless answer.
func httpClient(roots *x509.CertPool) *http.Client {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTime}).DialContext,
		TLSHandshakeTimeout: dialTime,
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     30 * time.Second,
		ForceAttemptHTTP2:   true,
	}
	return &http.Client{
		Transport:     bounded{transport},
		Timeout:       requestTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded cuts answers off that are longer than any honest one.
type bounded struct{ *http.Transport }

var errLong = errors.New("the answer is too long")

// RoundTrip sends a request.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.Transport.RoundTrip(req)
	if err == nil {
		resp.Body = &limited{ReadCloser: resp.Body, left: maxAnswer}
	}
	return resp, err
}

type limited struct {
	io.ReadCloser
	left int
}

// Read reads as much as is still allowed.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errLong
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
