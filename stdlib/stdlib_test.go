package stdlib_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"github.com/ryeos/rye/lock/treehash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/stdlib"
)

// about says what the manifest says beside the files.
func about() bundle.Params {
	return bundle.Params{
		ID: stdlib.Bundle, Version: "0.1.0", Type: "system",
		Description: "The items that the runtime itself is made of.",
	}
}

var signedAt = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

type devSigner struct{ key ed25519.PrivateKey }

func (s devSigner) Public() ed25519.PublicKey { return s.key.Public().(ed25519.PublicKey) }
func (s devSigner) String() string            { return "the development key" }
func (s devSigner) Sign(_ context.Context, msg []byte) ([]byte, error) {
	return ed25519.Sign(s.key, msg), nil
}

func signer(t testing.TB) devSigner {
	t.Helper()
	seed, err := hex.DecodeString(stdlib.DevSeed)
	if err != nil {
		t.Fatal(err)
	}
	return devSigner{ed25519.NewKeyFromSeed(seed)}
}

func keys(t testing.TB) sign.Keys { return sign.OnlyKey(signer(t).Public()) }

// disk reads every file below .ai as it is on disk.
func disk(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(".ai", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		files[filepath.ToSlash(p)] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sorted(files map[string][]byte) []string {
	var out []string
	for p := range files {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

// generate returns the files as they must be: every one signed, and the
// manifest over them. It is the only way in which this bundle is made; the
// test that compares and the update that writes both call it.
func generate(t testing.TB, files map[string][]byte) map[string][]byte {
	t.Helper()
	ctx, s := t.Context(), signer(t)
	out := map[string][]byte{}
	for p, b := range files {
		if p == bundle.ManifestPath(stdlib.Bundle) || path.Ext(p) == extract.DetachedExt {
			continue
		}
		place, ok := extract.Boot().Classify(strings.TrimPrefix(p, ".ai/"))
		if !ok || place.Ref.IsZero() {
			t.Errorf("%s is neither an item nor a support file: only the manifest covers it", p)
			continue
		}
		var err error
		if place.Type.Detached {
			out[p] = b
			out[p+extract.DetachedExt], _, err = sign.SignDetached(ctx, b, files[p+extract.DetachedExt], extract.Subject(place.Ref), s, signedAt)
		} else {
			out[p], _, err = sign.Sign(ctx, b, place.Type.Style, extract.Subject(place.Ref), s, signedAt)
		}
		if err != nil {
			t.Fatalf("signing %s: %v", p, err)
		}
	}
	out[bundle.ManifestPath(stdlib.Bundle)] = manifest(t, out)
	return out
}

// The files that follow from the bundle.
const (
	factsFile  = "facts"
	parsedFile = "parsed"
)

// parsed reads the items that runs of tools read.
func parsed(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	r := resolverOf(t, mapFS(files), nil)
	everyOf(t, r, func(*resolve.Item) {})
	return r.Passed(resolve.AtStart)
}

// facts computes what the program knows of its bundle.
func facts(t testing.TB, manifest []byte) []byte {
	t.Helper()
	seen := &computed{}
	if _, err := sign.VerifyBoth(manifest, nil, sign.Hash(), bundle.Subject(stdlib.Bundle), keys(t), seen); err != nil {
		t.Fatal(err)
	}
	m, fs := bundle.Parse(manifest)
	if m == nil || len(seen.valid) != 1 {
		t.Fatal(fs, seen.valid)
	}
	var files []treehash.File
	for _, f := range m.Files {
		files = append(files, treehash.File{Path: f.Path, Mode: treehash.Regular, Size: f.Size, Digest: f.Digest})
	}
	tree, err := treehash.Of(files)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "%x\n%x\n%s\n", sha256.Sum256(manifest), seen.valid[0].Digest, tree)
}

// computed are Proofs that know nothing, and record what was computed.
type computed struct{ valid []sign.Signature }

func (*computed) Known(sign.Signature) bool                 { return false }
func (c *computed) Valid(s sign.Signature)                  { c.valid = append(c.valid, s) }
func (*computed) KnownKey([ed25519.PublicKeySize]byte) bool { return false }
func (*computed) ValidKey([ed25519.PublicKeySize]byte)      {}

func manifest(t testing.TB, files map[string][]byte) []byte {
	t.Helper()
	b, err := bundle.Create(t.Context(), bundle.FS(mapFS(files)), about())
	if err != nil {
		t.Fatal(err)
	}
	style := sign.Hash()
	b, _, err = sign.Sign(t.Context(), b, style, bundle.Subject(stdlib.Bundle), signer(t), signedAt)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// T5: making the bundle again gives the committed bytes. RYE_UPDATE_GOLDEN=1
// writes them instead.
func TestFixedPoint(t *testing.T) {
	have := disk(t)
	want := generate(t, have)
	have[factsFile], _ = os.ReadFile(factsFile)
	have[parsedFile], _ = os.ReadFile(parsedFile)
	derived := map[string][]byte{factsFile: facts(t, want[bundle.ManifestPath(stdlib.Bundle)]), parsedFile: parsed(t, want)}
	maps.Copy(want, derived)
	if os.Getenv("RYE_UPDATE_GOLDEN") == "1" {
		for p, b := range want {
			if bytes.Equal(have[p], b) {
				continue
			}
			if err := os.WriteFile(filepath.FromSlash(p), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have = disk(t)
		maps.Copy(have, derived)
	}
	for _, p := range sorted(want) {
		if !bytes.Equal(have[p], want[p]) {
			t.Errorf("%s is not what the generator makes: run RYE_UPDATE_GOLDEN=1 go test ./stdlib -run TestFixedPoint", p)
		}
	}
	for _, p := range sorted(have) {
		if want[p] == nil {
			t.Errorf("%s is on disk, but the generator does not make it", p)
		}
	}
}

// The generator itself is idempotent: its output is its own input.
func TestGeneratorIsIdempotent(t *testing.T) {
	once := generate(t, disk(t))
	twice := generate(t, once)
	for _, p := range sorted(once) {
		if !bytes.Equal(once[p], twice[p]) {
			t.Errorf("%s changes when it is made again", p)
		}
	}
}

// A plain embed pattern drops names that begin with "." or "_".
func TestEveryFileIsEmbedded(t *testing.T) {
	have := disk(t)
	n := 0
	err := fs.WalkDir(stdlib.FS(), ".ai", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		b, err := fs.ReadFile(stdlib.FS(), p)
		if err == nil && !bytes.Equal(b, have[p]) {
			t.Errorf("%s: the embedded bytes are not those on disk", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n != len(have) {
		t.Errorf("%d files are embedded, %d are on disk", n, len(have))
	}
}

func TestDevelopmentKeyBelongsTogether(t *testing.T) {
	sum := sha256.Sum256([]byte(stdlib.DevSentence))
	if hex.EncodeToString(sum[:]) != stdlib.DevSeed {
		t.Errorf("DevSeed is not the SHA-256 of DevSentence, %x", sum)
	}
	if pub := hex.EncodeToString(signer(t).Public()); pub != stdlib.DevPublic {
		t.Errorf("DevPublic is %s, the seed gives %s", stdlib.DevPublic, pub)
	}
	if err := sign.CheckKey(signer(t).Public()); err != nil {
		t.Error(err)
	}
}

func TestEveryItemVerifies(t *testing.T) {
	files := disk(t)
	for _, p := range sorted(files) {
		place, _ := extract.Boot().Classify(strings.TrimPrefix(p, ".ai/"))
		sub, style := extract.Subject(place.Ref), place.Type.Style
		if p == bundle.ManifestPath(stdlib.Bundle) {
			sub = bundle.Subject(stdlib.Bundle)
			style = sign.Hash()
		}
		line, err := sign.VerifyBoth(files[p], files[p+extract.DetachedExt], style, sub, keys(t), nil)
		if err != nil {
			t.Errorf("%s: %v", p, err)
		} else if !line.Time.Equal(signedAt) {
			t.Errorf("%s is signed at %s, want %s", p, line.Time, signedAt)
		}
	}
}

// A signature is about an id: no item passes under the id of another.
func TestNoItemVerifiesAsAnother(t *testing.T) {
	files := disk(t)
	p := ".ai/tools/rye/bash/bash.yaml"
	place, _ := extract.Boot().Classify(strings.TrimPrefix(p, ".ai/"))
	ref := place.Ref
	ref.ID = "rye/bash/other"
	_, err := sign.Verify(files[p], place.Type.Style, extract.Subject(ref), keys(t))
	if code := diag.CodeOf(err); code != diag.SigInvalid {
		t.Errorf("verifying %s as %s: %v, want %s", p, ref, err, diag.SigInvalid)
	}
}

func TestManifestListsExactlyTheFiles(t *testing.T) {
	files := disk(t)
	m, fs := bundle.Parse(files[bundle.ManifestPath(stdlib.Bundle)])
	if m == nil {
		t.Fatal(fs)
	}
	var listed []string
	for _, f := range m.Files {
		listed = append(listed, f.Path)
		if f.Signed == (path.Ext(f.Path) == ".json") {
			t.Errorf("%s: inline_signed is %t", f.Path, f.Signed)
		}
	}
	delete(files, bundle.ManifestPath(stdlib.Bundle))
	if want := sorted(files); !slices.Equal(listed, want) {
		t.Errorf("the manifest lists\n%s\non disk are\n%s", strings.Join(listed, "\n"), strings.Join(want, "\n"))
	}
}

func check(t testing.TB) func([]byte) error {
	style := sign.Hash()
	return func(b []byte) error {
		_, err := sign.Verify(b, style, bundle.Subject(stdlib.Bundle), keys(t))
		return err
	}
}

func TestOpenAcceptsTheEmbeddedBundle(t *testing.T) {
	o, err := bundle.Open(stdlib.FS(), stdlib.Bundle, check(t))
	if err != nil {
		t.Fatal(err)
	}
	if o.Manifest.Version != about().Version || len(o.Manifest.Files) < 30 {
		t.Errorf("opened %s %s with %d files", o.Manifest.ID, o.Manifest.Version, len(o.Manifest.Files))
	}
	if err := readAll(stdlib.FS(), check(t)); err != nil {
		t.Error(err)
	}
}

// T11: one byte changed in each file, added or taken away, is refused.
func TestOpenRefusesEveryChange(t *testing.T) {
	good, judge := disk(t), check(t)
	for i, p := range sorted(good) {
		if testing.Short() && i%6 > 0 {
			continue
		}
		b := good[p]
		for name, files := range map[string]map[string][]byte{
			"flipped": with(good, p, append(bytes.Clone(b[:len(b)-1]), b[len(b)-1]^1)),
			"emptied": with(good, p, nil),
			"added":   with(good, strings.Replace(p, ".ai/bundles/", ".ai/tools/", 1)+".new", []byte("x")),
		} {
			if err := readAll(mapFS(files), judge); err == nil {
				t.Errorf("%s %s: the bundle opens and every file can be read", p, name)
			}
		}
		gone := maps.Clone(good)
		delete(gone, p)
		if err := readAll(mapFS(gone), judge); err == nil {
			t.Errorf("%s removed: the bundle opens and every file can be read", p)
		}
	}
}

// readAll opens a bundle and reads every file that it has or lists, in both ways.
func readAll(files fs.FS, judge func([]byte) error) error {
	o, err := bundle.Open(files, stdlib.Bundle, judge)
	if err != nil {
		return err
	}
	var errs []error
	err = fs.WalkDir(o.FS, ".ai", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		_, err = fs.ReadFile(o.FS, p)
		f, oerr := o.FS.Open(p)
		if oerr == nil {
			_, oerr = io.ReadAll(f)
		}
		if (err == nil) != (oerr == nil) {
			return fmt.Errorf("%s can be read in one way only: %v, %v", p, err, oerr)
		}
		errs = append(errs, err)
		return nil
	})
	for _, f := range o.Manifest.Files {
		_, err := fs.ReadFile(o.FS, f.Path)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, err)...)
}

func with(files map[string][]byte, p string, b []byte) map[string][]byte {
	files = maps.Clone(files)
	files[p] = b
	return files
}

func BenchmarkOpen(b *testing.B) {
	c := check(b)
	for b.Loop() {
		if _, err := bundle.Open(stdlib.FS(), stdlib.Bundle, c); err != nil {
			b.Fatal(err)
		}
	}
}
