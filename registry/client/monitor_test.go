package client

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/log"
)

const testKey = "ed25519:0101010101010101010101010101010101010101010101010101010101010101"

func removal(t *testing.T, second int) []byte {
	t.Helper()
	e := &log.Entry{Type: log.Key, Namespace: "acme", Action: "remove", Key: testKey, Time: time.Date(2026, 11, 22, 10, 0, second, 0, time.UTC)}
	b, err := e.Render()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// After the state of a registry was forgotten, another history is monitored from its first
// entry; state of another history that remained is refused, not continued.
func TestMonitorAnotherHistory(t *testing.T) {
	t.Parallel()
	m, w, keys := newLog(t)
	secret, key, _ := strings.Cut(keys, "\n")
	other := &memory{files: map[string][]byte{}}
	v := reopen(t, other, secret, key)
	if _, err := w.Append(t.Context(), removal(t, 1), removal(t, 2)); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Append(t.Context(), removal(t, 3), removal(t, 4), removal(t, 5)); err != nil {
		t.Fatal(err)
	}
	one, two := httptest.NewServer(m), httptest.NewServer(other)
	defer one.Close()
	defer two.Close()
	state := t.TempDir()
	monitor := func(address string) (int, error) {
		h, err := clientOf(state, key, address).Host(t.Context(), "rye.example")
		if err != nil {
			return 0, err
		}
		list, err := h.Monitor(t.Context(), "acme")
		return len(list), err
	}
	for i, want := range []int{2, 0} {
		if n, err := monitor(one.URL); n != want || err != nil {
			t.Fatalf("call %d: %d entries, %v; want %d", i, n, err, want)
		}
	}
	base := clientOf(state, key, two.URL).dirOf("rye.example")
	for _, name := range []string{latestName, "notes", tilesDir} {
		if err := base.RemoveAll(name); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := monitor(two.URL); diag.CodeOf(err) != diag.LogEquivocation {
		t.Errorf("another history continues the monitoring of the first: %d entries, %v", n, err)
	}
	c := clientOf(state, key, two.URL)
	if err := c.Forget("rye.example"); err != nil {
		t.Fatal(err)
	}
	if n, err := monitor(two.URL); n != 3 || err != nil {
		t.Errorf("after forgetting: %d entries, %v; want 3", n, err)
	}
}
