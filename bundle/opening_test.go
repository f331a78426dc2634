package bundle

import (
	"errors"
	"io/fs"
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
	o := Begin(fsys, "acme", func([]byte) error { return <-verdict })
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
	o = Begin(fsys, "acme", func([]byte) error { return refused })
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
