package server

import (
	"bytes"
	"crypto/ed25519"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/witness"
)

// watched is a registry with witnesses, of which each answers as its function decides.
func watched(t *testing.T, names ...string) (*fixture, map[string]*httptest.Server, func(name string, h http.Handler)) {
	f := newFixture(t)
	key := f.s.Key()
	f.close()
	services, handlers := map[string]*httptest.Server{}, map[string]http.Handler{}
	var mu sync.Mutex
	for _, name := range names {
		w, err := witness.Open(t.Context(), witness.Params{Dir: t.TempDir(), Name: name, Logs: []string{key}, Now: func() time.Time { return f.now }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Close() })
		handlers[name] = w.Handler()
		services[name] = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, h *http.Request) {
			mu.Lock()
			now := handlers[name]
			mu.Unlock()
			now.ServeHTTP(rw, h)
		}))
		t.Cleanup(services[name].Close)
		parsed, err := ParseWitness(w.Key() + "=" + services[name].URL + "/")
		if err != nil {
			t.Fatal(err)
		}
		f.witnesses = append(f.witnesses, parsed)
	}
	f.open()
	set := func(name string, h http.Handler) {
		mu.Lock()
		defer mu.Unlock()
		handlers[name] = h
	}
	return f, services, set
}

// signed returns the names of the witnesses that signed the checkpoint, newest as served.
func (f *fixture) signed() []string {
	f.t.Helper()
	_, note, _ := f.get("/log/checkpoint")
	v := log.Verifier{Origin: testHost + "/log", Key: f.s.Key(), Now: func() time.Time { return f.now }}
	for _, w := range f.witnesses {
		v.Witnesses = append(v.Witnesses, w.Key)
	}
	c, err := v.Verify(note)
	if err != nil {
		f.t.Fatal(err)
	}
	return c.Witnesses
}

func TestCosign(t *testing.T) {
	f, _, set := watched(t, "w1.example", "w2.example")
	f.grant("acme", 1)
	f.mustPublish("acme/a", "v1.0.0")
	if got := f.signed(); len(got) != 2 {
		t.Fatalf("signed by %v", got)
	}
	r := f.mustPublish("acme/a", "v1.1.0")
	if strings.Count(r.Checkpoint, "\n— ") != 3 {
		t.Errorf("the receipt has the checkpoint %q", r.Checkpoint)
	}

	// One fails: the change is made, and the next one does not ask it.
	asked := 0
	set("w2.example", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { asked++; rw.WriteHeader(http.StatusBadGateway) }))
	f.mustPublish("acme/a", "v1.2.0")
	f.mustPublish("acme/a", "v1.3.0")
	if got := f.signed(); len(got) != 1 || got[0] != "w1.example" || asked != 1 {
		t.Errorf("signed by %v, asked %d times", got, asked)
	}
	f.reopen()
	if got := f.signed(); len(got) != 1 {
		t.Errorf("after a restart, signed by %v", got)
	}
	f.check()
}

// Answers that are not a cosignature of the checkpoint add nothing to it.
func TestCosignRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a log for each bad answer")
	}
	for name, answer := range map[string]func(http.ResponseWriter, []byte){
		"nothing": func(http.ResponseWriter, []byte) {},
		"another key": func(rw http.ResponseWriter, note []byte) {
			signed, _ := log.Cosign(note, "w1.example", make([]byte, 64), time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))
			_, _ = rw.Write(signed[len(note):])
		},
		"another line": func(rw http.ResponseWriter, _ []byte) {
			_, _ = io.WriteString(rw, "— w1.example AAAA\n\nrye.example/log\n9\n")
		},
		"a longer log": func(rw http.ResponseWriter, _ []byte) {
			rw.Header().Set("Content-Type", "text/x.tlog.size")
			rw.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(rw, "1000\n")
		},
		"another size each time": func(rw http.ResponseWriter, note []byte) {
			rw.Header().Set("Content-Type", "text/x.tlog.size")
			rw.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(rw, "0\n")
		},
		"a redirect": func(rw http.ResponseWriter, _ []byte) {
			rw.Header().Set("Location", "http://127.0.0.1:1/add-checkpoint")
			rw.WriteHeader(http.StatusTemporaryRedirect)
		},
		"too much": func(rw http.ResponseWriter, _ []byte) { _, _ = rw.Write(bytes.Repeat([]byte("x"), 1<<20)) },
	} {
		t.Run(name, func(t *testing.T) {
			f, _, set := watched(t, "w1.example")
			set("w1.example", http.HandlerFunc(func(rw http.ResponseWriter, h *http.Request) {
				b, _ := io.ReadAll(h.Body)
				_, note, _ := bytes.Cut(b, []byte("\n\n"))
				answer(rw, note)
			}))
			f.grant("acme", 1)
			f.mustPublish("acme/a", "v1.0.0")
			if got := f.signed(); len(got) != 0 {
				t.Errorf("signed by %v", got)
			}
			_, note, _ := f.get("/log/checkpoint")
			if strings.Count(string(note), "\n— ") != 1 {
				t.Errorf("the checkpoint is %q", note)
			}
			f.check()
		})
	}
}

