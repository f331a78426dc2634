package git

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/testing/sourcetest"
	"github.com/ryeos/rye/lock/treehash"
)

// TestFetchWhole: a whole commit has all regular files; links and colliding names are
// listed and not read, from the remote and from the cache.
func TestFetchWhole(t *testing.T) {
	each(t, func(b *bench) {
		commit := b.repo.Commit(
			sourcetest.File{Path: "skills/pdf/SKILL.md", Data: "# PDF\n"},
			sourcetest.File{Path: "skills/pdf/fill.sh", Data: "echo\n", Mode: "100755"},
			sourcetest.File{Path: "skills/out", Data: "/etc/passwd", Mode: "120000"},
			sourcetest.File{Path: "skills/pdf/skill.md", Data: "# other\n"},
			sourcetest.File{Path: "rye.yaml", Data: "rye: 1\n"},
		)
		for range 2 {
			s := b.source()
			o := b.resolve(s, b.id, commit)
			if got := strings.Join(files(b.fetch(s, o)), " "); got != "rye.yaml" {
				b.Errorf("a bundle has %q", got)
			}
			o.Whole = true
			snap := b.fetch(s, o)
			if got := strings.Join(files(snap), " "); got != "rye.yaml skills/pdf/SKILL.md skills/pdf/fill.sh*" {
				b.Errorf("files %q", got)
			}
			if len(snap.Left) != 2 || snap.Left[0].Path != "skills/out" || snap.Left[0].Mode != treehash.Mode(0o120000) || snap.Left[1].Path != "skills/pdf/skill.md" {
				b.Errorf("left %v", snap.Left)
			}
			if text, err := snap.Read("skills/pdf/SKILL.md"); err != nil || string(text) != "# PDF\n" {
				b.Errorf("%q, %v", text, err)
			}
		}
	})
}
