package yamlx

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

const outlined = `# head
a: plain # note
b: "dou\"ble"
'c': 'it''s'
d: [x, "y", {z: 1}]  # list
e:
  - one two   # n
  - three
    four
f: |
  text

  more

g:
h: {}
ü: ä
i: >-
   folded
   on
j: [ # open
  a, # with ] in it
  'b # c',
]
k: {l: , m}
`

// TestOutline cuts every value out of the text.
func TestOutline(t *testing.T) {
	n, fs := Outline([]byte(outlined))
	if n == nil {
		t.Fatal(fs)
	}
	cut := func(n *Node) string { return outlined[n.Start:n.End] }
	want := map[string]string{"a": "plain", "b": `"dou\"ble"`, "c": "'it''s'", "d": `[x, "y", {z: 1}]`,
		"f": "|\n  text\n\n  more", "g": "", "h": "{}", "ü": "ä", "i": ">-\n   folded\n   on", "k": "{l: , m}"}
	for key, text := range want {
		e := n.Find(key)
		if e == nil {
			t.Errorf("no %s", key)
			continue
		}
		if got := cut(e.Value); got != text {
			t.Errorf("%s: %q, want %q", key, got, text)
		}
	}
	if got := cut(n.Find("c").Key); got != "'c'" {
		t.Errorf("key c: %q", got)
	}
	e := n.Find("e").Value
	if len(e.Items) != 2 || cut(e.Items[0]) != "one two" || cut(e.Items[1]) != "three\n    four" || e.Flow {
		t.Errorf("e: %q", cut(e))
	}
	j := n.Find("j").Value
	if !j.Flow || len(j.Items) != 2 || cut(j.Items[1]) != "'b # c'" || !strings.HasSuffix(cut(j), "',\n]") {
		t.Errorf("j: %q", cut(j))
	}
	if g := n.Find("g").Value; outlined[g.Start-2:g.Start] != "g:" {
		t.Errorf("g is behind %q", outlined[:g.Start])
	}
	if bad, fs := Outline([]byte("a: &x 1\n")); bad != nil || !diag.Failed(fs) {
		t.Error("an anchor has an outline")
	}
}

func TestScalar(t *testing.T) {
	for _, tc := range []struct {
		s     string
		quote byte
		want  string
	}{
		{"v1.2.3", 0, "v1.2.3"},
		{"v1.2.3", '"', `"v1.2.3"`},
		{"v1.2.3", '\'', `'v1.2.3'`},
		{"3e10", 0, `"3e10"`},
		{"3e10", '\'', `'3e10'`},
		{"it's", '\'', `"it's"`},
		{"a: b", 0, `"a: b"`},
		{"a\"b", '\'', `"a\"b"`},
		{"true", 0, `"true"`},
		{"", 0, `""`},
		{"", '\'', `''`},
		{"*", '|', `"*"`},
	} {
		got := Scalar(tc.s, tc.quote)
		if got != tc.want {
			t.Errorf("%q in %q: %s, want %s", tc.s, tc.quote, got, tc.want)
		}
		doc, fs := Parse([]byte("k: " + got + "\n"))
		if doc == nil || doc.Root["k"] != tc.s || len(fs) > 0 {
			t.Errorf("%s reads back as %v %v", got, doc, fs)
		}
	}
}

// FuzzOutline checks that offsets are in the text and in order, and that the
// text at the offsets of a scalar on one line parses to the value of the scalar.
func FuzzOutline(f *testing.F) {
	f.Add([]byte(outlined))
	f.Add([]byte("{a: [b, {c: 'd'}], \"e\": }"))
	f.Add([]byte("a:\r\n  b: c\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, fs := Outline(b)
		if (n == nil) != diag.Failed(fs) {
			t.Fatal("a node and an error, or neither")
		}
		if n != nil {
			within(t, b, n)
		}
	})
}

func within(t *testing.T, b []byte, n *Node) {
	if n.Start < 0 || n.End < n.Start || n.End > len(b) {
		t.Fatalf("a %d from %d to %d of %d", n.Kind, n.Start, n.End, len(b))
	}
	for _, e := range n.Entries {
		within(t, b, e.Key)
		within(t, b, e.Value)
	}
	for _, c := range n.Items {
		within(t, b, c)
	}
}
