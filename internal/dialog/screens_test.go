package dialog_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/dialog"
	"github.com/ryeos/rye/internal/termkeys"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/internal/testing/vterm"
)

// watched are keys of a person, and the screen before each of them.
type watched struct {
	term *vterm.Terminal
	keys []termkeys.Key
	out  strings.Builder
}

func (w *watched) Discard() {}

func (w *watched) Read(context.Context) ([]termkeys.Key, error) {
	if len(w.keys) == 0 {
		return nil, termkeys.ErrClosed
	}
	key := w.keys[0]
	w.keys = w.keys[1:]
	name := map[termkeys.Key]string{' ': "Space", termkeys.Enter: "Enter", termkeys.Escape: "Esc"}[key]
	if name == "" {
		name = string(rune(key))
	}
	fmt.Fprintf(&w.out, "--- before %s\n%s", name, w.term.Screen())
	return []termkeys.Key{key}, nil
}

// approval is a question about a command.
func approval(text string) *dialog.Question {
	return &dialog.Question{
		From: "triage-1", Why: "command is dangerous (rm-recursive)", Text: text, Escape: 'n',
		Details: []string{"capability  rye.execute.tool.rye.bash.bash", "sandbox     strict, net: none"},
		Choices: []dialog.Choice{
			{Key: 'y', Label: "once", Words: []string{"yes"}, Permits: true, Help: "run this call once"},
			{Key: 't', Label: "this thread", Permits: true, Help: "run later calls of this thread with the same rule, too"},
			{Key: 'p', Label: `begins with "rm -r"`, Permits: true, Confirm: `Permit each command of this thread that begins with "rm -r"?`},
			{Key: 'n', Label: "no", Line: "Why, for the model: "},
		},
		Queue: func() (int, int) { return 1, 3 },
	}
}

// TestScreens compares what a person sees of questions with testdata/screens, at three sizes.
func TestScreens(t *testing.T) {
	long := strings.TrimSuffix(strings.Repeat("rm -r build/目录/and/a/path/that/does/not/end; ", 12), "; ")
	forbidden := approval("rm -r /")
	forbidden.Word, forbidden.Queue = "yes", nil
	for name, scene := range map[string]struct {
		q    *dialog.Question
		keys string
		want dialog.Answer
	}{
		"once":   {approval("rm -r build"), "xy", dialog.Answer{Key: 'y'}},
		"help":   {approval("rm -r build"), "?ny\r", dialog.Answer{Key: 'n', Text: "y"}},
		"prefix": {approval("rm -r build"), "py", dialog.Answer{Key: 'p'}},
		"long":   {approval(long), "yd  y", dialog.Answer{Key: 'y'}},
		"word":   {forbidden, "yes\r", dialog.Answer{Key: 'y'}},
		"stop":   {approval("rm -r build"), "\x1b", dialog.Answer{Key: 'n', Stop: true}},
	} {
		for _, size := range [][2]int{{60, 12}, {80, 24}, {200, 60}} {
			w := &watched{term: vterm.New(size[0], size[1])}
			for _, r := range scene.keys {
				key := termkeys.Key(r)
				switch r {
				case '\r':
					key = termkeys.Enter
				case '\x1b':
					key = termkeys.Escape
				}
				w.keys = append(w.keys, key)
			}
			q := *scene.q
			s := &dialog.Screen{In: w, Out: w.term.TTY(), Size: func() (int, int) { return size[0], size[1] }}
			got, err := s.Ask(t.Context(), &q)
			if name == "long" && size[1] > 12 { // the text fits: the first y is the answer
				w.keys = nil
			}
			if err != nil || got != scene.want || len(w.keys) > 0 {
				t.Errorf("%s at %v: %+v, %v, %d keys are left", name, size, got, err, len(w.keys))
			}
			testkit.Golden(t, filepath.Join("testdata", "screens", fmt.Sprintf("%s-%d.txt", name, size[0])), w.out.String()+"--- end\n"+w.term.Screen())
			if err := w.term.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
