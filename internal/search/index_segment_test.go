package search

import (
	"testing"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

func bootFields() *fields { return newFields(extract.Boot()) }

// sample is a small segment of every kind of word.
func sample(f *fields) []byte {
	b := newBuilder(f)
	for i, text := range []string{"alpha beta gamma", "beta beta", "delta ünïcode 42", ""} {
		d := f.blank(item.Ref{Kind: f.kinds[i%len(f.kinds)], ID: "a/b_" + text[:min(1, len(text))]}, "tools/a/b.yaml")
		d.signer = string(make([]byte, 32))
		d.fields[0].text(text)
		d.fields[len(d.fields)-1].text(text + " " + text)
		b.add(d)
	}
	return b.bytes()
}

// ask runs every form of query over a segment.
func ask(f *fields, s *segment) {
	v := newView(f, []*space.Root{space.NewDir(space.Project, "", "/x", false)}, []part{{seg: s, live: allBits(s.docs)}})
	for _, form := range []form{term, phrase, near, wildcard, fuzzy, exists} {
		for _, m := range v.find(&leaf{form: form, field: -1 + int(form/exists), words: []string{"beta", "gamma"}, n: 1}).list {
			v.location(m.doc)
		}
		v.find(&leaf{form: form, field: 0, words: []string{"*a*", "*a*"}, n: 2})
	}
	v.find(filter{"type", "tool"})
	v.find(filter{"signed-by", "0000"})
	v.near("betta", 2, func(string, int, int) {})
	v.copies(0)
	if _, _, ok := merge(f, []*segment{s, s}, [][]uint64{allBits(s.docs), newBits(s.docs)}); !ok && !s.broken.Load() {
		panic("a merge fails and nothing is broken")
	}
}

func TestSegment(t *testing.T) {
	t.Parallel()
	f := bootFields()
	data := sample(f)
	s, ok := openSegment(string(data), f)
	if !ok || s.docs != 4 {
		t.Fatal("a segment that was just written")
	}
	ask(f, s)
	if s.broken.Load() {
		t.Error("a sound segment is broken")
	}
	if p := s.location(2); p.ref.ID != "a/b_d" || p.rel != "tools/a/b.yaml" || len(p.signer) != 32 || p.ref.Kind != f.kinds[2] {
		t.Errorf("%+v", p)
	}
	var terms []string
	s.each("", func(e entry) { terms = append(terms, e.term) })
	for i := range terms {
		if e, ok := s.find(terms[i]); !ok || e.docs == 0 || i > 0 && terms[i-1] >= terms[i] {
			t.Errorf("term %q", terms[i])
		}
	}
	for n := range data {
		if _, ok := openSegment(string(data[:n]), f); ok {
			t.Fatalf("cut to %d of %d bytes it opens", n, len(data))
		}
	}
	for i := range data {
		data[i] ^= 1
		if _, ok := openSegment(string(data), f); ok {
			t.Fatalf("changed at %d it opens", i)
		}
		data[i] ^= 1
	}
}

// sealed gives changed bytes a checksum that holds.
func sealed(data []byte) []byte {
	if len(data) > frameSize {
		seal(data)
	}
	return data
}

// Every single byte of a segment set to something else, with a checksum that
// holds, neither crashes nor hangs.
func TestSegmentBytes(t *testing.T) {
	t.Parallel()
	f := bootFields()
	data := sample(f)
	for i := frameSize; i < len(data); i++ {
		for _, x := range []byte{0, 1, 0x7f, 0x80, 0xff, data[i] + 1, data[i] - 1} {
			c := append([]byte(nil), data...)
			c[i] = x
			if s, ok := openSegment(string(sealed(c)), f); ok {
				ask(f, s)
			}
		}
	}
}

func FuzzSegment(fz *testing.F) {
	f := bootFields()
	data := sample(f)
	fz.Add(0, []byte{})
	fz.Add(40, []byte{0xff, 0xff, 0xff, 0xff, 0xff})
	fz.Add(len(data)-9, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80})
	fz.Fuzz(func(t *testing.T, at int, with []byte) {
		c := append([]byte(nil), data...)
		if at >= 0 && at < len(c) {
			copy(c[at:], with)
		} else {
			c = append(c, with...)
		}
		copy(c, segmentMagic)
		if s, ok := openSegment(string(sealed(c)), f); ok {
			ask(f, s)
		}
	})
}

func FuzzState(fz *testing.F) {
	f := bootFields()
	s, _ := openSegment(string(sample(f)), f)
	h := &rootIndex{segs: []*segment{s}, records: []record{{rel: "a", doc: 3}, {rel: "b", doc: none, stale: true}}}
	whole := encodeState(h, []string{"x"})
	for _, b := range [][]byte{whole, whole[:20], []byte(stateMagic), {}} {
		fz.Add(b)
	}
	fz.Fuzz(func(t *testing.T, data []byte) {
		copy(data, stateMagic)
		open := func(string) (*segment, bool) { return s, true }
		got, ok := decodeState(string(sealed(data)), open)
		if !ok {
			return
		}
		got.live()
		if again, ok := decodeState(string(encodeState(got, make([]string, len(got.segs)))), open); !ok || len(again.records) != len(got.records) {
			t.Fatal("what was read cannot be written and read again")
		}
	})
}
