package verify

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/resolve/space"
)

// TestLeftover wants a warning for exactly what atomicfile leaves: any other
// name must go on to be judged.
func TestLeftover(t *testing.T) {
	random := strings.Repeat("A", 26)
	for _, tc := range []struct {
		entry space.Entry
		want  bool
	}{
		{space.Entry{Rel: "tools/demo/" + atomicfile.Prefix + random}, true},
		{space.Entry{Rel: atomicfile.Prefix + random}, true},
		{space.Entry{Rel: "tools/" + atomicfile.Prefix + random + ".py"}, false},
		{space.Entry{Rel: "tools/" + atomicfile.Prefix + "evil.py"}, false},
		{space.Entry{Rel: "tools/" + atomicfile.Prefix + random + "/evil.py"}, false},
		{space.Entry{Rel: "tools/" + atomicfile.Prefix + random, Type: fs.ModeSymlink}, false},
		{space.Entry{Rel: "tools/" + atomicfile.Prefix + random, Type: fs.ModeNamedPipe}, false},
	} {
		f, is := leftover(tc.entry)
		if is != tc.want {
			t.Errorf("%s (%s): %t, want %t", tc.entry.Rel, tc.entry.Type, is, tc.want)
		}
		if is && (f.Severity != diag.SeverityWarning || f.Reason == "") {
			t.Errorf("%s: finding %+v, want a warning with a fix", tc.entry.Rel, f)
		}
	}
}
