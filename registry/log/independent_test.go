package log

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// export writes the files of a log into a directory, as a web server has them.
func (f *fixture) export(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for path, b := range f.files {
		file := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// xmod reads a log with x/mod alone. It maps paths by the text of C2SP tlog-tiles, not by
// the functions of this package.
type xmod struct{ dir string }

func (x xmod) Height() int                         { return 8 }
func (x xmod) SaveTiles(_ []tlog.Tile, _ [][]byte) {}
func (x xmod) ReadTiles(list []tlog.Tile) ([][]byte, error) {
	var out [][]byte
	for _, t := range list {
		name := fmt.Sprintf("%03d", t.N%1000)
		for n := t.N / 1000; n > 0; n /= 1000 {
			name = fmt.Sprintf("x%03d/%s", n%1000, name)
		}
		if t.W < 256 {
			name += fmt.Sprintf(".p/%d", t.W)
		}
		b, err := os.ReadFile(filepath.Join(x.dir, "tile", fmt.Sprint(t.L), filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// TestXMod reads the tree with the readers of x/mod.
func TestXMod(t *testing.T) {
	f := newFixture(t, 300)
	f.add(t, 1000, "entry")
	dir := f.export(t)
	msg, err := os.ReadFile(filepath.Join(dir, "checkpoint"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(f.key)
	if err != nil {
		t.Fatal(err)
	}
	n, err := note.Open(msg, note.VerifierList(v))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(n.Text, "\n")
	root, err := tlog.ParseHash(lines[2])
	if err != nil || lines[0] != testOrigin || lines[1] != "1300" {
		t.Fatal(n.Text, err)
	}
	hashes := tlog.TileHashReader(tlog.Tree{N: 1300, Hash: root}, xmod{dir})
	for _, i := range []int64{0, 255, 256, 1279, 1280, 1299} {
		p, err := tlog.ProveRecord(1300, i, hashes)
		if err == nil {
			err = tlog.CheckRecord(p, 1300, root, i, tlog.RecordHash(f.leaves[i]))
		}
		if err != nil {
			t.Errorf("entry %d: %v", i, err)
		}
	}
}

// TestFsck checks a log with tessera, which shares no code with x/mod's tiles. It is built
// from testdata, so that the program does not depend on it.
func TestFsck(t *testing.T) {
	if os.Getenv("RYE_LONG") == "" {
		t.Skip("it builds a program with modules of its own; RYE_LONG=1 runs it")
	}
	fsck := filepath.Join(t.TempDir(), "fsck")
	build := exec.Command("go", "build", "-o", fsck, ".")
	build.Dir = filepath.Join("testdata", "fsck")
	build.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "dial tcp") || strings.Contains(string(out), "proxy") || strings.Contains(string(out), "lookup") {
			t.Skipf("the modules of tessera are not available: %s", out)
		}
		t.Fatalf("building it: %v\n%s", err, out)
	}
	f := newFixture(t, 300)
	f.add(t, 1000, "entry")
	dir := f.export(t)
	if out, err := exec.Command(fsck, dir, testOrigin, f.key).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(dir, "tile", "0", "001")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[40] ^= 1
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(fsck, dir, testOrigin, f.key).CombinedOutput(); err == nil {
		t.Errorf("a changed tile was accepted\n%s", out)
	}
}
