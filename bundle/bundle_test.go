package bundle

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

var now = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

type testKey struct{ ed25519.PrivateKey }

func newKey(b byte) testKey {
	return testKey{ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(b), 32)))}
}

func (k testKey) Public() ed25519.PublicKey { return k.PrivateKey.Public().(ed25519.PublicKey) }
func (k testKey) String() string            { return "test key" }
func (k testKey) Sign(_ context.Context, msg []byte) ([]byte, error) {
	return ed25519.Sign(k.PrivateKey, msg), nil
}

func hash() sign.Style {
	s := sign.Hash()
	return s
}

// signed signs a manifest under an id.
func signed(t testing.TB, b []byte, id string, k testKey) []byte {
	t.Helper()
	out, _, err := sign.Sign(t.Context(), b, hash(), Subject(id), k, now)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type verdict struct{ err error }

func (v verdict) Err(string) error { return v.err }

func judge(k testKey) func([]byte, sign.Subject) Verdict {
	return func(b []byte, sub sign.Subject) Verdict {
		_, err := sign.Verify(b, hash(), sub, sign.OnlyKey(k.Public()))
		return verdict{err}
	}
}

// folder writes a bundle with a signed tool, a script and a picture, and
// signs its manifest.
func folder(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	tool, _, err := sign.Sign(t.Context(), []byte("tool_type: tool\n"), hash(), sign.Subject{Use: sign.UseItem, Kind: "tool", ID: "acme/a"}, newKey('k'), now)
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, ".ai/tools/acme/a.yaml", string(tool), 0o644)
	write(t, root, ".ai/tools/acme/run.sh", "#!/bin/sh\necho hi\n", 0o755)
	write(t, root, ".ai/knowledge/acme/logo.png", "\x89PNG\r\n\x00", 0o644)
	write(t, root, ".ai/trust/key-x.toml", "never carried", 0o644)
	manifest(t, root)
	return root
}

func manifest(t *testing.T, root string) []byte {
	t.Helper()
	b, err := Create(t.Context(), open(t, root), Params{ID: "acme", Version: "1.2.3", Description: "Tests.", Entrypoint: "acme/start",
		Requires: map[string]string{"github.com/acme/core": "v1.0.0"}, Executable: func(p string) bool { return strings.HasSuffix(p, ".sh") }})
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, ManifestPath("acme"), string(signed(t, b, "acme", newKey('k'))), 0o644)
	return b
}

