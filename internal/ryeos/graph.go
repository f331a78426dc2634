package ryeos

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// reads returns the pattern of a template that reads an input or a key of the state.
var reads = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{(inputs|state)\.([A-Za-z_][A-Za-z0-9_-]*)(\.[A-Za-z0-9_-]+)*\}`)
})

// optional makes templates optional that read what never has a value: an input that
// config_schema does not declare, a key of the state that nothing sets. The original read
// both as empty; to rye a missing path is an error unless ? permits it.
func (t *translation) optional() {
	m := &t.it.Meta
	if m.ToolType != "graph" || !data(t.it.Type) {
		return
	}
	config, _ := m.Fields["config"].(map[string]any)
	written := map[string]bool{}
	seen := map[string]bool{}
	state, _ := config["state"].(map[string]any)
	for k := range state {
		written[k] = true
	}
	walk(config, func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				written[k] = written[k] || key == "assign"
			}
		case string:
			written[v] = written[v] || key == "collect"
			for _, found := range reads().FindAllString(v, -1) {
				seen[found] = true
			}
		}
	})
	properties, closed := m.Schema["properties"].(map[string]any)
	extra := m.Schema["additionalProperties"]
	for _, old := range slices.Sorted(maps.Keys(seen)) {
		part := reads().FindStringSubmatch(old)
		_, declared := properties[part[2]]
		missing := !written[part[2]]
		why := "nothing assigns"
		if part[1] == "inputs" {
			missing = closed && (extra == nil || extra == false) && !declared
			why = "config_schema does not declare"
		}
		now := strings.TrimSuffix(old, "}") + "?}"
		from, _ := lineAt(t.it.Bytes, t.at("config").Line)
		i := bytes.Index(t.it.Bytes[from:], []byte(old))
		if !missing ||
			i < 0 ||
			bytes.Contains(t.it.Bytes, []byte("$"+old)) { // $${ is a text
			continue
		}
		rest := bytes.ReplaceAll(
			t.it.Bytes[from:],
			[]byte(old),
			[]byte(now),
		)
		want, _ := withValue(
			t.it.Meta.Fields,
			[]string{"config"},
			replaced(t.it.Meta.Fields["config"], old, now),
		).(map[string]any)
		t.try(edit{from, len(t.it.Bytes), string(rest)}, t.position(from+i), fields(want),
			"%s is now %s, which permits that it is missing: %s %s.%s", old, now, why, part[1], part[2])
	}
}

// walk calls f with every value below v, and the key of it or of the list that it is in.
func walk(v any, f func(key string, v any)) {
	var below func(key string, v any)
	below = func(key string, v any) {
		f(key, v)
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				below(key, e)
			}
		case map[string]any:
			for k, e := range v {
				below(k, e)
			}
		}
	}
	below("", v)
}

// replaced returns a copy of a value with another word in its texts.
func replaced(v any, old, now string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, old, now)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = replaced(e, old, now)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = replaced(e, old, now)
		}
		return out
	}
	return v
}
