package fs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/testing/wiretest"
)

// TestEditLinesProperty compares with splicing lines by number: whatever the
// text, an edit touches the named lines and nothing else.
func TestEditLinesProperty(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(11, 11))
	dir := t.TempDir()
	for range 60 {
		lines := randomLines(rnd, 3+rnd.IntN(30))
		before := string(files.Text{Lines: lines}.Bytes())
		wiretest.Put(t, dir, "f", before)
		ids, _ := shown(t, ok(t, dir, "read", obj{"file_path": "f", "line_ids": true}))
		var changes []obj
		var want strings.Builder
		for i := 0; i < len(lines); i++ {
			if rnd.IntN(4) != 0 {
				want.WriteString(lines[i].Text + "\n")
				continue
			}
			last := min(len(lines)-1, i+rnd.IntN(3))
			content := strings.Repeat(fmt.Sprintf("new %d\n", i), rnd.IntN(3))
			changes = append(changes, obj{"start_line_id": ids[i], "end_line_id": ids[last], "new_content": content})
			want.WriteString(content)
			i = last
		}
		if len(changes) == 0 {
			continue
		}
		rnd.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
		ok(t, dir, "edit_lines", obj{"file_path": "f", "changes": changes})
		if got := wiretest.Get(t, dir, "f"); got != want.String() {
			t.Fatalf("before %q, changes %v:\n got %q\nwant %q", before, changes, got, want.String())
		}
	}
}
