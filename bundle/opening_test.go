package bundle

import (
	"errors"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// TestOpening has no file before the manifest is judged, and none at all if it is refused.
func TestOpening(t *testing.T) {
	root := folder(t)
	const file = ".ai/tools/acme/a.yaml"
	fsys := fstest.MapFS{}
	for _, p := range []string{ManifestPath("acme"), file, ".ai/tools/acme/run.sh", ".ai/knowledge/acme/logo.png"} {
		fsys[p] = &fstest.MapFile{Data: []byte(read(t, root, p))}
	}
	fsys[".ai/tools/acme/x"] = &fstest.MapFile{}
	verdict := make(chan error)
	o := Begin(fsys, "acme", item.Digest{}, func([]byte) error { return <-verdict })
	if _, err := fs.Stat(o, file); err != nil {
		t.Errorf("its name is known before: %v", err)
	}
	got := make(chan error)
	go func() {
		_, err := fs.ReadFile(o, file)
		got <- err
	}()
	select {
	case <-got:
		t.Fatal("a file was read before the verdict")
	case verdict <- nil:
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	if _, err := fs.ReadFile(o, ".ai/tools/acme/x"); diag.CodeOf(err) != diag.BundleFileExtra {
		t.Errorf("a file that is not listed: %v", err)
	}
	if opened, err := o.Wait(); err != nil || len(opened.Manifest.Files) != 3 {
		t.Errorf("%v", err)
	}

	refused := errors.New("refused")
	o = Begin(fsys, "acme", item.Digest{}, func([]byte) error { return refused })
	if _, err := o.ReadFile(file); !errors.Is(err, refused) {
		t.Error(err)
	}
	if _, err := o.Open(file); !errors.Is(err, refused) {
		t.Error(err)
	}
	if by := o.Covered(file, item.DigestOf(fsys[file].Data)); by != (sign.Fingerprint{}) {
		t.Errorf("a refused manifest covers a file for %s", by)
	}
	if _, err := o.Wait(); !errors.Is(err, refused) {
		t.Error(err)
	}
}

// TestKnownManifest checks the form of every manifest but the one whose digest the program knows.
func TestKnownManifest(t *testing.T) {
	root := folder(t)
	text := []byte(read(t, root, ManifestPath("acme")))
	sound, _ := Parse(text)
	if sound == nil {
		t.Fatal("the manifest of the test is not valid")
	}
	// A path that nothing but a known digest permits.
	wrong := *sound
	wrong.Files = slices.Clone(sound.Files)
	wrong.Files[0].Path = ".ai/../x"
	changed := signed(t, wrong.Render(), "acme", newKey('a'))
	fsys := fstest.MapFS{ManifestPath("acme"): {Data: changed}}
	accept := func([]byte) error { return nil }
	for name, known := range map[string]item.Digest{"none": {}, "of another text": item.DigestOf(text)} {
		if _, err := Begin(fsys, "acme", known, accept).Wait(); err == nil {
			t.Errorf("known is the digest %s: a manifest with the path .ai/../x is accepted", name)
		}
	}
	if _, err := Begin(fsys, "acme", item.DigestOf(changed), accept).Wait(); err != nil {
		t.Errorf("the known manifest: %v", err)
	}
	refused := errors.New("refused")
	if _, err := Begin(fsys, "acme", item.DigestOf(changed), func([]byte) error { return refused }).Wait(); !errors.Is(err, refused) {
		t.Errorf("the signature of a known manifest is not checked: %v", err)
	}
}
