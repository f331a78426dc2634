package bundle

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

func TestCreateListsWhatIsThere(t *testing.T) {
	m, fs := Parse(manifest(t, folder(t)))
	if m == nil {
		t.Fatal(fs)
	}
	want := []File{
		{Path: ".ai/knowledge/acme/logo.png", Digest: item.DigestOf([]byte("\x89PNG\r\n\x00")), Size: 7},
		{Path: ".ai/tools/acme/a.yaml", Digest: m.Files[1].Digest, Size: m.Files[1].Size, Signed: true},
		{Path: ".ai/tools/acme/run.sh", Digest: item.DigestOf([]byte("#!/bin/sh\necho hi\n")), Size: 18, Executable: true},
	}
	if !reflect.DeepEqual(m.Files, want) {
		t.Errorf("files are\n%+v, want\n%+v", m.Files, want)
	}
	if m.ID != "acme" || m.Version != "1.2.3" || m.Type != "package" || m.Entrypoint != "acme/start" || m.CreatedAt != "" || m.Requires["github.com/acme/core"] != "v1.0.0" {
		t.Errorf("header is %+v", m)
	}
}

// A manifest that was read gives the parameters that make it again.
func TestCreateAgainGivesTheSameBytes(t *testing.T) {
	root := folder(t)
	first := manifest(t, root)
	m, _ := Parse(first)
	again, err := Create(t.Context(), open(t, root), ParamsOf(m))
	if err != nil || string(again) != string(first) {
		t.Errorf("%v\n%s\nis not\n%s", err, again, first)
	}
}

func TestCreatedAtComesFromSourceDateEpochOnly(t *testing.T) {
	tree := FS(fstest.MapFS{".ai/tools/a.py": {Data: []byte("x")}})
	for epoch, want := range map[string]string{"": "", "0": "1970-01-01T00:00:00Z", "1795132800": "2026-11-20T00:00:00Z"} {
		b, err := Create(t.Context(), tree, Params{ID: "a", Version: "1.0.0", SourceDateEpoch: epoch})
		if err != nil {
			t.Fatal(err)
		}
		m, _ := Parse(b)
		if m.CreatedAt != want || ParamsOf(m).SourceDateEpoch != epoch {
			t.Errorf("SOURCE_DATE_EPOCH=%q gives created_at %q, want %q", epoch, m.CreatedAt, want)
		}
	}
	for _, epoch := range []string{"now", "-1", "1.5", "99999999999999"} {
		if _, err := Create(t.Context(), tree, Params{ID: "a", Version: "1.0.0", SourceDateEpoch: epoch}); diag.CodeOf(err) != diag.Usage {
			t.Errorf("SOURCE_DATE_EPOCH=%q: %v", epoch, err)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	file := func(p string) fstest.MapFS { return fstest.MapFS{p: {Data: []byte("x")}} }
	good := file(".ai/tools/a.py")
	for name, c := range map[string]struct {
		fs   fstest.MapFS
		p    Params
		code diag.Code
	}{
		"no id":          {good, Params{Version: "1.0.0"}, diag.Usage},
		"no version":     {good, Params{ID: "a"}, diag.Usage},
		"bad id":         {good, Params{ID: "../a", Version: "1.0.0"}, diag.Usage},
		"bad version":    {good, Params{ID: "a", Version: "1.0"}, diag.Usage},
		"bad requires":   {good, Params{ID: "a", Version: "1.0.0", Requires: map[string]string{"b": "latest"}}, diag.Usage},
		"bad entrypoint": {good, Params{ID: "a", Version: "1.0.0", Entrypoint: "a b"}, diag.Usage},
		"two lines":      {good, Params{ID: "a", Version: "1.0.0", Description: "a\nb"}, diag.Usage},
		"bidi":           {good, Params{ID: "a", Version: "1.0.0", Description: "a\u202eb"}, diag.Usage},
		"no .ai":         {file("x"), Params{ID: "a", Version: "1.0.0"}, diag.FileSystemError},
		"nothing":        {file(".ai/trust/x"), Params{ID: "a", Version: "1.0.0"}, diag.Usage},
		"bytecode":       {file(".ai/tools/__pycache__/a.pyc"), Params{ID: "a", Version: "1.0.0"}, diag.PathEscape},
		"device":         {file(".ai/tools/con.py"), Params{ID: "a", Version: "1.0.0"}, diag.PathEscape},
		"case":           {fstest.MapFS{".ai/tools/A.py": {}, ".ai/tools/a.py": {}}, Params{ID: "a", Version: "1.0.0"}, diag.PathEscape},
	} {
		b, err := Create(t.Context(), FS(c.fs), c.p)
		if diag.CodeOf(err) != c.code || b != nil {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}

// What a bundle requires is under its signature, whatever becomes of the file.
func TestRequiresIsListed(t *testing.T) {
	const name = "rye.yaml"
	root := folder(t)
	if r := verify(t, root); r.Manifest.Lists(name) {
		t.Error("a manifest lists a rye.yaml that is not there")
	}
	write(t, root, name, "rye: 1\n", 0o644)
	old := verify(t, root)
	if !old.OK() || len(old.Extra) != 0 || !slices.Equal(codes(old.Findings), []string{name + " BUNDLE_FILE_EXTRA"}) || old.Findings[0].Severity != diag.SeverityWarning {
		t.Errorf("a manifest that does not list it: %+v", old)
	}
	manifest(t, root)
	if r := verify(t, root); !r.OK() || !r.Manifest.Lists(name) || len(r.Findings) != 0 {
		t.Errorf("%+v", r)
	}
	write(t, root, ".ai/rye.yaml", "rye: 1\n", 0o644)
	if r := verify(t, root); !slices.Equal(r.Extra, []string{".ai/rye.yaml"}) {
		t.Errorf("a file of that name below .ai: %+v", r.Findings)
	}
	remove(t, root, ".ai/rye.yaml")
	write(t, root, name, "rye: 2\n", 0o644)
	if r := verify(t, root); r.OK() || !slices.Equal(r.Changed, []string{name}) {
		t.Errorf("changed: %+v", r.Findings)
	}
	remove(t, root, name)
	if r := verify(t, root); r.OK() || !slices.Equal(r.Missing, []string{name}) {
		t.Errorf("missing: %+v", r.Findings)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Symlink("elsewhere", filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, root); r.OK() {
		t.Error("a link in its place is accepted")
	}
	if _, err := Create(t.Context(), open(t, root), Params{ID: "acme", Version: "1.0.0"}); err == nil {
		t.Error("a link in its place is listed")
	}
}
