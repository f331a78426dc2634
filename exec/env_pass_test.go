package exec

import (
	"strings"
	"testing"
)

func TestBadPass(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string // "" for fine
	}{
		{[]any{"SERVICE_KEY", "HTTPS_PROXY"}, ""},
		{[]any{}, ""},
		{"SERVICE_KEY", "list of names"},
		{[]any{int64(1)}, "list of names"},
		{[]any{""}, "letters"},
		{[]any{"A=B"}, "letters"},
		{[]any{"9A"}, "letters"},
		{[]any{"RYE_SELF"}, "only rye sets it"},
		{[]any{"RYE_SETTINGS"}, "only rye sets it"},
		{[]any{"RYE_PASSPHRASE_FILE"}, "may not be passed"},
		{[]any{"OK", "LD_PRELOAD"}, "names LD_PRELOAD"},
		{[]any{"PATH"}, "may not be passed"},
		{[]any{"PYTHONPATH"}, "may not be passed"},
	} {
		got := badPass(c.v)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%v: %q, want %q", c.v, got, c.want)
		}
	}
}
