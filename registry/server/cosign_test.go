package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/registry/log"
)

// hanging is a witness that does not answer. It sends a value for each request.
func hanging(asked chan<- struct{}) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, h *http.Request) {
		_, _ = io.Copy(io.Discard, h.Body) // else the end of the connection is not seen
		asked <- struct{}{}
		<-h.Context().Done()
	})
}

// A restart while a witness is gone keeps the cosignature that the checkpoint has.
func TestCosignKept(t *testing.T) {
	f, _, set := watched(t, "w1.example", "w2.example")
	f.grant("acme", 1)
	f.mustPublish("acme/a", "v1.0.0")
	set("w1.example", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) }))
	f.reopen()
	f.s.cosignMissing(t.Context())
	f.now = f.now.Add(askFresh + time.Minute)
	f.s.cosignMissing(t.Context())
	if got := f.signed(); len(got) != 2 {
		t.Errorf("signed by %v", got)
	}
}

// While a change waits for a witness, other requests do not wait, and a client that has the
// checkpoint before learns that it is the newest.
func TestCosignReads(t *testing.T) {
	f, _, set := watched(t, "w1.example")
	f.grant("acme", 1)
	f.mustPublish("acme/a", "v1.0.0")
	_, _, header := f.get("/log/checkpoint")
	asked, answer := make(chan struct{}, 9), make(chan struct{})
	set("w1.example", http.HandlerFunc(func(rw http.ResponseWriter, h *http.Request) {
		_, _ = io.Copy(io.Discard, h.Body)
		asked <- struct{}{}
		<-answer
		rw.WriteHeader(http.StatusServiceUnavailable)
	}))
	published := make(chan error, 1)
	go func() {
		_, err := f.publish("acme/a", "v1.1.0", "more", 1)
		published <- err
	}()
	<-asked
	if status, _, _ := f.get("/missing.html", "Accept", "text/html"); status != http.StatusNotFound {
		t.Errorf("a page answers %d", status)
	}
	if status, _, _ := f.get("/log/checkpoint", "If-None-Match", header.Get("Etag")); status != http.StatusNotModified {
		t.Errorf("a conditional request answers %d", status)
	}
	if status, b, _ := f.get("/log/checkpoint", "Range", "bytes=0-3"); status != http.StatusPartialContent || len(b) != 4 {
		t.Errorf("a range answers %d %q", status, b)
	}
	if len(published) > 0 {
		t.Error("the requests waited for the witness")
	}
	close(answer)
	if err := <-published; err != nil {
		t.Error(err)
	}
}

// A change does not wait while the registry asks a witness again that failed before.
func TestCosignAskedAgain(t *testing.T) {
	f, _, set := watched(t, "w1.example")
	f.grant("acme", 1)
	set("w1.example", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) }))
	f.mustPublish("acme/a", "v1.0.0")
	asked := make(chan struct{}, 9)
	set("w1.example", hanging(asked))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { f.s.cosignLoop(ctx); close(ended) }()
	<-asked
	f.mustPublish("acme/a", "v1.1.0")
	if f.s.asked[0].mu.TryLock() {
		t.Error("the change waited until the witness was not asked any more")
	}
	cancel()
	<-ended
}

// When Serve returns, nothing asks witnesses or writes the checkpoint, and the end of the
// process is not the failure of a witness.
func TestCosignEnds(t *testing.T) {
	f, _, set := watched(t, "w1.example")
	asked := make(chan struct{}, 9)
	set("w1.example", hanging(asked))
	notes := make(chan string, 9)
	f.s.p.Note = func(text string) { notes <- text }
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- f.s.Serve(ctx, l) }()
	<-asked
	cancel()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	if !f.s.asked[0].mu.TryLock() {
		t.Fatal("the witness is still being asked")
	}
	f.s.asked[0].mu.Unlock()
	if len(notes) > 0 {
		t.Errorf("shown: %s", <-notes)
	}
}

// A checkpoint with more signatures than a note may have could not be read by anyone.
func TestCosignTooMany(t *testing.T) {
	f := newFixture(t)
	f.close()
	var all []Witness
	for i := range maxWitnesses + 1 {
		all = append(all, Witness{Key: log.WitnessKey("w.example", slices.Repeat([]byte{byte(i)}, 32)), URL: "https://w.example"})
	}
	p := f.params()
	for want, list := range map[string][]Witness{"at most": all, "twice": {all[0], all[1], all[0]}} {
		p.Witnesses = list
		s, err := Open(t.Context(), p)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d witnesses: %v", len(list), err)
		}
	}
	p.Witnesses = all[1:]
	s, err := Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}
