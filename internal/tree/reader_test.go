package tree

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

func readerOf(root map[string]any) *Reader {
	return NewReader(&Doc{Root: root}, diag.ConfigError)
}

func messages(r *Reader) (out []string) {
	for _, f := range r.Findings() {
		out = append(out, f.Message)
	}
	return out
}

func TestReaderValues(t *testing.T) {
	r := readerOf(map[string]any{
		"text": "t", "on": true, "n": int64(3), "f": 0.5, "word": "b", "list": []any{"x", "y"}, "none": []any{},
		"env": map[string]any{"A": "1"}, "steps": []any{map[string]any{"name": "s"}}, "null": nil,
	})
	r.Require("text", "on", "n")
	r.Only("text", "on", "n", "f", "word", "list", "none", "env", "steps", "null")
	for _, c := range []struct{ got, want any }{
		{r.Text("text"), "t"},
		{r.Text("absent"), ""},
		{r.Bool("on", false), true},
		{r.Bool("absent", true), true},
		{r.Int("n", 1, 0, 3), int64(3)},
		{r.Int("absent", 7, 0, 3), int64(7)},
		{r.Seconds("n", 0, 0, time.Minute), 3 * time.Second},
		{r.Seconds("absent", time.Hour, 0, time.Minute), time.Hour},
		{r.Number("f", 0, 0, 1), 0.5},
		{r.Number("n", 0, 0, math.Inf(1)), 3.0},
		{r.Enum("word", "a", "a", "b"), "b"},
		{r.Enum("absent", "a", "a", "b"), "a"},
		{r.TextFunc("text", refuse("x")), "t"},
		{r.TextFunc("absent", refuse("")), ""},
		{r.Texts("list", nil), []string{"x", "y"}},
		{r.Texts("none", nil), []string{}},
		{r.Texts("absent", nil), []string(nil)},
		{r.TextMap("env"), map[string]string{"A": "1"}},
		{r.TextMap("null"), map[string]string(nil)},
		{r.Maps("steps")[0].Text("name"), "s"},
		{r.Has("null"), false},
		{r.Map("null").Keys(), []string(nil)},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("got %#v, want %#v", c.got, c.want)
		}
	}
	if got := messages(r); got != nil {
		t.Errorf("findings: %q", got)
	}
}

