package extract

import (
	"testing"

	"github.com/ryeos/rye/item"
)

// escaped are ways to write a key so that its text is not in the file.
func escaped() []string {
	return []string{
		"permissions: [a]", "\"permi\\u0073sions\": [a]", "\"permi\\x73sions\": [a]", "? \"permis\\\n  sions\"\n: [a]", "!!binary cGVybWlzc2lvbnM=: [a]",
		"? |-\n  permissions\n: [a]", "{\"permi\\u0073sions\": [\"a\"]}", "{\"permissions\":[\"a\"]}", "\"permi\\u0073sions\" = [\"a\"]", "permissions = ['a']",
		"permis\\u0073ions = ['a']", "('permis' 'sions') = ['a']", "# permissions: [a]", "# \"permi\\u0073sions\": [a]", "&a permissions: [b]\n*a : [c]",
		"```xml\n<directive name=\"a\" version=\"1.0.0\"><metadata><permissions><execute><tool>a</tool></execute></permissions></metadata></directive>\n```",
		"```xml\n<directive name=\"a\" version=\"1.0.0\"><metadata><permi&#115;sions><execute><tool>a</tool></execute></permi&#115;sions></metadata></directive>\n```",
		"---\n\"permi\\u0073sions\": [a]\n---\n", "const permissions = ['a']", "const permi\\u0073sions = ['a']", "needs: [a]", "\"n\\u0065eds\": [a]",
		"ｐermissions = ['a']", "permi\\\nssions = ['a']", "permi\\u{73}sions = ['a']", "# permi\\x73sions: [a]", "// permi\\u0073sions: [a]", "/* @permi\\u0073sions a */", "PERMISSIONS: [a]", "<<: {permissions: [a]}",
	}
}

// checkMayHold demands that what Read finds was seen coming.
func checkMayHold(t *testing.T, src []byte) {
	ext := []*Extractor{{Kind: item.Tool}, {Kind: item.Directive, Rules: []Rule{{Field: "permissions", From: []string{"permissions", "needs"}}}}}
	for _, e := range append(ext, Boot().All()...) {
		for _, codec := range Codecs() {
			ft := FileType{Ext: ".x", Codec: codec}
			m, _ := e.Read(ft, src)
			if _, held := m.Fields["permissions"]; held && !e.MayHold(ft, "permissions", src) {
				t.Errorf("%s as %s has permissions that MayHold misses: %q", codec, e.Kind, src)
			}
		}
	}
}

func TestMayHold(t *testing.T) {
	for _, src := range escaped() {
		checkMayHold(t, []byte(src))
	}
	e := &Extractor{Rules: []Rule{{Field: "permissions", From: []string{"needs"}}}}
	for src, want := range map[string]bool{"a: 1": false, "needs: [x]": true, "permissions: []": true, `a: "\x61"`: true, "": false} {
		if got := e.MayHold(FileType{Codec: CodecYAML}, "permissions", []byte(src)); got != want {
			t.Errorf("%q: %t", src, got)
		}
	}
	if e.MayHold(FileType{Codec: CodecPython}, "permissions", []byte(`print("a\n")`)) {
		t.Error("an escape in a program counts")
	}
}

// However a file is written, a field that is read is one that MayHold expects.
func FuzzMayHold(f *testing.F) {
	for _, src := range escaped() {
		f.Add([]byte(src))
	}
	f.Fuzz(checkMayHold)
}
