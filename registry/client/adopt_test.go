package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/log"
)

// memory stores the files of a log.
type memory struct {
	mu    sync.Mutex
	files map[string][]byte
}

// Read implements log.Files.
func (m *memory) Read(_ context.Context, p string, _ int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.files[p]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return b, nil
}

// Write implements log.Files.
func (m *memory) Write(p string, b []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[p] = b
	return nil
}

// ServeHTTP serves the files below /log/.
func (m *memory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, err := m.Read(r.Context(), strings.TrimPrefix(r.URL.Path, "/log/"), 0)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(b)
}

func newLog(t *testing.T) (*memory, *log.Writer, string) {
	t.Helper()
	m := &memory{files: map[string][]byte{}}
	secret, key, err := log.GenerateKey(rand.Reader, "rye.example")
	if err != nil {
		t.Fatal(err)
	}
	return m, reopen(t, m, secret, key), secret + "\n" + key
}

func reopen(t *testing.T, m *memory, secret, key string) *log.Writer {
	t.Helper()
	s, err := log.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	w, err := log.Open(t.Context(), m, "rye.example/log", s, key)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func clientOf(state, key, address string) *Client {
	return New(Params{State: state, Pin: func(host string) (*Pin, error) {
		return &Pin{Host: host, Key: key, Addresses: []string{address}, Private: true}, nil
	}})
}

// Clients of one account that run at the same time, while the log grows, keep the largest
// checkpoint that one of them saw, and none of them sees an older one.
func TestAdoptTogether(t *testing.T) {
	t.Parallel()
	m, w, keys := newLog(t)
	_, key, _ := strings.Cut(keys, "\n")
	srv := httptest.NewServer(m)
	defer srv.Close()
	state := t.TempDir()
	var wg sync.WaitGroup
	sizes := make([]int64, 12)
	for i := range sizes {
		if _, err := w.Append(t.Context(), fmt.Appendf(nil, "entry %d", i)); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			h, err := clientOf(state, key, srv.URL).Host(context.Background(), "rye.example")
			if err != nil {
				t.Error(err)
				return
			}
			sizes[i] = h.Checkpoint().Tree.Size
		})
	}
	wg.Wait()
	h, err := clientOf(state, key, srv.URL).Host(t.Context(), "rye.example")
	if err != nil {
		t.Fatal(err)
	}
	last, err := h.latest()
	if err != nil || last.Tree != w.Tree() {
		t.Fatalf("the newest checkpoint is %v, %v; want %v", last, err, w.Tree())
	}
	for i, n := range sizes {
		if n < int64(i)+1 {
			t.Errorf("client %d saw %d entries, the log had %d", i, n, i+1)
		}
	}
}

// A client that saw one history refuses the other one in either order, and stays stopped.
func TestTwoHistories(t *testing.T) {
	t.Parallel()
	for _, lengths := range [][2]int{{3, 3}, {3, 5}, {4, 5}, {5, 3}} {
		m, w, keys := newLog(t)
		secret, key, _ := strings.Cut(keys, "\n")
		other := &memory{files: map[string][]byte{}}
		v := reopen(t, other, secret, key)
		for i := range lengths[0] {
			if _, err := w.Append(t.Context(), fmt.Appendf(nil, "a %d", i)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range lengths[1] {
			if _, err := v.Append(t.Context(), fmt.Appendf(nil, "b %d", i)); err != nil {
				t.Fatal(err)
			}
		}
		one, two := httptest.NewServer(m), httptest.NewServer(other)
		state := t.TempDir()
		if _, err := clientOf(state, key, one.URL).Host(t.Context(), "rye.example"); err != nil {
			t.Fatal(err)
		}
		_, err := clientOf(state, key, two.URL).Host(t.Context(), "rye.example")
		if got := diag.CodeOf(err); got != diag.LogEquivocation && !(lengths[1] < lengths[0] && got == diag.Rollback) {
			t.Errorf("%v: %v", lengths, err)
		}
		if diag.CodeOf(err) == diag.LogEquivocation {
			if _, err := clientOf(state, key, one.URL).Host(t.Context(), "rye.example"); diag.CodeOf(err) != diag.LogEquivocation {
				t.Errorf("%v: used again: %v", lengths, err)
			}
		}
		one.Close()
		two.Close()
	}
}
