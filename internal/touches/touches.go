// Package touches decides which calls of tools may run at the same time. The item of a tool
// declares what a call reads and writes, with the parameters that name the paths; calls run
// together if none of them writes what a second one touches.
//
// It reads no files: the caller resolves paths, so that two names of one file are equal.
package touches

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Set is what one call touches: paths of the project with slashes, "." is all of it. A
// directory includes what is below it.
type Set struct {
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
}

// whole is the project.
const whole = "."

// Of returns the paths that a call touches by the declaration of its tool:
//
//	touches: {read: ["{path}"], write: ["{files.*.file_path}"], unless: [destination]}
//
// A path is fixed, or names a parameter in braces, with members of it after dots; "*" is
// every element. A parameter without a value is the whole project, and with "?" nothing. unless lists parameters
// with which the declaration does not apply. It returns nil for a tool that declares
// nothing: its calls run alone. locate returns the one name of a path.
func Of(declared any, params map[string]any, locate func(string) string) *Set {
	m, ok := declared.(map[string]any)
	if !ok {
		return nil
	}
	for _, p := range texts(m["unless"]) {
		if v := params[p]; v != nil && v != "" {
			return nil
		}
	}
	return &Set{Read: paths(texts(m["read"]), params, locate), Write: paths(texts(m["write"]), params, locate)}
}

// Check returns the mistake in a declaration, or "".
func Check(declared any) string {
	m, ok := declared.(map[string]any)
	if !ok {
		return "must be an object"
	}
	for key, v := range m {
		list, isList := v.([]any)
		switch {
		case key != "read" && key != "write" && key != "unless":
			return fmt.Sprintf("has the unknown key %q: the keys are read, write and unless", key)
		case !isList || len(texts(v)) != len(list):
			return fmt.Sprintf("%s must be a list of texts", key)
		}
	}
	return ""
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func paths(entries []string, params map[string]any, locate func(string) string) []string {
	var out []string
	for _, e := range entries {
		name, isParam := strings.CutPrefix(e, "{")
		if !isParam {
			out = append(out, locate(e))
			continue
		}
		name, optional := strings.CutSuffix(strings.TrimSuffix(name, "}"), "?")
		if optional && params[name] == nil {
			continue
		}
		out = append(out, values(params, strings.Split(name, "."), locate)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// values returns the paths that a parameter names. A value that is not a text could name
// any path.
func values(v any, keys []string, locate func(string) string) []string {
	if len(keys) == 0 {
		if s, ok := v.(string); ok && s != "" {
			return []string{locate(s)}
		}
		return []string{whole}
	}
	switch v := v.(type) {
	case map[string]any:
		if member, has := v[keys[0]]; has {
			return values(member, keys[1:], locate)
		}
		return absent(keys)
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, values(x, keys[1:], locate)...)
		}
		return out
	}
	return []string{whole}
}

// absent returns the paths that a parameter without a value touches: a list that is not given
// names nothing.
func absent(keys []string) []string {
	if slices.Contains(keys, "*") {
		return nil
	}
	return []string{whole}
}

// Conflicts reports whether one of two calls writes what the other touches. Nil conflicts
// with everything.
func (s *Set) Conflicts(o *Set) bool {
	if s == nil || o == nil {
		return true
	}
	return overlap(s.Write, o.Write) ||
		overlap(s.Write, o.Read) ||
		overlap(s.Read, o.Write)
}

func overlap(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if within(x, y) || within(y, x) {
				return true
			}
		}
	}
	return false
}

// within reports whether x is y or below it. Names are compared without their case, because
// some file systems do.
func within(x, y string) bool {
	x = strings.ToLower(path.Clean(x))
	y = strings.ToLower(path.Clean(y))
	return y == whole ||
		x == y ||
		strings.HasPrefix(x, strings.TrimSuffix(y, "/")+"/")
}

// Groups divides calls, in order, into groups that run at the same time, one group after the
// other.
func Groups(calls []*Set) [][]int {
	var out [][]int
	for i, s := range calls {
		n := len(out) - 1
		if n < 0 ||
			slices.ContainsFunc(out[n], func(j int) bool { return s.Conflicts(calls[j]) }) {
			out = append(out, []int{i})
			continue
		}
		out[n] = append(out[n], i)
	}
	return out
}