func TestReaderFindings(t *testing.T) {
	mapping := map[string]any{}
	for want, read := range map[string]func(r *Reader){
		"v must be a string, not a mapping":                     func(r *Reader) { r.Text("v") },
		"v must be true or false, not a mapping":                func(r *Reader) { r.Bool("v", false) },
		"v must be a whole number from 1 to 3, not a mapping":   func(r *Reader) { r.Int("v", 1, 1, 3) },
		"n must be a whole number from 1 to 3, not 4":           func(r *Reader) { r.Int("n", 1, 1, 3) },
		"n must be a whole number of at least 5, not 4":         func(r *Reader) { r.Int("n", 5, 5, math.MaxInt64) },
		"zero must be a whole number from 1 to 3, not 0":        func(r *Reader) { r.Int("zero", 0, 1, 3) },
		"n must be whole seconds from 1 to 3, not 4":            func(r *Reader) { r.Seconds("n", time.Second, time.Second, 3*time.Second) },
		"n must be a number from 0 to 1, not 4":                 func(r *Reader) { r.Number("n", 0, 0, 1) },
		"v must be a number of at least 0, not a mapping":       func(r *Reader) { r.Number("v", 0, 0, math.Inf(1)) },
		"nan must be a number, not NaN":                         func(r *Reader) { r.Number("nan", 0, math.Inf(-1), math.Inf(1)) },
		"v must be a, b or c, not a mapping":                    func(r *Reader) { r.Enum("v", "a", "a", "b", "c") },
		`s must be a, b or c, not "d"`:                          func(r *Reader) { r.Enum("s", "a", "a", "b", "c") },
		"s must be a list of strings, not a string":             func(r *Reader) { r.Texts("s", nil) },
		"l[0] must be a string, not null":                       func(r *Reader) { r.Texts("l", nil) },
		"strings[1]: odd":                                       func(r *Reader) { r.Texts("strings", refuse("b")) },
		"s: odd":                                                func(r *Reader) { r.TextFunc("s", refuse("d")) },
		"n must be a string, not a number":                      func(r *Reader) { r.TextFunc("n", refuse("")) },
		"s must be a mapping, not a string":                     func(r *Reader) { r.Map("s").Require("x") },
		"s must be a list of mappings, not a string":            func(r *Reader) { r.Maps("s") },
		"l[0] must be a mapping, not null":                      func(r *Reader) { r.Maps("l") },
		`m["a.b"].c must be a string, not a number`:             func(r *Reader) { r.Map("m").Map("a.b").Text("c") },
		"null must be a string, not null":                       func(r *Reader) { r.Text("null") },
		"absent is missing":                                     func(r *Reader) { r.Require("absent") },
		"null is missing":                                       func(r *Reader) { r.Require("null") },
		"absent.x is missing":                                   func(r *Reader) { r.Map("absent").Require("x") },
		"empty is empty":                                        func(r *Reader) { r.Require("empty") },
		"m: cause":                                              func(r *Reader) { r.RejectErr("m", errors.New("cause")) },
		`[""]: cause`:                                           func(r *Reader) { r.RejectErr("", errors.New("cause")) },
		`unknown field "m[\"a.b\"]": the fields here are other`: func(r *Reader) { r.Map("m").Only("other") },
	} {
		r := readerOf(map[string]any{
			"v": mapping, "n": int64(4), "zero": int64(0), "nan": math.NaN(), "s": "d", "l": []any{nil}, "strings": []any{"a", "b"}, "null": nil, "empty": "",
			"m": map[string]any{"a.b": map[string]any{"c": int64(1)}},
		})
		read(r)
		if got := messages(r); !slices.Equal(got, []string{want}) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func refuse(bad string) func(string) error {
	return func(s string) error {
		if s == bad {
			return errors.New("odd")
		}
		return nil
	}
}

func TestReaderKeepsTheIntactEntries(t *testing.T) {
	r := readerOf(map[string]any{"l": []any{"a", int64(1), "b", "c"}})
	if got := r.Texts("l", refuse("b")); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("got %q", got)
	}
}

func TestReaderPositionsAndCodes(t *testing.T) {
	r := NewReader(&Doc{
		Root: map[string]any{"a": map[string]any{"b": int64(1)}, "z": true},
		Pos:  map[string]diag.Position{"z": {Line: 2, Column: 1}, "a": {Line: 4, Column: 1}, "a.b": {Line: 5, Column: 3}},
	}, diag.ConfigError)
	r.Map("a").Text("b")
	r.RejectErr("z", diag.New(diag.Scope, "cause"))
	r.Require("absent")
	want := []diag.Finding{
		diag.Errorf(diag.ConfigError, 1, 0, "absent is missing"),
		diag.Errorf(diag.Scope, 2, 1, "z: cause"),
		diag.Errorf(diag.ConfigError, 5, 3, "a.b must be a string, not a number"),
	}
	if got := r.Findings(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestOnlyNamesTheNearestField(t *testing.T) {
	r := readerOf(map[string]any{"vresion": "1"})
	r.Only("version", "name")
	f := r.Findings()[0]
	if f.Message != `unknown field "vresion"` || f.Reason != "nearest" || f.Facts["nearest"] != "version" {
		t.Errorf("got %+v", f)
	}
}

func TestParameters(t *testing.T) {
	r := NewParameters(map[string]any{"null": nil, "whole": 5.0, "big": 1e300, "nmae": true})
	r.Only("null", "whole", "big", "name")
	r.Require("null")
	if r.Text("null") != "" || r.Int("whole", 0, 0, 9) != 5 || r.Int("big", 1, 0, 9) != 1 {
		t.Error("a value differs")
	}
	want := []diag.Finding{
		diag.Errorf(diag.UnknownParameter, 0, 0, `unknown field "nmae": the fields here are null, whole, big, name`).WithReason("nearest"),
		diag.Errorf(diag.ValidationFailed, 0, 0, "big must be a whole number from 0 to 9, not 1e+300"),
		diag.Errorf(diag.ValidationFailed, 0, 0, "null is missing"),
	}
	if got := r.Findings(); !slices.EqualFunc(got, want, diag.Finding.Equal) {
		t.Errorf("got %v", got)
	}
}

func TestOnlyBoundsItsFindings(t *testing.T) {
	root := map[string]any{}
	for i := range 30 {
		root[strings.Repeat("x", i+1)] = true
	}
	r := readerOf(root)
	r.Only("name")
	got := messages(r)
	if len(got) != maxUnknown+1 || !slices.Contains(got, "and 10 more unknown fields") {
		t.Errorf("got %q", got)
	}
}