func write(t *testing.T, root, rel, content string, mode os.FileMode) {
	t.Helper()
	name := filepath.Join(root, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, root string) *FolderTree {
	t.Helper()
	tree, err := Folder(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree
}

func verify(t *testing.T, root string) *Report {
	t.Helper()
	r, err := Verify(t.Context(), VerifyParams{Tree: open(t, root), ID: "acme", Judge: judge(newKey('k'))})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func codes(fs []diag.Finding) (out []string) {
	for _, f := range fs {
		out = append(out, f.Path+" "+string(f.Code))
	}
	slices.Sort(out)
	return out
}

func TestVerifyAcceptsWhatCreateMade(t *testing.T) {
	r := verify(t, folder(t))
	if !r.OK() || r.FilesChecked != 3 || len(r.Missing)+len(r.Extra)+len(r.Changed)+len(r.Findings) != 0 || r.Err("acme") != nil {
		t.Errorf("%+v", r)
	}
	if r.Verdict == nil || r.Verdict.Err("") != nil || r.Digest == (item.Digest{}) {
		t.Errorf("the verdict does not travel: %+v", r)
	}
}

// All files and all findings, whatever comes first.
func TestVerifyReportsEverything(t *testing.T) {
	root := folder(t)
	write(t, root, ".ai/tools/acme/run.sh", "#!/bin/sh\necho ho\n", 0o755)
	write(t, root, ".ai/tools/acme/new.py", "x", 0o644)
	if err := os.Remove(filepath.Join(root, ".ai/knowledge/acme/logo.png")); err != nil {
		t.Fatal(err)
	}
	r := verify(t, root)
	if !slices.Equal(r.Changed, []string{".ai/tools/acme/run.sh"}) || !slices.Equal(r.Extra, []string{".ai/tools/acme/new.py"}) ||
		!slices.Equal(r.Missing, []string{".ai/knowledge/acme/logo.png"}) {
		t.Errorf("changed %v, extra %v, missing %v", r.Changed, r.Extra, r.Missing)
	}
	want := []string{".ai/knowledge/acme/logo.png BUNDLE_FILE_MISSING", ".ai/tools/acme/new.py BUNDLE_FILE_EXTRA", ".ai/tools/acme/run.sh HASH_MISMATCH"}
	if got := codes(r.Findings); !slices.Equal(got, want) || r.OK() {
		t.Errorf("findings %v, want %v", got, want)
	}
}

func TestVerifyFindings(t *testing.T) {
	where := ManifestPath("acme")
	for name, c := range map[string]struct {
		do   func(t *testing.T, root string)
		want string
	}{
		"no manifest": {func(t *testing.T, root string) { remove(t, root, where) }, where + " BUNDLE_FILE_MISSING"},
		"unsigned":    {func(t *testing.T, root string) { write(t, root, where, string(manifest(t, root)), 0o644) }, where + " UNSIGNED"},
		"edited": {func(t *testing.T, root string) {
			b := read(t, root, where)
			write(t, root, where, strings.Replace(b, `Tests.`, `Texts.`, 1), 0o644)
		}, where + " HASH_MISMATCH"},
		"other key": {func(t *testing.T, root string) {
			write(t, root, where, string(signed(t, manifest(t, root), "acme", newKey('o'))), 0o644)
		}, where + " KEY_UNKNOWN"},
		"other id": {func(t *testing.T, root string) {
			write(t, root, where, string(signed(t, manifest(t, root), "other", newKey('k'))), 0o644)
		}, where + " SIG_INVALID"},
		"inner id": {func(t *testing.T, root string) {
			b := strings.Replace(string(manifest(t, root)), "  id: acme\n", "  id: other\n", 1)
			write(t, root, where, string(signed(t, []byte(b), "acme", newKey('k'))), 0o644)
		}, where + " VALIDATION_FAILED"},
		"claims a signature": {func(t *testing.T, root string) {
			b := strings.Replace(string(manifest(t, root)), "inline_signed: false", "inline_signed: true", 1)
			write(t, root, where, string(signed(t, []byte(b), "acme", newKey('k'))), 0o644)
		}, ".ai/knowledge/acme/logo.png VALIDATION_FAILED"},
		"item signature as manifest": {func(t *testing.T, root string) {
			b, _, err := sign.Sign(t.Context(), manifest(t, root), hash(), sign.Subject{Use: sign.UseItem, Kind: "bundle", ID: "acme"}, newKey('k'), now)
			if err != nil {
				t.Fatal(err)
			}
			write(t, root, where, string(b), 0o644)
		}, where + " SIG_INVALID"},
	} {
		root := folder(t)
		c.do(t, root)
		r := verify(t, root)
		if got := codes(r.Findings); !slices.Equal(got, []string{c.want}) || r.OK() {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

func TestVerifyTrustsNobodyByDefault(t *testing.T) {
	r, err := Verify(t.Context(), VerifyParams{Tree: open(t, folder(t)), ID: "acme"})
	if err != nil || r.OK() || !slices.Equal(codes(r.Findings), []string{ManifestPath("acme") + " KEY_UNKNOWN"}) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestVerifyChecksModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no executable bit")
	}
	root := folder(t)
	if err := os.Chmod(filepath.Join(root, ".ai/tools/acme/a.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, root); !slices.Equal(r.Changed, []string{".ai/tools/acme/a.yaml"}) {
		t.Errorf("changed %v", r.Changed)
	}
}

// V35, V36: a link in place of a file is named, never followed.
func TestVerifyRefusesLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on windows")
	}
	for name, link := range map[string]func(old, new string) error{"symbolic": os.Symlink, "hard": os.Link} {
		root := folder(t)
		p := filepath.Join(root, ".ai/tools/acme/run.sh")
		outsideFile := filepath.Join(t.TempDir(), "run.sh")
		if err := os.Rename(p, outsideFile); err != nil {
			t.Fatal(err)
		}
		if err := link(outsideFile, p); err != nil {
			t.Fatal(err)
		}
		r := verify(t, root)
		if r.OK() {
			t.Errorf("%s link: the bundle verifies", name)
		}
		for _, f := range r.Findings {
			if f.Path != ".ai/tools/acme/run.sh" {
				t.Errorf("%s link: %s", name, f)
			}
		}
	}
}

func TestVerifyStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Verify(ctx, VerifyParams{Tree: open(t, folder(t)), ID: "acme", Judge: judge(newKey('k'))})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestInspectSaysThatNothingIsVerified(t *testing.T) {
	root := folder(t)
	b := strings.Replace(read(t, root, ManifestPath("acme")), `Tests.`, `Lies.`, 1)
	in, fs := Inspect([]byte(b))
	if in == nil {
		t.Fatal(fs)
	}
	if in.Verified || in.Manifest.Description != "Lies." || !slices.Equal(in.Claimed, []sign.Fingerprint{sign.FingerprintOf(newKey('k').Public())}) {
		t.Errorf("%+v", in)
	}
	if in, fs := Inspect([]byte("files: 1\n")); in != nil || len(fs) != 2 {
		t.Errorf("%+v, %v", in, fs)
	}
}

func TestOpenJudgesBeforeItParses(t *testing.T) {
	m := fstest.MapFS{ManifestPath("acme"): {Data: []byte("no manifest at all: [")}}
	refused := errors.New("refused")
	if _, err := Open(m, "acme", func([]byte) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	if _, err := Open(m, "acme", func([]byte) error { return nil }); diag.CodeOf(err) != diag.ParsingError {
		t.Errorf("%v", err)
	}
	if _, err := Open(fstest.MapFS{}, "acme", func([]byte) error { return nil }); diag.CodeOf(err) != diag.BundleFileMissing {
		t.Errorf("%v", err)
	}
}

func TestOpenReturnsOnlyListedBytes(t *testing.T) {
	root := folder(t)
	fsys := fstest.MapFS{}
	for _, p := range []string{ManifestPath("acme"), ".ai/tools/acme/a.yaml", ".ai/tools/acme/run.sh", ".ai/knowledge/acme/logo.png"} {
		fsys[p] = &fstest.MapFile{Data: []byte(read(t, root, p))}
	}
	agree := func([]byte) error { return nil }
	if o, err := Open(fsys, "acme", agree); err != nil || len(o.Manifest.Files) != 3 {
		t.Fatalf("%v", err)
	}
	delete(fsys, ".ai/tools/acme/a.yaml")
	fsys[".ai/tools/acme/run.sh"].Data[0] ^= 1
	fsys[".ai/tools/acme/x"] = &fstest.MapFile{}
	fsys[".ai/threads/x"] = &fstest.MapFile{}
	fsys["rye.yaml"] = &fstest.MapFile{}
	o, err := Open(fsys, "acme", agree)
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]diag.Code{".ai/tools/acme/a.yaml": diag.BundleFileMissing, ".ai/tools/acme/run.sh": diag.HashMismatch,
		".ai/tools/acme/x": diag.BundleFileExtra, ".ai/threads/x": diag.BundleFileExtra, "rye.yaml": diag.BundleFileExtra, ".ai/knowledge/acme/logo.png": ""} {
		if _, err := fs.ReadFile(o.FS, p); diag.CodeOf(err) != want || want == "" && err != nil {
			t.Errorf("%s: %v, want %s", p, err, want)
		}
	}
	if _, err := fs.ReadFile(o.FS, ".ai/tools/acme/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := Open(fsys, "other", agree); diag.CodeOf(err) != diag.BundleFileMissing {
		t.Errorf("%v", err)
	}
}

func remove(t *testing.T, root, rel string) {
	t.Helper()
	if err := os.Remove(filepath.Join(root, filepath.FromSlash(rel))); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, root, rel string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(rel)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
