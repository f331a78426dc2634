package resolve

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
)

// nested are the mappings of tools whose keys rye knows, by path.
var nested = []struct {
	path []string
	keys []string
}{
	{[]string{"env_config"}, []string{"interpreter", "env", "pass", "dotenv"}},
	{[]string{"env_config", "interpreter"}, []string{"type", "var", "project", "venv_path", "search_paths", "binary", "manager", "version", "fallback", "stdlib_modules"}},
	{[]string{"anchor"}, []string{"mode", "markers_any", "root", "env_paths"}},
	{[]string{"verify_deps"}, []string{"enabled", "scope", "extensions", "exclude_dirs"}},
}

// nested warns about keys inside the mappings of a tool that nothing reads. A run
// refuses those that it would use; items of the original have others.
func (it *Item) nested() []diag.Finding {
	if it.Ref.Kind != item.Tool || it.Support() {
		return nil
	}
	r := tree.NewReader(
		&tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos},
		diag.ValidationFailed,
	)
	for _, n := range nested {
		m := r
		for _, key := range n.path {
			_, ok := m.Value(key).(map[string]any)
			if !ok {
				m = nil
				break
			}
			m = m.Map(key)
		}
		if m == nil {
			continue
		}
		for _, key := range m.Keys() {
			if !slices.Contains(n.keys, key) && !strings.HasPrefix(key, "x-") {
				m.Warn(key, key, n.keys, "is not read: the keys here are %s", strings.Join(n.keys, ", "))
			}
		}
	}
	return r.Findings()
}