// While witnesses sign, clients get the checkpoint before; a witness that is slow delays a
// change by a bounded time.
func TestCosignSlow(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a timeout")
	}
	t.Parallel() // it waits for askTimeout
	f, _, set := watched(t, "w1.example")
	f.grant("acme", 1)
	f.mustPublish("acme/a", "v1.0.0")
	_, before, _ := f.get("/log/checkpoint")
	f.s.askTime = askTimeout
	asked, go1 := make(chan struct{}), make(chan struct{})
	var once sync.Once
	set("w1.example", http.HandlerFunc(func(rw http.ResponseWriter, h *http.Request) {
		once.Do(func() { close(asked) })
		select {
		case <-go1:
		case <-h.Context().Done():
		}
		rw.WriteHeader(http.StatusServiceUnavailable)
	}))
	published := make(chan error, 1)
	go func() {
		_, err := f.publish("acme/a", "v1.1.0", "more", 1)
		published <- err
	}()
	<-asked
	if _, now, _ := f.get("/log/checkpoint"); !bytes.Equal(now, before) {
		t.Errorf("while the witness is asked, the checkpoint is %q", now)
	}
	select {
	case err := <-published:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the change waits for the witness")
	}
	close(go1)
	if _, now, _ := f.get("/log/checkpoint"); bytes.Equal(now, before) {
		t.Error("the new checkpoint is not served")
	}
}

// What is missing is added later, and an old cosignature is made again.
func TestCosignLater(t *testing.T) {
	f, _, set := watched(t, "w1.example")
	f.grant("acme", 1)
	good := &counting{}
	set("w1.example", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) }))
	f.mustPublish("acme/a", "v1.0.0")
	w, err := witness.Open(t.Context(), witness.Params{Dir: t.TempDir(), Name: "w1.example", Logs: []string{f.s.Key()}, Now: func() time.Time { return f.now }})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	f.s.asked[0].Key = w.Key()
	f.witnesses[0].Key = w.Key()
	good.next = w.Handler()
	set("w1.example", good)
	look := func() { f.s.cosignMissing(t.Context()) }
	look()
	if got := f.signed(); len(got) != 1 || good.n != 2 { // it names the size that it signed last
		t.Fatalf("signed by %v, asked %d times", got, good.n)
	}
	look()
	if good.n != 2 {
		t.Errorf("a new cosignature was asked for %d times", good.n)
	}
	f.now = f.now.Add(askFresh + time.Minute)
	look()
	if got := f.signed(); len(got) != 1 || good.n != 3 {
		t.Errorf("signed by %v, asked %d times", got, good.n)
	}
}

type counting struct {
	n    int
	next http.Handler
}

func (c *counting) ServeHTTP(rw http.ResponseWriter, h *http.Request) { c.n++; c.next.ServeHTTP(rw, h) }

func TestParseWitness(t *testing.T) {
	key := log.WitnessKey("w.example", ed25519.NewKeyFromSeed(make([]byte, 32)).Public().(ed25519.PublicKey))
	for text, ok := range map[string]bool{
		key + "=https://w.example": true, key + "=http://127.0.0.1:7481/": true, key + "=https://w.example/log": true,
		key: false, "=https://w.example": false, key + "=http://w.example": false, key + "=https://a:b@w.example": false,
		key + "=ftp://w.example": false, key + "=https://w.example?x": false, "w.example=https://w.example": false,
	} {
		if _, err := ParseWitness(text); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
