//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
)

// logged returns the digests in the log of signatures, whose chain must hold.
func logged(l *lab) map[string]bool {
	l.t.Helper()
	l.must("key", "log", "--check")
	var doc struct{ Data auditlog.Report }
	if err := json.Unmarshal([]byte(l.must("key", "log", "--limit", "0", "--json")), &doc); err != nil {
		l.t.Fatal(err)
	}
	out := map[string]bool{}
	for _, e := range doc.Data.Entries {
		out[e.Digest] = true
	}
	return out
}

// allLogged fails for a file that is signed and not in the log.
func allLogged(l *lab, files map[string]string) {
	l.t.Helper()
	log := logged(l)
	for rel, old := range files {
		path := filepath.Join(l.dir, ".ai", "tools", rel)
		b := l.read(path)
		if _, err := os.Lstat(path + extract.DetachedExt); string(b) == old && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if !log[item.DigestOf(b).String()] {
			l.t.Errorf("%s is signed, and the log does not tell", rel)
		}
	}
}

// TestCrashLog kills rye sign at random instants: there is never a signature
// on the disk that is not in the log, and the log is one that others go on with.
func TestCrashLog(t *testing.T) {
	l := newLab(t)
	l.must("key", "new", "--no-passphrase", "--owner", "ada")
	files := crashFiles(l, 40)
	span := l.span("sign", "*")
	allLogged(l, files)
	for range rounds(12) {
		restore(l, files)
		l.killed(span, "sign", "*")
		allLogged(l, files)
		if t.Failed() {
			return
		}
	}
	l.must("sign", "*")
	allLogged(l, files)
}
