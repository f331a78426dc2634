package git

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/packages/source"
)

// FuzzParse reads what a hostile remote can send. Nothing may be taken that is
// not written as it was understood.
func FuzzParse(f *testing.F) {
	oid := strings.Repeat("ab", 20)
	for _, s := range []string{"", "tree " + oid + "\nparent " + oid + "\ncommitter A <a> 1700000000 +0000\n\nx", "object " + oid + "\ntype commit\ntag v1\n\n",
		"100644 a\x00" + strings.Repeat("x", 20), "40000 ..\x00" + strings.Repeat("x", 20), "100644 a\x00short", "99999999999 a\x00" + strings.Repeat("x", 20),
		oid + "\tHEAD\n" + oid + "\trefs/tags/v1\n" + oid + "\trefs/tags/v1^{}\n", "ref: refs/heads/main\tHEAD\n", "committer > -1", "tree x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := parseCommit(oid, data); err == nil && (!isOID(c.tree) || c.time.Year() < 1970 && !c.time.IsZero() || c.time.Year() > 9999) {
			t.Errorf("commit %+v", c)
		}
		if target, _, err := parseTag(oid, data); err == nil && !isOID(target) {
			t.Errorf("tag of %q", target)
		}
		n := 0
		_ = eachEntry(oid, data, func(e entry) error {
			if e.name == "" || strings.ContainsAny(e.name, "/\x00") || !isOID(e.oid) {
				t.Errorf("entry %+v", e)
			}
			n += len(e.name) + 21
			return nil
		})
		if n > len(data) {
			t.Errorf("entries of %d bytes out of %d", n, len(data))
		}
		refs := &Refs{}
		for line := range strings.Lines(string(data)) {
			_ = (&cli{url: "u"}).oneRef(refs, strings.TrimSuffix(line, "\n"))
		}
		for _, r := range refs.List {
			if !carriedRef(r.Name) || !isOID(r.OID) || !isOID(r.Commit) {
				t.Errorf("ref %+v", r)
			}
		}
	})
}

// FuzzFrames reads the output of a child. Nothing may be taken that the parent did not check.
func FuzzFrames(f *testing.F) {
	oid := strings.Repeat("ab", 20)
	var b bytes.Buffer
	w := frames{bufio.NewWriter(&b)}
	all := []error{
		w.commit(oid, time.Unix(1700000000, 0)),
		w.tree(oid),
		w.list([]file{{".ai/tools/x", 0o100644, oid}}),
		w.blob(0, []byte("x")),
		w.send(frameEnd),
		w.w.Flush(),
	}
	if err := errors.Join(all...); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("x\x00\x00\x00\x02{}"))
	f.Add([]byte("b\xff\xff\xff\xff"))
	keep, flush := records(func(b []byte) error { f.Add(b); return nil })
	if err := errors.Join(keep(strings.Repeat("a", 20), 1, []int32{0}), flush()); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := &recorded{}
		u := &unframe{to: got}
		if err := readFrames(bytes.NewReader(data), u.each); err == nil && u.next == u.blobs && got.blobs != len(got.files) {
			t.Errorf("%d files of %d", got.blobs, len(got.files))
		}
		for _, x := range got.files {
			if !isOID(x.oid) || source.CheckPath(x.path) != nil {
				t.Errorf("file %+v", x)
			}
		}
		h := newHistory()
		if h.decode(data) == nil && h.whole() == nil && len(h.names) > 0 {
			h.ancestors(hex.EncodeToString([]byte(h.names[0])))
		}
	})
}

// recorded is a receiver that keeps the files and the number of blobs.
type recorded struct {
	files []file
	blobs int
}

func (r *recorded) commit(string, time.Time) error { return nil }
func (r *recorded) tree(string) error              { return nil }
func (r *recorded) list(files []file) error        { r.files = files; return nil }
func (r *recorded) blob(int, []byte) error         { r.blobs++; return nil }
