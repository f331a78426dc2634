package dialog_test

import (
	"testing"

	"github.com/ryeos/rye/internal/dialog"
)

// TestNotice announces a question with each form: a person in another window learns of it, and a
// terminal that does not know a form gets the bell alone.
func TestNotice(t *testing.T) {
	const (
		bell   = "\a"
		osc9   = "\a\x1b]9;a question waits\a"
		osc777 = "\a\x1b]777;notify;rye;a question waits\a"
		tmux9  = "\a\x1bPtmux;\x1b\x1b]9;a question waits\a\x1b\\"
		tmux7  = "\a\x1bPtmux;\x1b\x1b]777;notify;rye;a question waits\a\x1b\\"
	)
	type vars map[string]string
	tests := []struct {
		name string
		vars vars
		want string
	}{
		{"nothing set", vars{}, bell},
		{"bell", vars{"RYE_NOTIFY": "bell", "TERM_PROGRAM": "iTerm.app"}, bell},
		{"osc9", vars{"RYE_NOTIFY": "osc9", "TERM": "xterm-256color"}, osc9},
		{"osc777", vars{"RYE_NOTIFY": "osc777", "TERM": "xterm-256color"}, osc777},
		{"off", vars{"RYE_NOTIFY": "off", "TERM_PROGRAM": "iTerm.app", "TMUX": "/run/tmux,1,0"}, ""},
		{"an unknown word", vars{"RYE_NOTIFY": "loud", "TERM_PROGRAM": "iTerm.app"}, bell},
		{"auto, iTerm2", vars{"RYE_NOTIFY": "auto", "TERM_PROGRAM": "iTerm.app"}, osc9},
		{"WezTerm", vars{"TERM_PROGRAM": "WezTerm"}, osc9},
		{"Ghostty by its program", vars{"TERM_PROGRAM": "ghostty"}, osc9},
		{"Ghostty by its terminal type", vars{"TERM": "xterm-ghostty"}, osc9},
		{"kitty", vars{"TERM": "xterm-kitty"}, osc9},
		{"foot", vars{"TERM": "foot-extra"}, osc777},
		{"rxvt", vars{"TERM": "rxvt-unicode-256color"}, osc777},
		{"xterm", vars{"TERM": "xterm-256color"}, bell},
		{"a terminal of another kind", vars{"TERM_PROGRAM": "Apple_Terminal", "TERM": "xterm-256color"}, bell},
		{"tmux, osc9", vars{"TMUX": "/run/tmux,1,0", "RYE_NOTIFY": "osc9"}, tmux9},
		{"tmux, osc777", vars{"TMUX": "/run/tmux,1,0", "RYE_NOTIFY": "osc777"}, tmux7},
		{"tmux in iTerm2", vars{"TMUX": "/run/tmux,1,0", "TERM_PROGRAM": "iTerm.app", "TERM": "tmux-256color"}, tmux9},
		{"tmux in an unknown terminal", vars{"TMUX": "/run/tmux,1,0", "TERM": "tmux-256color"}, bell},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := dialog.Notice(func(name string) string { return tt.vars[name] }, "a question waits")
			if got != tt.want {
				t.Errorf("the notice is %q, want %q", got, tt.want)
			}
		})
	}
}
