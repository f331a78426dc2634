package git

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/sourcetest"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

const victimVar = "RYE_GITSOURCE_TEST_VICTIM"

// TestVictim is the program of child processes, whose memory another test measures. It
// resolves and fetches once and prints the code of the error.
func TestVictim(t *testing.T) {
	spec := os.Getenv(victimVar)
	if spec == "" {
		t.Skip("only in a child process")
	}
	words := strings.Split(spec, "\n")
	debug.SetMemoryLimit(128 << 20) // as the program does
	s, err := New(Params{Self: self(t), Cache: source.NewCache(words[0], nil), Environ: sourcetest.Environ(), Transport: words[2],
		url: func(lock.ID) string { return words[1] }, timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	id := parseID(t, "github.com/acme/core")
	o, err := s.Resolve(t.Context(), id, words[3])
	if err == nil {
		_, err = s.Fetch(t.Context(), o)
	}
	t.Logf("victim: %s: %v", diag.CodeOf(err), err)
}

// Whatever a remote sends, the memory of rye and of its children is limited, and the error
// names the remote.
func TestHostileRemotes(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		t.Skip("receives gigabytes")
	}
	attacks := sourcetest.Hostile()
	delete(attacks, "zeros") // add_zero_bomb.txtar
	all := os.Getenv("RYE_LONG") != ""
	for i, w := range ways()[:2] {
		for _, name := range slices.Sorted(maps.Keys(attacks)) {
			if slow := i == 1 && name != "refs" || name == "shallow"; slow && !all {
				continue // git reads gigabytes before it or its limit of memory ends it
			}
			t.Run(w.name+"/"+name, func(t *testing.T) {
				b := newBench(t, w)
				b.repo.Light("v1.0.0", b.repo.Commit(sourcetest.Bundle("1")...))
				b.server.Fault(attacks[name])
				c := exec.Command(self, "-test.run=^TestVictim$", "-test.v")
				c.Env = append(os.Environ(), victimVar+"="+strings.Join([]string{b.cache, b.url, b.transport, "v1.0.0"}, "\n"))
				var out bytes.Buffer
				c.Stdout, c.Stderr = &out, &out
				start := time.Now()
				alone, peak, err := sourcetest.Peak(c)
				_, said, _ := strings.Cut(out.String(), "victim: ")
				said, _, _ = strings.Cut(said, "\n")
				t.Logf("%d MiB, %d MiB without children, %v, %s", peak>>20, alone>>20, time.Since(start).Round(time.Millisecond), said)
				code, text, _ := strings.Cut(said, ": ")
				if err != nil || peak > 400<<20 || alone > 30<<20 {
					t.Errorf("%v, %d MiB, %d MiB without children\n%s", err, peak>>20, alone>>20, out.String())
				}
				if !slices.Contains([]diag.Code{diag.Network, diag.LimitExceeded}, diag.Code(code)) || !strings.Contains(text, b.url) {
					t.Errorf("%s", said)
				}
			})
		}
	}
}
