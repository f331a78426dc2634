package openat

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ryeos/rye/diag"
)

// V35: a magic link is a link.
func TestV35MagicLink(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	must(t, err)
	defer f.Close()
	for name, d := range backends(t, "/proc") {
		rel := fmt.Sprintf("%d/fd/%d", os.Getpid(), f.Fd())
		if b, _, err := d.Read(rel, 100); diag.CodeOf(err) != diag.PathEscape {
			t.Errorf("%s: Read(%q) = %q, %v, want PATH_ESCAPE", name, rel, b, err)
		}
		if _, _, err := d.Read("self/status", 1<<20); diag.CodeOf(err) != diag.PathEscape {
			t.Errorf("%s: self: %v", name, err)
		}
		rel = fmt.Sprintf("%d/status", os.Getpid()) // claims size 0
		if b, _, err := d.Read(rel, 1<<20); err != nil || len(b) == 0 {
			t.Errorf("%s: status: %q %v", name, b, err)
		}
		if _, _, err := d.Read(rel, 10); diag.CodeOf(err) != diag.TooLarge {
			t.Errorf("%s: status above its maximum: %v", name, err)
		}
	}
}
