package s3_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"job-cleanup/pkg/clean/s3"
	"job-cleanup/pkg/residue"
	"job-cleanup/test/servers"
)

// fake is a store that answers as a test forces it to, or the way to a real
// one, and that remembers what it was asked.
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
	force func(op string, n int, r *http.Request) *answer // n counts that operation, from 1; nil: the next one's turn
	count map[string]int
}

// answer is a forced one.
type answer struct {
	status int
	body   string
	date   time.Time
}

// fault is an answer in the service's form of an error.
func fault(status int, code, message string) *answer {
	return &answer{status: status, body: fmt.Sprintf("<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)}
}

func ok(body string) *answer { return &answer{status: 200, body: body} }

// newFake starts a fake in front of a real store, or alone if there is none.
func newFake(t testing.TB, real *world, force func(op string, n int, r *http.Request) *answer) *fake {
	f := &fake{force: force, count: map[string]int{}}
	var next http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("asked for %s %s", r.Method, r.URL)
		w.WriteHeader(http.StatusTeapot)
	})
	if real != nil {
		u, err := url.Parse(real.store.Endpoint)
		if err != nil {
			t.Fatal(err)
		}
		next = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = u.Scheme, u.Host
			r.Out.Host = r.In.Host // it is signed
		}}
	}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := operation(r)
		f.mu.Lock()
		f.count[op]++
		n := f.count[op]
		f.asked = append(f.asked, op+" "+r.URL.RequestURI())
		f.mu.Unlock()
		a := force(op, n, r)
		if a == nil {
			next.ServeHTTP(w, r)
			return
		}
		if !a.date.IsZero() {
			w.Header().Set("Date", a.date.UTC().Format(http.TimeFormat))
		}
		w.WriteHeader(a.status)
		_, _ = w.Write([]byte(a.body))
	}))
	t.Cleanup(f.Close)
	return f
}

// operation names a request in the words of the API.
func operation(r *http.Request) string {
	q := r.URL.Query()
	switch {
	case q.Has("uploads"):
		return "ListMultipartUploads"
	case q.Has("uploadId") && r.Method == http.MethodDelete:
		return "AbortMultipartUpload"
	case q.Has("uploadId"):
		return "ListParts"
	case q.Has("versions"):
		return "ListObjectVersions"
	case q.Has("list-type"):
		return "ListObjectsV2"
	case r.Method == http.MethodDelete:
		return "DeleteObject"
	}
	return r.Method
}

// spec is a plan's, or for a proof that of a tracked thing.
func (f *fake) spec(selector, value string, proof map[string]string) residue.Spec {
	w := &world{gate: &gate{addr: strings.TrimPrefix(f.URL, "http://")}, store: &servers.S3Server{AccessKey: "id", Secret: "key"}}
	if proof == nil {
		return w.spec(selector, value)
	}
	kind := map[string]string{"AbortUploads": "upload", "DeleteObjects": "object"}[selector]
	return w.tracked(selector, kind, value, proof)
}

// open makes a cleaner.
func open(t testing.TB, spec residue.Spec, deps residue.Deps) residue.Cleaner {
	t.Helper()
	c, err := s3.Kind.Open(spec, deps)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// want fails unless err has that class and reason.
func want(t testing.TB, err error, class residue.Class, reason residue.Reason) {
	t.Helper()
	e := residue.AsError(err)
	if e == nil || e.Class != class || e.Reason != reason {
		t.Errorf("error %v (%+v), want class %d and reason %q", err, e, class, reason)
	}
}

// page is a listing of uploads given as key and id in turn.
func page(more bool, nextKey, nextID string, initiated time.Time, uploads ...string) *answer {
	var b strings.Builder
	fmt.Fprintf(&b, "<ListMultipartUploadsResult><IsTruncated>%v</IsTruncated><NextKeyMarker>%s</NextKeyMarker><NextUploadIdMarker>%s</NextUploadIdMarker>", more, nextKey, nextID)
	for i := 0; i < len(uploads); i += 2 {
		fmt.Fprintf(&b, "<Upload><Key>%s</Key><UploadId>%s</UploadId><Initiated>%s</Initiated></Upload>",
			uploads[i], uploads[i+1], initiated.UTC().Format(time.RFC3339))
	}
	b.WriteString("</ListMultipartUploadsResult>")
	return ok(b.String())
}

// held is a listing of that many parts.
func held(parts int) *answer {
	return ok("<ListPartsResult>" + strings.Repeat("<Part><PartNumber>1</PartNumber></Part>", parts) + "</ListPartsResult>")
}
