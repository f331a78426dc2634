package git

import (
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
		if list, err := parseTree(oid, data); err == nil {
			n := 0
			for _, e := range list {
				if e.name == "" || strings.ContainsAny(e.name, "/\x00") || !isOID(e.oid) {
					t.Errorf("entry %+v", e)
				}
				n += len(e.name) + 21
			}
			if n > len(data) {
				t.Errorf("%d entries out of %d bytes", len(list), len(data))
			}
		}
		if refs, err := parseRefs("u", string(data)); err == nil {
			for _, r := range refs.List {
				if !carriedRef(r.Name) || !isOID(r.OID) || !isOID(r.Commit) {
					t.Errorf("ref %+v", r)
				}
			}
		}
	})
}
