package dialog_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/dialog"
	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/internal/termkeys"
)

// typed are keys that a person presses one after the other.
type typed struct{ keys [][]termkeys.Key }

func (k *typed) Discard() {}

func (k *typed) Read(context.Context) ([]termkeys.Key, error) {
	if len(k.keys) == 0 {
		return nil, termkeys.ErrClosed
	}
	next := k.keys[0]
	k.keys = k.keys[1:]
	return next, nil
}

// TestWideTexts asks with characters of two columns: no line of the question or of the answer is
// wider than the screen, so that a line can be erased and drawn again.
func TestWideTexts(t *testing.T) {
	const columns = 40
	wide := strings.Repeat("漢字", 30)
	keys := &typed{keys: [][]termkeys.Key{{'?'}, {'d'}, {'n'}}}
	for _, r := range wide {
		keys.keys = append(keys.keys, []termkeys.Key{termkeys.Key(r)})
	}
	keys.keys = append(keys.keys, []termkeys.Key{termkeys.Enter})
	var out bytes.Buffer
	s := &dialog.Screen{In: keys, Out: &out, Size: func() (int, int) { return columns, 50 }}
	a, err := s.Ask(t.Context(), &dialog.Question{
		From: "a", Why: wide, Text: "Run " + wide + "?", Details: []string{wide + " " + wide},
		Choices: []dialog.Choice{{Key: 'y', Label: "once", Permits: true}, {Key: 'n', Label: "no " + strings.Repeat("漢", 14), Help: wide, Line: "A line: "}},
	})
	if err != nil || a.Key != 'n' || a.Text != wide {
		t.Fatalf("%+v, %v", a, err)
	}
	texts := 0
	for line := range strings.SplitSeq(strings.ReplaceAll(out.String(), "\r\x1b[K", "\n"), "\n") {
		if w := inline.Width(line); w >= columns {
			t.Errorf("%d columns: %q", w, line)
		}
		texts += strings.Count(line, "漢")
	}
	if texts < 5*30 {
		t.Errorf("the question has lost a part of its texts: %q", out.String())
	}
}
