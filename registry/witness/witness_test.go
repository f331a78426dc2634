package witness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ryeos/rye/registry/log"
)

// memory are the files of a log.
type memory map[string][]byte

func (m memory) Read(_ context.Context, p string, _ int64) ([]byte, error) {
	if b, ok := m[p]; ok {
		return b, nil
	}
	return nil, fs.ErrNotExist
}

func (m memory) Write(p string, b []byte) error { m[p] = bytes.Clone(b); return nil }

// testLog is a log that can be made twice with one key.
type testLog struct {
	t     *testing.T
	files memory
	w     *log.Writer
}

func newLog(t *testing.T, secret, key, host string) *testLog {
	t.Helper()
	signer, err := log.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	l := &testLog{t: t, files: memory{}}
	if l.w, err = log.Open(context.Background(), l.files, host+"/log", signer, key); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *testLog) add(texts ...string) log.Tree {
	l.t.Helper()
	for _, s := range texts {
		if _, err := l.w.Append(context.Background(), []byte(s)); err != nil {
			l.t.Fatal(err)
		}
	}
	return l.w.Tree()
}

// body returns a request with the proof from an older tree.
func (l *testLog) body(old log.Tree) string {
	l.t.Helper()
	proof := ""
	if old.Size > 0 && old.Size < l.w.Tree().Size {
		p, err := log.NewReader(l.files.Read, l.w.Tree()).Consistency(context.Background(), old)
		if err != nil {
			l.t.Fatal(err)
		}
		proof = p.String()
	}
	return fmt.Sprintf("old %d\n%s\n%s", old.Size, proof, l.w.Checkpoint())
}

func ask(t *testing.T, w *Witness, body string) (int, string) {
	t.Helper()
	r := httptest.NewRecorder()
	w.Handler().ServeHTTP(r, httptest.NewRequest(http.MethodPost, "/add-checkpoint", strings.NewReader(body)))
	return r.Code, r.Body.String()
}

func TestWitness(t *testing.T) {
	secret, key, err := log.GenerateKey(nil, "rye.example")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	p := Params{Dir: t.TempDir(), Name: "w.example", Logs: []string{key}, Now: func() time.Time { return now }}
	w, err := Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), p); err == nil {
		t.Error("two processes use one witness")
	}
	l, fork := newLog(t, secret, key, "rye.example"), newLog(t, secret, key, "rye.example")
	one := l.add("a")
	status, line := ask(t, w, l.body(log.EmptyTree()))
	if status != 200 {
		t.Fatal(status, line)
	}
	v := log.Verifier{Origin: "rye.example/log", Key: key, Witnesses: []string{w.Key()}, Quorum: 1, Now: p.Now}
	if _, err := v.Verify(append(bytes.Clone(l.w.Checkpoint()), line...)); err != nil {
		t.Fatal(err)
	}
	if status, _ := ask(t, w, l.body(one)); status != 200 {
		t.Errorf("the same checkpoint again: %d", status)
	}
	three := l.add("b", "c")
	good := l.body(one)
	other := fork.add("q")
	fork.add("x", "y")
	stale := newLog(t, secret, key, "rye.example")
	stale.add("a", "b")
	for name, x := range map[string]struct {
		body   string
		status int
		text   string
	}{
		"another history": {fork.body(other), 422, ""},
		"no proof":        {fmt.Sprintf("old 1\n\n%s", l.w.Checkpoint()), 422, ""},
		"another size":    {l.body(log.EmptyTree()), 409, "1\n"},
		"larger old size": {"old 9" + good[len("old 1"):], 400, ""},
		"leading zero":    {"old 01" + good[len("old 1"):], 400, ""},
		"garbage":         {"hello", 400, ""},
		"unsigned":        {strings.Replace(good, "— rye.example", "— rye.exampla", 1), 403, ""},
		"unknown log":     {strings.Replace(good, "rye.example/log", "rye.other/log", 1), 404, ""},
		"too long":        {good + strings.Repeat("x", maxRequest), 413, ""},
	} {
		if status, text := ask(t, w, x.body); status != x.status || x.text != "" && text != x.text {
			t.Errorf("%s: %d %q", name, status, text)
		}
	}
	if status, text := ask(t, w, good); status != 200 {
		t.Fatal(status, text)
	}
	if status, text := ask(t, w, stale.body(one)); status != 409 || text != "3\n" {
		t.Errorf("a smaller checkpoint: %d %q", status, text)
	}
	sameSize := newLog(t, secret, key, "rye.example")
	sameSize.add("a", "b", "z")
	if status, _ := ask(t, w, sameSize.body(three)); status != 409 {
		t.Errorf("another root of the same size: %d", status)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w, err = Open(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if status, text := ask(t, w, stale.body(one)); status != 409 || text != "3\n" {
		t.Errorf("after a restart, a smaller checkpoint: %d %q", status, text)
	}
}

// TestParallel sends two histories at once: one of them is signed.
func TestParallel(t *testing.T) {
	secret, key, err := log.GenerateKey(nil, "rye.example")
	if err != nil {
		t.Fatal(err)
	}
	w, err := Open(t.Context(), Params{Dir: t.TempDir(), Name: "w.example", Logs: []string{key}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var bodies []string
	for i := range 16 {
		l := newLog(t, secret, key, "rye.example")
		l.add(fmt.Sprint(i))
		bodies = append(bodies, l.body(log.EmptyTree()))
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	signed := 0
	for _, b := range bodies {
		wg.Go(func() {
			_, err := w.Add([]byte(b))
			var no *refusal
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				signed++
			} else if !errors.As(err, &no) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if signed != 1 {
		t.Errorf("%d histories were signed", signed)
	}
}
