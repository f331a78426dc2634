package git

import (
	"bytes"
	"io"
	"strings"
	"testing"
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

// FuzzAdvert reads lists of refs and the lines before a pack.
func FuzzAdvert(f *testing.F) {
	oid := strings.Repeat("ab", 20)
	head := pktLine("# service=git-upload-pack\n") + "0000"
	for _, s := range []string{
		head + pktLine(oid+" HEAD\x00shallow filter\n") + pktLine(oid+" refs/tags/v1\n") + pktLine(oid+" refs/tags/v1^{}\n") + "0000",
		head + pktLine("ERR no\n"), head + "0004", head + "ffff", "zzzz", "0000",
		pktLine("shallow "+oid+"\n") + "0000" + pktLine("NAK\n") + pktLine("\x02progress") + pktLine("\x01PACK") + "0000",
		pktLine("NAK\n") + pktLine("\x03error"),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if a, err := readAdvert(bytes.NewReader(data)); err == nil {
			n := 0
			for _, r := range a.refs.List {
				if !carriedRef(r.Name) || !isOID(r.OID) || !isOID(r.Commit) {
					t.Errorf("ref %+v", r)
				}
				n += len(r.Name) + len(r.OID)
			}
			if n > len(data) {
				t.Errorf("refs of %d bytes out of %d", n, len(data))
			}
		}
		for _, depth := range []Depth{Tip, All} {
			l := newLines(bytes.NewReader(data))
			if beforePack(l, Want{Depth: depth}) != nil {
				continue
			}
			if pack, _ := io.ReadAll(newDemux(l)); len(pack) > len(data) {
				t.Errorf("%d bytes of a pack out of %d", len(pack), len(data))
			}
		}
	})
}
