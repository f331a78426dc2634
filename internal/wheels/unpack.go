package wheels

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cas"
)

// Limits of the files of all wheels of a tool.
const (
	MaxFiles    = 50_000
	MaxUnpacked = 1 << 30 // bytes
)

// startup reports whether a file is of a module that Python runs at every start if it is on
// its path.
func startup(name string) bool {
	top := strings.ToLower(name[:len(name)-len(strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))])
	return (top == "sitecustomize" || top == "usercustomize") && (len(name) == len(top) || name[len(top)] == '.' || name[len(top)] == '/')
}

// Unpack returns the modules of wheels as one tree for the path of Python. Scripts,
// headers and data outside of the library are left out, and so are .pth files. A module
// that Python would run at every start, and a path that leaves the tree, are errors.
func Unpack(wheels ...[]byte) ([]cas.TreeFile, error) {
	u := unpacker{seen: map[string]int{}}
	for _, b := range wheels {
		if err := u.wheel(b); err != nil {
			return nil, err
		}
	}
	return u.files, nil
}

type unpacker struct {
	files []cas.TreeFile
	seen  map[string]int // lower-case path: index in files
	size  int64
}

func (u *unpacker) wheel(b []byte) error {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return diag.New(diag.ParsingError, "reading a wheel: %w", err)
	}
	for _, f := range z.File {
		rel, use, err := target(f)
		if err != nil {
			return err
		}
		if use {
			if err := u.add(f, rel); err != nil {
				return err
			}
		}
	}
	return nil
}

// target returns the path of a file of a wheel in the tree.
func target(f *zip.File) (rel string, use bool, err error) {
	name := f.Name
	if strings.HasSuffix(name, "/") {
		return "", false, nil
	}
	if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\:\x00") || f.Mode()&^fs.ModePerm != 0 {
		return "", false, diag.New(diag.PathEscape, "reading a wheel: %q is not a regular file inside of it", name)
	}
	top, rest, _ := strings.Cut(name, "/")
	if strings.HasSuffix(top, ".data") {
		scheme, inner, ok := strings.Cut(rest, "/")
		if !ok || scheme != "purelib" && scheme != "platlib" {
			return "", false, nil
		}
		name = inner
	}
	if startup(name) {
		return "", false, diag.New(diag.PolicyDenied, "reading a wheel: Python would run %q at every start", name)
	}
	return name, !(path.Dir(name) == "." && strings.HasSuffix(strings.ToLower(name), ".pth")), nil
}

func (u *unpacker) add(f *zip.File, rel string) error {
	if len(u.files) == MaxFiles {
		return diag.New(diag.TooLarge, "unpacking wheels: more than %d files", MaxFiles)
	}
	r, err := f.Open()
	if err != nil {
		return diag.New(diag.ParsingError, "reading %q of a wheel: %w", f.Name, err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, MaxUnpacked-u.size+1))
	if err != nil {
		return diag.New(diag.ParsingError, "reading %q of a wheel: %w", f.Name, err)
	}
	if u.size += int64(len(b)); u.size > MaxUnpacked {
		return diag.New(diag.TooLarge, "unpacking wheels: more than %d MiB", MaxUnpacked>>20)
	}
	if i, ok := u.seen[strings.ToLower(rel)]; ok {
		// Packages that share a namespace have equal files.
		if u.files[i].Rel == rel && slices.Equal(u.files[i].Bytes, b) {
			return nil
		}
		return diag.New(diag.PathEscape, "unpacking wheels: two of them have a file %q", rel)
	}
	u.seen[strings.ToLower(rel)] = len(u.files)
	u.files = append(u.files, cas.TreeFile{Rel: rel, Bytes: b})
	return nil
}
