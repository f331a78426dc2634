package item

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestCheckID(t *testing.T) {
	for _, id := range []string{"a", "A/b/c", "rye/bash/bash", "_x", "0", "a-b_c", strings.Repeat("a", MaxID)} {
		if err := CheckID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for id, part := range map[string]string{
		"": "empty", "con": "a device on Windows", "demo/NUL": "a device on Windows", "aux/x": "a device on Windows", "a/com1": "a device on Windows", "/a": "empty segment", "a/": "empty segment", "a//b": "empty segment", "a/../b": "contains", "..": "contains", ".": "contains",
		"a.b": "contains", "-a": "contains", "a/-b": "contains", "a b": "contains", `a\b`: "contains", "a:b": "contains", "a\x00": "contains", "ä": `contains "ä"`,
		"a\u202eb": "contains", "a*": "contains", "a\n": "contains", "a@1": "contains", strings.Repeat("a", MaxID+1): "at most 255",
	} {
		err := CheckID(id)
		if diag.CodeOf(err) != diag.Usage || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v, want USAGE with %q", id, err, part)
		}
	}
}

func TestParseRef(t *testing.T) {
	for _, c := range []struct {
		in   string
		def  Kind
		want Ref
	}{
		{"tool:a/b", "", Ref{Tool, "a/b"}},
		{"a/b", Directive, Ref{Directive, "a/b"}},
		{"skill:pdf", Tool, Ref{"skill", "pdf"}},
	} {
		got, err := ParseRef(c.in, c.def)
		if err != nil || got != c.want {
			t.Errorf("ParseRef(%q, %q) = %v, %v", c.in, c.def, got, err)
		}
	}
	for _, in := range []string{"", "a", ":a", "tool:", "Tool:a", "to ol:a", "tool:a:b", "tool:../a", "1tool:a", "-:a", "tool:a.py", strings.Repeat("k", 65) + ":a", "tööl:a"} {
		if r, err := ParseRef(in, ""); diag.CodeOf(err) != diag.Usage || !r.IsZero() {
			t.Errorf("ParseRef(%q) = %v, %v, want USAGE and nothing", in, r, err)
		}
	}
}

func TestRefParts(t *testing.T) {
	for _, c := range []struct{ id, name, category, dotted string }{
		{"a", "a", "", "a"}, {"a/b", "b", "a", "a.b"}, {"a/b/c", "c", "a/b", "a.b.c"},
	} {
		r := Ref{Tool, c.id}
		if r.Name() != c.name || r.Category() != c.category || r.Dotted() != c.dotted || r.String() != "tool:"+c.id {
			t.Errorf("%v: %q %q %q", r, r.Name(), r.Category(), r.Dotted())
		}
	}
}

// An accepted id cannot leave a folder, and a capability cannot read it as
// another one.
func FuzzRef(f *testing.F) {
	for _, s := range []string{"tool:a/b", "a", "tool:../x", "tool:a//b", "tool:a.b", "tool:-", ":", "tool:a\x00b", "tool:ａ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRef(s, Tool)
		if err != nil {
			if diag.CodeOf(err) != diag.Usage || !r.IsZero() {
				t.Fatalf("%q: %v, %v", s, r, err)
			}
			return
		}
		if again, err := ParseRef(r.String(), ""); err != nil || again != r {
			t.Fatalf("%q: %v does not survive a round trip: %v, %v", s, r, again, err)
		}
		if strings.ContainsAny(r.ID, ".\\:\x00") || path.Clean(r.ID) != r.ID || path.IsAbs(r.ID) || len(r.ID) > MaxID {
			t.Fatalf("%q: id %q", s, r.ID)
		}
		if strings.ReplaceAll(r.Dotted(), ".", "/") != r.ID {
			t.Fatalf("%q: dotted %q", r.ID, r.Dotted())
		}
	})
}

