package wheels

import (
	"archive/zip"
	"bytes"
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
	files, err := Unpack(
		wheel(t, "ns/__init__.py=", "ns/a.py=a", "a-1.dist-info/METADATA=m", "a-1.data/scripts/run=x", "a-1.data/purelib/p.py=p", "a.pth=import evil", "ns/x.pth=data"),
		wheel(t, "ns/__init__.py=", "ns/b.py=b"))
	var got []string
	for _, f := range files {
		got = append(got, f.Rel+"="+string(f.Bytes))
	}
	want := []string{"ns/__init__.py=", "ns/a.py=a", "a-1.dist-info/METADATA=m", "p.py=p", "ns/x.pth=data", "ns/b.py=b"}
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
		"not a wheel":     {[][]byte{[]byte("text")}, "PARSING_ERROR"},
	} {
		if _, err := Unpack(c.wheels...); err == nil || !strings.Contains(codeAndText(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
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
