package format_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// The one key and the one instant of every example.
var (
	testKey  = memSigner{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{0x2a}, ed25519.SeedSize))}
	signedAt = time.Date(2026, 2, 14, 0, 27, 54, 0, time.UTC)
)

const (
	project  = "project/.ai"
	bundleID = "demo-tools"
)

type memSigner struct{ key ed25519.PrivateKey }

func (s memSigner) Public() ed25519.PublicKey { return s.key.Public().(ed25519.PublicKey) }
func (s memSigner) String() string            { return "the key of the examples" }
func (s memSigner) Sign(_ context.Context, msg []byte) ([]byte, error) {
	return ed25519.Sign(s.key, msg), nil
}

func updating() bool { return os.Getenv("RYE_UPDATE_GOLDEN") == "1" }

// table is the boot table and the kind that the examples add.
func table() *extract.Table {
	t := extract.Boot()
	err := t.Add(&extract.Extractor{Kind: "skill", Folder: "skills", ID: extract.IDParentDir, File: "SKILL.md",
		Types: []extract.FileType{{Ext: ".md", Style: sign.StyleBare, Detached: true, Codec: extract.CodecKnowledge}}})
	if err != nil {
		panic(err)
	}
	return t
}

// disk reads every file below examples, by slash path.
func disk(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir("examples", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel("examples", p)
		files[filepath.ToSlash(rel)] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// generate returns every signed example as it must be, from the bodies on
// disk: the test that compares and the update that writes both call it.
func generate(t testing.TB, files map[string][]byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for p, b := range files {
		rel, ok := strings.CutPrefix(p, project+"/")
		if !ok || path.Ext(p) == extract.DetachedExt || strings.HasPrefix(rel, "bundles/") {
			continue
		}
		maps.Copy(out, signedItem(t, p, rel, b))
	}
	maps.Copy(out, vectors(t))
	maps.Copy(out, documents(t))
	out[path.Join("project", bundle.ManifestPath(bundleID))] = manifest(t, out)
	maps.Copy(out, signatureLog(t, out))
	return out
}

// signedItem signs one file from scratch; an asset stays as it is.
func signedItem(t testing.TB, p, rel string, b []byte) map[string][]byte {
	t.Helper()
	place, _ := table().Classify(rel)
	if place.Ref.IsZero() {
		return map[string][]byte{p: b}
	}
	sub := extract.Subject(place.Ref)
	if place.Type.Detached {
		sig, _, err := sign.SignDetached(t.Context(), b, nil, sub, testKey, signedAt)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		return map[string][]byte{p: b, p + extract.DetachedExt: sig}
	}
	return map[string][]byte{p: signedText(t, body(t, b, place.Type.Style), place.Type.Style, sub)}
}

func body(t testing.TB, b []byte, s sign.Style) []byte {
	t.Helper()
	sp, err := sign.SplitFile(b, s)
	if err != nil {
		t.Fatal(err)
	}
	return sp.Body()
}

func signedText(t testing.TB, b []byte, s sign.Style, sub sign.Subject) []byte {
	t.Helper()
	out, _, err := sign.Sign(t.Context(), b, s, sub, testKey, signedAt)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// vectors are the golden signatures of the specification, and the statement
// that the first of them signs.
func vectors(t testing.TB) map[string][]byte {
	t.Helper()
	hash := sign.Hash()
	html, _ := sign.StyleByName("<!--")
	hello := item.Ref{Kind: item.Tool, ID: "demo/hello"}
	tool := signedText(t, []byte("#!/usr/bin/env python3\nprint(\"hello\")\n"), hash, extract.Subject(hello))
	sp, err := sign.SplitFile(tool, hash)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"vectors/hello.py":        tool,
		"vectors/hello.statement": sign.Statement(extract.Subject(hello), sp.Line.Time, sp.Line.Key, sp.Size(), sp.Line.Body),
		"vectors/greet.md": signedText(t, []byte("# Greet\n\n<directive name=\"greet\" version=\"1.0.0\">\n</directive>\n"), html,
			extract.Subject(item.Ref{Kind: item.Directive, ID: "demo/greet"})),
	}
}

// documents are the trust documents of the key.
func documents(t testing.TB) map[string][]byte {
	t.Helper()
	ctx := t.Context()
	day := time.Date(2026, 2, 14, 0, 0, 0, 0, time.UTC)
	scope := doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign", "release"}}
	name, document, err := doc.NewKey(ctx, doc.KeyParams{
		Owner: "ada", NotBefore: day, Scope: scope, Now: signedAt}, testKey)
	if err != nil {
		t.Fatal(err)
	}
	gname, grant, err := doc.NewGrant(ctx, doc.PermissionParams{Document: document, NotAfter: day.AddDate(1, 0, 0), Scope: scope, Now: signedAt}, testKey)
	if err != nil {
		t.Fatal(err)
	}
	rname, revocation, err := doc.NewRevocation(ctx, doc.RevocationParams{Reason: doc.ReasonCompromised, CutOff: signedAt, Now: signedAt}, testKey)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{"trust/" + name: document, "trust/" + gname: grant, "offline/" + rname: revocation}
	maps.Copy(out, otherDocuments(t, day, revocation))
	return out
}

// otherDocuments are those of a colleague's key, and later ones of the key.
func otherDocuments(t testing.TB, day time.Time, revocation []byte) map[string][]byte {
	t.Helper()
	ctx := t.Context()
	colleague := memSigner{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{0x2b}, ed25519.SeedSize))}
	out := map[string][]byte{}
	add := func(name string, b []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		out["others/"+name] = b
		return b
	}
	key := func() []byte {
		name, b, err := doc.NewKey(ctx, doc.KeyParams{Owner: "ben", NotBefore: day, Now: signedAt,
			Scope: doc.Scope{Kinds: []string{"*"}, Namespaces: []string{"**"}, May: []string{"sign", "release"}}}, colleague)
		return add(name, b, err)
	}()
	scope := doc.Scope{Kinds: []string{"tool", "directive"}, Namespaces: []string{"ben/**"}, May: []string{"sign"}}
	until := day.AddDate(0, 3, 0)
	name, b, err := doc.NewGrant(ctx, doc.PermissionParams{Document: key, NotAfter: until, Scope: scope, Now: signedAt}, testKey)
	add(name, b, err)
	name, b, err = doc.NewEndorsement(ctx, doc.PermissionParams{Document: key, NotAfter: until, Scope: scope, Now: signedAt}, testKey)
	add(name, b, err)
	name, b, err = doc.NewRotation(ctx, doc.RotationParams{Now: signedAt}, testKey, colleague)
	add(name, b, err)
	name, b, err = doc.NewRevocationList(ctx, []item.Digest{item.DigestOf(revocation)}, testKey, signedAt)
	add(name, b, err)
	earlier := doc.Release{Bundle: bundleID, Version: "0.9.0", Why: "the tool demo/upper printed its environment",
		Manifest: item.DigestOf([]byte("an earlier manifest, signed")), Content: item.DigestOf([]byte("an earlier manifest"))}
	name, b, err = doc.NewReleaseRevocation(ctx, earlier, testKey, signedAt)
	add(name, b, err)
	two := []ed25519.PublicKey{testKey.Public(), colleague.Public()}
	publisher := doc.Publisher{Name: "demo", Version: 1, Bundles: []string{"demo-tools", "github.com/acme/demo-tools"},
		Root: doc.Role{Keys: two, Threshold: 2}, Release: doc.Role{Keys: two, Threshold: 2}, Revoke: doc.Role{Keys: two, Threshold: 1}}
	name, b, err = doc.NewPublisher(ctx, publisher, testKey, signedAt)
	add(name, b, err)
	return out
}

