package exec

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

func TestPassOfEnvConfig(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string // part of the error, "" for none
	}{
		{[]any{"SERVICE_KEY", "HTTPS_PROXY"}, ""},
		{[]any{}, ""},
		{"SERVICE_KEY", "env_config.pass must be a list of strings"},
		{[]any{int64(1)}, "env_config.pass[0] must be a string"},
		{[]any{""}, "letters"},
		{[]any{"A=B"}, "letters"},
		{[]any{"9A"}, "letters"},
		{[]any{"RYE_SELF"}, "only rye sets it"},
		{[]any{"RYE_SETTINGS"}, "only rye sets it"},
		{[]any{"RYE_PASSPHRASE_FILE"}, "may not be passed"},
		{[]any{"OK", "LD_PRELOAD"}, `env_config.pass[1]: "LD_PRELOAD" may not be passed`},
		{[]any{"PATH"}, "may not be passed"},
		{[]any{"PYTHONPATH"}, "may not be passed"},
	} {
		it := &resolve.Item{Meta: item.Metadata{Fields: map[string]any{"env_config": map[string]any{"pass": c.v}}}}
		r := fieldsOf(it)
		readEnvConfig(r)
		err := diag.FromFindings("reading", r.Findings())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.v, err, c.want)
		}
	}
}
