package s3_test

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/artifacts"
	"harness/artifacts/s3"
)

// server is as much of S3 as single puts and gets need, with faults on demand.
type server struct {
	mu      sync.Mutex
	objects map[string]object
	// ignoreConditions makes it overwrite whatever If-None-Match says.
	ignoreConditions bool
	// fault may answer a request itself; it returns true when it did. after tells
	// whether the request has had its effect.
	fault func(w http.ResponseWriter, r *http.Request, after bool) bool
	puts  int
}

type object struct {
	data   []byte
	header http.Header
}

func (f *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := r.URL.Path
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if f.fault != nil && f.fault(w, r, false) {
		return
	}
	switch {
	case strings.Count(strings.Trim(path, "/"), "/") == 0: // the bucket
	case r.Method == http.MethodPut:
		f.puts++
		_, taken := f.objects[path]
		if r.Header.Get("If-None-Match") == "*" && taken && !f.ignoreConditions {
			answer(w, http.StatusPreconditionFailed, "PreconditionFailed")
			return
		}
		h := http.Header{}
		for k, v := range r.Header {
			if strings.HasPrefix(k, "X-Amz-Meta-") {
				h[k] = v
			}
		}
		f.objects[path] = object{unchunk(data), h}
		if f.fault != nil && f.fault(w, r, true) {
			return
		}
		w.Header().Set("ETag", `"0123"`)
	default:
		o, ok := f.objects[path]
		if !ok {
			answer(w, http.StatusNotFound, "NoSuchKey")
			return
		}
		for k, v := range o.header {
			w.Header()[k] = v
		}
		w.Header().Set("ETag", `"0123"`)
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(o.data)))
	}
}

// unchunk undoes the signed chunks of a streaming upload.
func unchunk(b []byte) []byte {
	var out []byte
	for rest := string(b); ; {
		head, tail, ok := strings.Cut(rest, "\r\n")
		if !ok || !strings.Contains(head, ";chunk-signature=") {
			if len(out) == 0 {
				return b
			}
			return out
		}
		n := 0
		for _, c := range head[:strings.IndexByte(head, ';')] {
			n = n*16 + strings.IndexRune("0123456789abcdef", c)
		}
		out = append(out, tail[:n]...)
		rest = strings.TrimPrefix(tail[n:], "\r\n")
	}
}

func answer(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(struct { // a lost answer is the client's to notice
		XMLName xml.Name `xml:"Error"`
		Code    string
	}{Code: code})
}

func start(t *testing.T, f *server) s3.Config {
	t.Helper()
	f.objects = map[string]object{}
	ts := httptest.NewServer(f)
	t.Cleanup(ts.Close)
	return s3.Config{Bucket: "bucket", Prefix: "p", Endpoint: ts.URL, Region: "us-east-1", AccessKey: "id", SecretKey: "secret", Retries: 4}
}

func TestServerThatIgnoresConditionsIsRefused(t *testing.T) {
	_, err := s3.Open(t.Context(), start(t, &server{ignoreConditions: true}))
	if err == nil || !strings.Contains(err.Error(), "ignores conditional writes") {
		t.Errorf("Open: %v", err)
	}
}

func TestServerWithoutConditionsIsRefused(t *testing.T) {
	f := &server{fault: func(w http.ResponseWriter, r *http.Request, after bool) bool {
		if r.Method != http.MethodPut || r.Header.Get("If-None-Match") == "" {
			return false
		}
		answer(w, http.StatusNotImplemented, "NotImplemented")
		return true
	}}
	_, err := s3.Open(t.Context(), start(t, f))
	if err == nil || !strings.Contains(err.Error(), "refuses conditional writes") {
		t.Errorf("Open: %v", err)
	}
}

func TestCreateOnlySurvivesALostAnswer(t *testing.T) {
	f := &server{}
	s, err := s3.Open(t.Context(), start(t, f))
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	f.fault = func(w http.ResponseWriter, r *http.Request, after bool) bool {
		if !after || lost > 0 {
			return false
		}
		lost++
		panic(http.ErrAbortHandler) // the object is stored, the connection is cut
	}
	info, err := s.Put(t.Context(), "result.json", strings.NewReader("mine"), artifacts.PutOptions{CreateOnly: true})
	if err != nil || info.Size != 4 || lost != 1 {
		t.Fatalf("Put = %+v, %v after %d lost answers", info, err, lost)
	}
	_, err = s.Put(t.Context(), "result.json", strings.NewReader("theirs"), artifacts.PutOptions{CreateOnly: true})
	if !errors.Is(err, artifacts.ErrExists) {
		t.Errorf("a second writer: %v", err)
	}
}

func TestTransientFaultsAreRetried(t *testing.T) {
	f := &server{}
	s, err := s3.Open(t.Context(), start(t, f))
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []string{"SlowDown", "ConditionalRequestConflict"} {
		n := 0
		f.fault = func(w http.ResponseWriter, r *http.Request, after bool) bool {
			if n++; n > 2 {
				return false
			}
			status := http.StatusServiceUnavailable
			if code == "ConditionalRequestConflict" {
				status = http.StatusConflict
			}
			answer(w, status, code)
			return true
		}
		if _, err := s.Put(t.Context(), code, strings.NewReader("x"), artifacts.PutOptions{CreateOnly: true}); err != nil {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestRegionIsAskedForAgain(t *testing.T) {
	n := 0
	f := &server{}
	f.fault = func(w http.ResponseWriter, r *http.Request, after bool) bool {
		if _, ok := r.URL.Query()["location"]; !ok {
			return false
		}
		if n++; n < 3 {
			answer(w, http.StatusServiceUnavailable, "XMinioServerNotInitialized")
			return true
		}
		_, _ = io.WriteString(w, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`)
		return true
	}
	c := start(t, f)
	c.Region = ""
	if _, err := s3.Open(t.Context(), c); err != nil || n != 3 {
		t.Errorf("Open: %v after asking %d times", err, n)
	}
}

func TestRetriesEndWithTheContext(t *testing.T) {
	f := &server{}
	s, err := s3.Open(t.Context(), start(t, f))
	if err != nil {
		t.Fatal(err)
	}
	f.fault = func(w http.ResponseWriter, _ *http.Request, _ bool) bool {
		answer(w, http.StatusServiceUnavailable, "SlowDown")
		return true
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := s.Stat(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stat: %v", err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestDamageIsFound(t *testing.T) {
	f := &server{}
	s, err := s3.Open(t.Context(), start(t, f))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "k", strings.NewReader("right"), artifacts.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	o := f.objects["/bucket/p/k"]
	for _, data := range []string{"wrong", "cut", "longer than it was"} {
		f.objects["/bucket/p/k"] = object{[]byte(data), o.header}
		rc, _, err := s.Get(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(rc)
		rc.Close()
		if !errors.Is(err, artifacts.ErrCorrupt) {
			t.Errorf("reading %q: %v, want ErrCorrupt", data, err)
		}
	}
}

func TestServerThatIsDown(t *testing.T) {
	ts := httptest.NewServer(http.NotFoundHandler())
	ts.Close()
	_, err := s3.Open(t.Context(), s3.Config{Bucket: "bucket", Endpoint: ts.URL, Region: "r", AccessKey: "id", SecretKey: "secret", Retries: 1})
	if err == nil || !strings.Contains(err.Error(), ts.URL) || !strings.Contains(err.Error(), "reach the server") {
		t.Errorf("Open: %v", err)
	}
}
