// Package volatile compares results of tools without the values that differ from run to run:
// a time, a duration, a temporary path. The item of a tool declares them as dotted paths.
//
// It does not know items or calls, and it changes no value: what a model reads is complete.
package volatile

import (
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/jsonx"
)

// Without returns a copy of a value of parsed JSON without the paths, and whether it had
// any of them. "*" is every element of a list and every member of an object. A text that
// is a JSON object or list has its members.
func Without(v any, paths []string) (out any, changed bool) {
	out = v
	for _, p := range paths {
		var had bool
		out, had = without(out, strings.Split(p, "."))
		changed = changed || had
	}
	return out, changed
}

func without(v any, path []string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return withoutMember(v, path)
	case []any:
		if path[0] != "*" || len(path) == 1 {
			return v, false
		}
		return withoutElements(v, path[1:])
	case string:
		return withoutText(v, path)
	}
	return v, false
}

func withoutMember(m map[string]any, path []string) (any, bool) {
	keys := []string{path[0]}
	if path[0] == "*" {
		keys = slices.Collect(maps.Keys(m))
	}
	var out map[string]any
	for _, key := range keys {
		value, has := m[key]
		if !has {
			continue
		}
		rest := any(nil)
		had := true
		if len(path) > 1 {
			rest, had = without(value, path[1:])
		}
		if !had {
			continue
		}
		if out == nil {
			out = maps.Clone(m)
		}
		if delete(out, key); len(path) > 1 {
			out[key] = rest
		}
	}
	if out == nil {
		return m, false
	}
	return out, true
}

func withoutElements(list []any, path []string) (any, bool) {
	out := slices.Clone(list)
	changed := false
	for i := range out {
		rest, had := without(out[i], path)
		out[i] = rest
		changed = changed || had
	}
	return out, changed
}

// withoutText removes a path from a text that is JSON, as the results of many programs and
// of MCP servers are.
func withoutText(s string, path []string) (any, bool) {
	t := strings.TrimSpace(s)
	if t == "" || t[0] != '{' && t[0] != '[' {
		return s, false
	}
	v, fs := jsonx.ParseMessage([]byte(s))
	if len(fs) > 0 {
		return s, false
	}
	return without(v, path)
}

// Result returns the result of a tool without the paths, which are relative to its data: also
// where the data are in an envelope, in the error of a failed run, or in the structured
// content and the texts of an MCP server's result.
func Result(v any, paths []string) (out any, changed bool) {
	var all []string
	for _, p := range paths {
		for _, root := range []string{"", "data.", "error.details.", "error.details.data.", "structuredContent.", "content.*.text.", "data.structuredContent.", "data.content.*.text."} {
			all = append(all, root+p)
		}
	}
	return Without(v, all)
}