func TestDigest(t *testing.T) {
	d := DigestOf([]byte("hello"))
	const want = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	if d.String() != want {
		t.Fatalf("digest %s", d)
	}
	b, err := json.Marshal(map[string]Digest{"d": d})
	var back map[string]Digest
	if err != nil || json.Unmarshal(b, &back) != nil || back["d"] != d {
		t.Fatalf("%s, %v", b, err)
	}
	for _, bad := range []string{"", want[7:], strings.ToUpper(want), want + "0", want[:len(want)-1], "sha512:" + want[7:], strings.Replace(want, "2", "g", 1), " " + want} {
		if _, err := ParseDigest(bad); diag.CodeOf(err) != diag.ParsingError {
			t.Errorf("ParseDigest(%q): %v", bad, err)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	for _, v := range []string{"0.0.0", "1.2.3", "1.2.3-rc.1", "1.2.3+build.5", "1.2.3-a-b+c-d", "10.20.30"} {
		if err := CheckVersion(v); err != nil {
			t.Errorf("%q: %v", v, err)
		}
	}
	for _, v := range []string{"", "1", "1.2", "v1.2.3", "01.2.3", "1.2.3.4", "1.2.x", "1.2.3-", "1.2.3-01", "latest", " 1.2.3", "1.2.3\n", "1.2-3.4"} {
		if err := CheckVersion(v); diag.CodeOf(err) != diag.VersionMismatch {
			t.Errorf("%q passes: %v", v, err)
		}
	}
}

func TestCompareVersions(t *testing.T) {
	order := []string{"0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.10.0", "2.0.0"}
	for i, a := range order {
		for j, b := range order {
			if got, want := CompareVersions(a, b), sign(i-j); got != want {
				t.Errorf("%s against %s: %d, want %d", a, b, got, want)
			}
		}
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func TestFromFields(t *testing.T) {
	read := func(f map[string]any) *Metadata {
		m := &Metadata{Fields: f}
		m.FromFields()
		return m
	}
	for _, c := range []struct {
		fields    map[string]any
		primitive bool
		has       bool
	}{
		{map[string]any{}, false, false},
		{map[string]any{"executor_id": nil}, true, true},
		{map[string]any{"executor_id": "rye/x"}, false, true},
		{map[string]any{"executor_id": int64(5)}, false, false}, // no primitive by mistake
		{map[string]any{"executor_id": []any{}}, false, false},
	} {
		if m := read(c.fields); m.Primitive() != c.primitive || m.HasExecutor != c.has {
			t.Errorf("%v: primitive %v, has %v", c.fields, m.Primitive(), m.HasExecutor)
		}
	}
	m := read(map[string]any{
		"name": "n", "version": 1.5, "tags": []any{"a", int64(1), "b"}, "permissions": "one",
		"config_schema": []any{}, "config": map[string]any{"k": "v"},
		"inputs": []any{"odd", map[string]any{"name": "x", "required": true, "default": "d"}, map[string]any{"name": "y", "type": "integer"}},
	})
	if m.Name != "n" || m.Version != "" || m.Schema != nil || m.Config["k"] != "v" {
		t.Errorf("typed fields: %+v", m)
	}
	if strings.Join(m.Tags, ",") != "a,b" || strings.Join(m.Permissions, ",") != "one" {
		t.Errorf("lists: %q %q", m.Tags, m.Permissions)
	}
	if len(m.Inputs) != 2 || m.Inputs[0] != (Input{Name: "x", Type: "string", Required: true, HasDefault: true, Default: "d"}) || m.Inputs[1].Type != "integer" {
		t.Errorf("inputs: %+v", m.Inputs)
	}
}

func TestIsDecimal(t *testing.T) {
	for s, want := range map[string]bool{"0.05": true, "1": true, "-3.5": true, "": false, ".": false, "1.": false, ".5": false, "1e3": false, "NaN": false, "0x1": false, "1.2.3": false, "--1": false} {
		if IsDecimal(s) != want {
			t.Errorf("IsDecimal(%q) = %v", s, !want)
		}
	}
}
