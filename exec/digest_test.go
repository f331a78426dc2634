package exec

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ryeos/rye/item"
)

// Consent to the Python of a virtual environment ends if a commit adds a file that
// it runs at its next start.
func TestDigestCoversStartupFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a [b]")
	python := filepath.Join(dir, "bin", "python.exe")
	program(t, python)
	write := func(rel string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("import evil\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	digest := func() item.Digest {
		t.Helper()
		d, err := DigestProgram(python)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	seen := map[item.Digest]string{digest(): "the program"}
	for _, rel := range []string{
		"pyvenv.cfg", "lib/python3.12/site-packages/evil.pth", "lib/python3.12/site-packages/sitecustomize.py",
		"lib/python3.12/site-packages/usercustomize.so", "lib64/python3.9/site-packages/usercustomize/__init__.py", "Lib/site-packages/x.PTH",
	} {
		write(rel)
		d := digest()
		if before, same := seen[d]; same {
			t.Errorf("%s changes nothing since %s", rel, before)
		}
		seen[d] = rel
	}
	before := digest()
	write("lib/python3.12/site-packages/requests/__init__.py") // it does not run at start
	if digest() != before {
		t.Error("a package that does not run at start ends the consent")
	}
}