// manifest makes the bundle of the example project.
func manifest(t testing.TB, files map[string][]byte) []byte {
	t.Helper()
	tree := fstest.MapFS{}
	for p, b := range files {
		if rel, ok := strings.CutPrefix(p, "project/"); ok {
			tree[rel] = &fstest.MapFile{Data: b}
		}
	}
	b, err := bundle.Create(t.Context(), bundle.FS(tree), bundle.Params{
		ID: bundleID, Version: "1.0.0", Description: "The examples of the format pages.", Entrypoint: "directive:demo/summarise"})
	if err != nil {
		t.Fatal(err)
	}
	hash := sign.Hash()
	return signedText(t, b, hash, bundle.Subject(bundleID))
}

// TestExamples makes every example again and compares byte for byte;
// RYE_UPDATE_GOLDEN=1 writes them. What is below json comes from the program
// itself and is compared by cmd/rye, what is below packages by lock.
func TestExamples(t *testing.T) {
	have := disk(t)
	want := generate(t, have)
	if updating() {
		for p, b := range want {
			if !bytes.Equal(have[p], b) {
				write(t, filepath.Join("examples", filepath.FromSlash(p)), b)
			}
		}
		have = disk(t)
	}
	for _, p := range slices.Sorted(maps.Keys(want)) {
		if !bytes.Equal(have[p], want[p]) {
			t.Errorf("examples/%s is not what rye makes: run RYE_UPDATE_GOLDEN=1 go test ./docs/format", p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(have)) {
		if want[p] == nil && !strings.HasPrefix(p, "json/") && !strings.HasPrefix(p, "packages/") {
			t.Errorf("examples/%s is not made by the test", p)
		}
	}
	once := generate(t, want)
	for p, b := range want {
		if !bytes.Equal(once[p], b) {
			t.Errorf("%s changes when it is made again", p)
		}
	}
}

func write(t testing.TB, name string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// The vectors of the specification, written out: they must not change.
func TestSpecifiedVectors(t *testing.T) {
	got := vectors(t)
	for name, want := range map[string]string{
		"vectors/hello.py": "#!/usr/bin/env python3\n" +
			"# rye:signed:2026-02-14T00:27:54Z:c5b5f9cdaaa77ef9537db8654d274c0c01ec38233b32bdd3fee821fbf567ee75:KKcAFw1svYikWOYv6mvSZJFeefpkINVDfZJwCEl36zQLBUu860IhLULOMU1jtBQbtaDyQgaAZvG3CQCboPwUAw:b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092\n" +
			"print(\"hello\")\n",
		"vectors/hello.statement": "rye.dev/sig/v1\nkind tool\nid demo/hello\ntime 2026-02-14T00:27:54Z\n" +
			"key b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092\nsize 38\n" +
			"sha256 c5b5f9cdaaa77ef9537db8654d274c0c01ec38233b32bdd3fee821fbf567ee75\n",
		"vectors/greet.md": "<!-- rye:signed:2026-02-14T00:27:54Z:d4959debf11ddc26b9d2ec942fc0caba9df85bca4d49d0944ca0f412b08b52ce:2G11rX6gn3v7mw43mFt97BRzFYnXeGzVBVlX+N2+kG8GVEnZKtiLMVEz4i/7z2O2+SDiYZZLHs2YmAP94Lw7Cg:b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092 -->\n" +
			"# Greet\n\n<directive name=\"greet\" version=\"1.0.0\">\n</directive>\n",
	} {
		if string(got[name]) != want {
			t.Errorf("%s:\n%swant\n%s", name, got[name], want)
		}
	}
}
