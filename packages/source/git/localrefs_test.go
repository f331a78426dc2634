package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testing/sourcetest"
)

// Loose refs take precedence over packed ones. Symbolic refs and refs that are not
// branches or tags are skipped.
func TestReadLocalRefs(t *testing.T) {
	a, b, c, d := strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40), strings.Repeat("d", 40)
	base := map[string]string{
		"HEAD": "ref: refs/heads/main\n", "refs/heads/main": a + "\n", "refs/heads/deep/er": b, "refs/heads/alias": "ref: refs/heads/main\n",
		"refs/tags/v1.1.0": c + "\n", "refs/heads/main.lock": "half", "refs/pull/1/head": d,
		"packed-refs": "# pack-refs with: peeled fully-peeled sorted \n" + b + " refs/heads/main\n" + b + " refs/heads/old\n" + b + " refs/heads/alias\n" + d + " refs/pull/2/head\n^" + c + "\n" + c + " refs/tags/v1.0.0\n^" + d + "\n" + c + " refs/tags/v1.1.0\n^" + a + "\n",
	}
	for name, tc := range map[string]struct {
		change map[string]string
		want   string
		bad    bool
	}{
		"all":            {nil, "head a; deep/er b, main a, old b, v1.0.0 c d, v1.1.0 c", false},
		"detached":       {map[string]string{"HEAD": d + "\n"}, "head d; deep/er b, main a, old b, v1.0.0 c d, v1.1.0 c", false},
		"unborn":         {map[string]string{"HEAD": "ref: refs/heads/none\n"}, "head ; deep/er b, main a, old b, v1.0.0 c d, v1.1.0 c", false},
		"nothing packed": {map[string]string{"packed-refs": ""}, "head a; deep/er b, main a, v1.1.0 c", false},
		"line ends":      {map[string]string{"packed-refs": b + " refs/heads/old\r\n"}, "head a; deep/er b, main a, old b, v1.1.0 c", false},
		"a broken ref":   {map[string]string{"refs/heads/main": "half"}, "", true},
		"an empty ref":   {map[string]string{"refs/tags/v1.1.0": "\n"}, "", true},
		"a broken HEAD":  {map[string]string{"HEAD": "half"}, "", true},
		"a broken line":  {map[string]string{"packed-refs": "nonsense\n"}, "", true},
		"a short name":   {map[string]string{"packed-refs": a[:39] + " refs/heads/x\n"}, "", true},
	} {
		dir := t.TempDir()
		for _, files := range []map[string]string{base, tc.change} {
			for rel, text := range files {
				p := filepath.Join(dir, filepath.FromSlash(rel))
				if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
		}
		l, err := readLocalRefs(dir)
		if tc.bad {
			if !errors.Is(err, errUnsupported) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := summary(l); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// summary renders refs with the first letter of each object.
func summary(l *localRefs) string {
	first := func(oid string) string { return oid[:min(1, len(oid))] }
	refs := &Refs{}
	for name, r := range l.refs {
		refs.List = append(refs.List, Ref{Name: name, OID: strings.TrimRight(first(r.oid)+" "+first(r.peeled), " ")})
	}
	refs.sort()
	var out []string
	for _, r := range refs.List {
		name := strings.TrimPrefix(strings.TrimPrefix(r.Name, "refs/heads/"), "refs/tags/")
		out = append(out, name+" "+r.OID)
	}
	return "head " + first(l.head) + "; " + strings.Join(out, ", ")
}

// Files of a repository that are too large, or that would block, are refused.
func TestHostileLocalRefs(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many git processes")
	}
	b := newBench(t, way{"go, a folder", BuiltIn, false})
	b.repo.Light("v1.0.0", b.repo.Commit(sourcetest.Bundle("1")...))
	packed := filepath.Join(b.repo.Dir, "packed-refs")
	if err := os.WriteFile(packed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(packed, maxAdvert+1); err != nil {
		t.Fatal(err)
	}
	_, err := b.source().Versions(t.Context(), b.id)
	want(t, err, diag.LimitExceeded, b.url, "packed-refs")
	os.Remove(packed)
	os.Mkdir(packed, 0o700)
	_, err = b.source().Versions(t.Context(), b.id)
	if code := diag.CodeOf(err); code != diag.NotRegular && code != diag.Network {
		t.Errorf("a directory: %.200v (%s)", err, code)
	}
	os.Remove(packed)
	if err := os.WriteFile(packed, []byte(strings.Repeat("x", 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = b.source().Versions(t.Context(), b.id); err == nil || len(err.Error()) > 1000 {
		t.Errorf("a long line: an error of %d bytes", len(err.Error()))
	}
}
