package wheels

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func wheel(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUnpack(t *testing.T) {
	files, err := Unpack([]string{"json", "msvcrt", "encodings"},
		wheel(t, "json.py=x", "json/__init__.py=x", "json.abi3.so=x", "a-1.data/platlib/msvcrt.py=x", "encodings/utf_8.py=x", "org/python/core.py=x", "org/__init__.py=x", "java/lang.py=x", "org/other.py=o"),
		wheel(t, "ns/__init__.py=", "ns/a.py=a", "a-1.dist-info/METADATA=m", "a-1.data/scripts/run=x", "a-1.data/purelib/p.py=p", "a.pth=import evil", "ns/x.pth=data"),
		wheel(t, "ns/__init__.py=", "ns/b.py=b"))
	var got []string
	for _, f := range files {
		got = append(got, f.Rel+"="+string(f.Bytes))
	}
	want := []string{"packages/org/other.py=o", "packages/ns/__init__.py=", "packages/ns/a.py=a", "packages/a-1.dist-info/METADATA=m", "packages/p.py=p", "packages/ns/x.pth=data", "packages/ns/b.py=b", "site/sitecustomize.py=" + string(siteCustomize)}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestUnpackRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		wheels [][]byte
		want   string
	}{
		"outside":         {[][]byte{wheel(t, "../evil.py=")}, "PATH_ESCAPE"},
		"absolute":        {[][]byte{wheel(t, "/etc/evil=")}, "PATH_ESCAPE"},
		"drive":           {[][]byte{wheel(t, "C:evil.py=")}, "PATH_ESCAPE"},
		"backslash":       {[][]byte{wheel(t, `a\..\..\evil.py=`)}, "PATH_ESCAPE"},
		"outside of data": {[][]byte{wheel(t, "a-1.data/purelib/../../../evil.py=")}, "PATH_ESCAPE"},
		"sitecustomize":   {[][]byte{wheel(t, "sitecustomize.py=")}, "at every start"},
		"a package":       {[][]byte{wheel(t, "UserCustomize/__init__.py=")}, "at every start"},
		"in data":         {[][]byte{wheel(t, "a-1.data/platlib/sitecustomize.abi3.so=")}, "at every start"},
		"two files":       {[][]byte{wheel(t, "m.py=1"), wheel(t, "M.py=2")}, "two of them"},
		"many files":      {[][]byte{wheel(t, slices.Repeat([]string{"m.py="}, MaxFiles+1)...)}, "more than 50000 files"},
		"many in two":     {[][]byte{wheel(t, slices.Repeat([]string{"a-1.data/x/y="}, MaxFiles)...), wheel(t, "m.py=")}, "more than 50000 files"},
		"a bomb":          {[][]byte{wheel(t, "m.py="+strings.Repeat("a", 32<<20))}, "more than 25 times"},
		"two half bombs":  {[][]byte{wheel(t, "a.py="+strings.Repeat("a", 10<<20)), wheel(t, "b.py="+strings.Repeat("a", 10<<20))}, "more than 25 times"},
		"declares less":   {[][]byte{resize(t, wheel(t, "m.py="+strings.Repeat("a", 1000)), 1000, 10)}, "does not have the 10 bytes"},
		"declares more":   {[][]byte{resize(t, wheel(t, "m.py="+strings.Repeat("a", 1000)), 1000, 2000)}, "does not have the 2000 bytes"},
		"declares 4 GiB":  {[][]byte{resize(t, wheel(t, "m.py="+strings.Repeat("a", 1000)), 1000, 1<<32-2)}, "larger than 1024 MiB"},
		"overlapping":     {[][]byte{overlap(t, 30)}, "more than 25 times"},
		"not a wheel":     {[][]byte{[]byte("text")}, "PARSING_ERROR"},
	} {
		if _, err := Unpack(nil, c.wheels...); err == nil || !strings.Contains(codeAndText(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// resize replaces the declared size of the only file of a wheel.
func resize(t *testing.T, b []byte, from, to uint32) []byte {
	t.Helper()
	i := bytes.LastIndex(b, []byte(centralHeader)) + 24 // the size without compression
	if i < 24 || binary.LittleEndian.Uint32(b[i:]) != from {
		t.Fatal("the directory of the wheel has another form")
	}
	binary.LittleEndian.PutUint32(b[i:], to)
	return b
}

// overlap returns a wheel with n files of 1 MiB that share their compressed bytes.
func overlap(t *testing.T, n int) []byte {
	t.Helper()
	b := wheel(t, "a00.py="+strings.Repeat("a", 1<<20))
	i := bytes.LastIndex(b, []byte(centralHeader))
	end := bytes.LastIndex(b, []byte("PK\x05\x06"))
	entry, tail := slices.Clone(b[i:end]), slices.Clone(b[end:])
	b = b[:i]
	at := bytes.Index(entry, []byte("a00.py"))
	for k := range n {
		copy(entry[at:], []byte{'a', byte('0' + k/10), byte('0' + k%10)})
		b = append(b, entry...)
	}
	binary.LittleEndian.PutUint16(tail[8:], uint16(n))
	binary.LittleEndian.PutUint16(tail[10:], uint16(n))
	binary.LittleEndian.PutUint32(tail[12:], uint32(n*len(entry)))
	return append(b, tail...)
}

// A wheel of usual content is unpacked, also a large one: the limits are for the sum.
func TestUnpackAllows(t *testing.T) {
	if _, err := Unpack(nil, wheel(t, "a.py="+strings.Repeat("a", 15<<20)), overlap(t, 1)); err != nil {
		t.Error(err)
	}
}

// A real Python takes modules of its standard library first, then the packages, then those
// of the machine, and runs nothing of a wheel at its start.
func TestPythonOrder(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	py, err := Probe(t.Context(), python, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	evil := "=raise SystemExit('a wheel runs instead of Python')"
	w := wheel(t, "good.py=text = 'good'", "json.py"+evil, "encodings/__init__.py"+evil, "os.py"+evil, "msvcrt.py"+evil, "_winapi.py"+evil,
		"org/python/core.py"+evil, "org/__init__.py"+evil, "x.pth=import sys; sys.exit('pth')", "a-1.data/purelib/subprocess.py"+evil)
	run := func(list []string, program string) string {
		t.Helper()
		files, err := Unpack(list, w)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			file := filepath.Join(dir, filepath.FromSlash(f.Rel))
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, f.Bytes, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		c := exec.Command(python, "-c", program)
		c.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(dir, SiteDir), "PYTHONNOUSERSITE=1", "PYTHONDONTWRITEBYTECODE=1")
		out, _ := c.CombinedOutput()
		return strings.TrimSpace(string(out))
	}
	const order = `import copy, json, os, pickle, subprocess, sys, good
i = sys.path.index(os.path.dirname(good.__file__))
std = sys.path.index(os.path.dirname(os.__file__))
print(good.text, std < i, all(k > i for k, p in enumerate(sys.path) if p.endswith("-packages")), any(p.endswith("site") for p in sys.path))`
	if got := run(py.Stdlib, order); got != "good True True False" {
		t.Error(got)
	}
	// Control: if the names were not left out, the order alone does not keep those that Python
	// lacks on this system.
	if got := run(nil, order); runtime.GOOS == "linux" && got != "a wheel runs instead of Python" {
		t.Errorf("the control: %s", got)
	}
}

func TestReadResolution(t *testing.T) {
	one := "[[packages]]\nname = \"six\"\nversion = \"1.0\"\n"
	found, err := read([]byte("lock-version = \"1.0\"\n" + one + "wheels = [{ url = \"https://x.test/six.whl\", upload-time = 2024-12-04T17:35:26Z, hashes = { sha256 = \"" + strings.Repeat("a", 64) + "\" } }]\n"))
	if err != nil || len(found) != 1 || found[0].Name != "six" || found[0].SHA256 != strings.Repeat("a", 64) {
		t.Errorf("%+v %v", found, err)
	}
	for _, bad := range []string{one, one + "sdist = { url = \"https://x.test/six.tar.gz\" }\n", one + "wheels = [{ url = \"https://x.test/six.whl\" }]\n", "broken = ["} {
		if _, err := read([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func codeAndText(err error) string { return string(diag.CodeOf(err)) + " " + err.Error() }
