package dx

import (
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// shape is what both readers can say about an element.
type shape struct {
	Tag   string
	Attrs map[string]string
	Items []any // string or *shape
}

func (s *shape) addText(t string) {
	if k := len(s.Items); k > 0 {
		if before, ok := s.Items[k-1].(string); ok {
			s.Items[k-1] = before + t
			return
		}
	}
	if t != "" {
		s.Items = append(s.Items, t)
	}
}

func shapeOf(n *node) *shape {
	s := &shape{Tag: n.tag, Attrs: map[string]string{}}
	for _, a := range n.attrs {
		s.Attrs[a.name] = a.value
	}
	for _, c := range n.children {
		if c.tag == "" {
			s.addText(c.text)
		} else {
			s.Items = append(s.Items, shapeOf(c))
		}
	}
	return s
}

// standard reads src with encoding/xml.
func standard(src string) (*shape, error) {
	dec := xml.NewDecoder(strings.NewReader(src))
	stack := []*shape{{Attrs: map[string]string{}}}
	for {
		tok, err := dec.RawToken()
		if errors.Is(err, io.EOF) {
			if len(stack) != 1 {
				return nil, io.ErrUnexpectedEOF
			}
			return stack[0], nil
		}
		if err != nil {
			return nil, err
		}
		top := stack[len(stack)-1]
		switch tok := tok.(type) {
		case xml.StartElement:
			s := &shape{Tag: join2(tok.Name), Attrs: map[string]string{}}
			for _, a := range tok.Attr {
				if _, twice := s.Attrs[join2(a.Name)]; twice {
					return nil, errors.New("attribute given twice")
				}
				s.Attrs[join2(a.Name)] = a.Value
			}
			top.Items = append(top.Items, s)
			stack = append(stack, s)
		case xml.EndElement:
			if join2(tok.Name) != top.Tag || len(stack) == 1 {
				return nil, errors.New("wrong end tag")
			}
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.addText(string(tok))
		case xml.ProcInst, xml.Directive:
			return nil, errors.New("not an element")
		}
	}
}

func join2(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

// writer writes random well-formed documents.
type writer struct{ *rand.Rand }

func (w writer) pick(ss ...string) string { return ss[w.IntN(len(ss))] }

func (w writer) element(depth int) string {
	tag := w.pick("a", "b", "metadata", "step", "x-y", "n.s", "ns:tag", "é")
	var b strings.Builder
	b.WriteString("<" + tag)
	names := []string{"p", "q", "r-s"}
	for _, n := range names[:w.IntN(4)] {
		b.WriteString(w.pick(" ", "\n", "\t ", "\r\n") + n + w.pick("=", " = ") + w.pick(`"a"`, `'b "c"'`, `"&lt;&amp;&quot;"`, `"it's > 1"`, `''`, "\"x\r\ny\"", `"&#x1F600;&#65;"`))
	}
	b.WriteString(w.pick("", " ", "\n"))
	if w.IntN(4) == 0 {
		return b.String() + "/>"
	}
	b.WriteString(">")
	for range w.IntN(5) {
		if depth < 5 && w.IntN(2) == 0 {
			b.WriteString(w.element(depth + 1))
		} else {
			b.WriteString(w.pick("text", " ", "\n", "\r\n", "\r", "a &lt; b", "&amp;&gt;", "<!-- <c> & -->", "<![CDATA[<d> & ]] ]]>", "&#10;", "é€", "x > y", "'\"", "]]", "a;b"))
		}
	}
	return b.String() + "</" + tag + w.pick("", " ", "\n") + ">"
}

func TestWellFormedReadsAsInEncodingXML(t *testing.T) {
	for i := range 5000 {
		src := writer{rand.New(rand.NewPCG(uint64(i), 3))}.element(0)
		want, err := standard(src)
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		got, repairs, fault := read(src)
		if fault != nil || len(repairs) > 0 {
			t.Fatalf("%q: %v %v", src, repairs, fault)
		}
		if !reflect.DeepEqual(shapeOf(got), want) {
			t.Fatalf("%q:\ngot  %+v\nwant %+v", src, shapeOf(got), want)
		}
	}
}

// What was searched for in vain must not be searched for again: each of these
// is 128 KiB that a careless reader goes through many thousand times.
func TestWorkIsLinear(t *testing.T) {
	size := 1 << 17
	if testing.Short() {
		size = 1 << 13
	}
	for _, unit := range []string{"<", "&", "<!--", "<![CDATA[", "</", "</a", "<a", "<a ", "<a b", "<a b='", "<a b='<a ' ", `<a b='<a c="x' b='<`, "<a>", "<a></b>", "<b></a>",
		"<template>", "</template", "<a b='1' ", "<a><b></a>", "<String>", "&#", "&amp", "<?xml ", "<a b=\"<\" c=\"<\" ", "<a></a>", "<zzzzzzzzz/>", "<a a='&'/>"} {
		body := strings.Repeat(unit, size/len(unit))
		for _, src := range []string{body, "<directive><process>" + body + "</process></directive>", in(body), in("<context>"+body+"</context>") + "</a></b></String>'>"} {
			_, fs := Directive([]byte(src), 1)
			if len(fs) > 2*maxFindings {
				t.Errorf("%q: %d findings", unit, len(fs))
			}
		}
	}
}

func TestLongNamesKeepTheirAncestorsPlace(t *testing.T) {
	tag := strings.Repeat("k", 200_000)
	doc, _ := Directive([]byte(in("<context><"+tag+">"+strings.Repeat("<a/>", 19_000)+"</"+tag+"></context>")), 1)
	list := doc.Root["context"].(map[string]any)[tag].(map[string]any)["a"].([]any)
	if len(list) != 19_000 || len(doc.Pos) > 3 {
		t.Errorf("%d values, %d positions", len(list), len(doc.Pos))
	}
}

func FuzzDirective(f *testing.F) {
	for _, s := range []string{full, in("<permissions>*</permissions>"), "<directive><a><b></a></b><!-- <![CDATA[ </directive>", "<directive a='<' a=\"&#65;\"><raw></raw ></directive>",
		"<directive><inputs><input name='a' default='&amp;'>x</input></inputs><outputs><success>\r\n</success></outputs></directive>"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		doc, fs := Directive(src, 3)
		lines := strings.Split(string(src), "\n")
		positions := map[string]diag.Position{}
		for _, x := range fs {
			positions[x.Message] = diag.Position{Line: x.Line, Column: x.Column}
		}
		for path, p := range doc.Pos {
			positions[path] = p
		}
		for what, p := range positions {
			if n := p.Line - 3; n < 0 || n >= len(lines) || p.Column < 1 || p.Column > len(lines[n])+1 {
				t.Errorf("position of %q: %v", what, p)
			}
		}
		for key := range doc.Root {
			if doc.At(key) == (diag.Position{}) {
				t.Errorf("%q has no position", key)
			}
		}
		if again, _ := Directive(src, 3); !reflect.DeepEqual(doc, again) {
			t.Error("two readings differ")
		}
	})
}

// Whatever encoding/xml reads without complaint reads the same here, unless it
// is refused or holds opaque elements.
func FuzzAgreesWithEncodingXML(f *testing.F) {
	for i := range 20 {
		f.Add(writer{rand.New(rand.NewPCG(uint64(i), 3))}.element(0))
	}
	f.Fuzz(func(t *testing.T, src string) {
		want, err := standard(src)
		if err != nil || strings.Contains(src, "<template") || strings.Contains(src, "<example") || strings.Contains(src, "<raw") {
			return
		}
		got, repairs, fault := read(src)
		if fault == nil && len(repairs) == 0 && !reflect.DeepEqual(shapeOf(got), want) {
			t.Errorf("%q:\ngot  %+v\nwant %+v", src, shapeOf(got), want)
		}
	})
}
