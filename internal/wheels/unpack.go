package wheels

import (
	"archive/zip"
	"bytes"
	_ "embed" // for sitecustomize.py
	"errors"
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
	// Real wheels unpack to at most about ten times their size. A small one may consist of
	// very regular text.
	maxRatio  = 25
	freeBytes = 16 << 20
)

// Directories of the tree that Unpack returns.
const (
	SiteDir    = "site"     // for PYTHONPATH: it has only rye's own sitecustomize.py
	packageDir = "packages" // the modules of the wheels
)

//go:embed sitecustomize.py
var siteCustomize []byte

// startup reports whether a file is of a module that Python runs at every start if it is on
// its path.
func startup(name string) bool {
	top := strings.ToLower(module(name))
	return top == "sitecustomize" || top == "usercustomize"
}

// module returns the name of the top-level module that a file belongs to.
func module(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 {
		return name[:i]
	}
	return name
}

// optional reports whether a file is of a module that no Python has and that modules of the
// standard library import if it exists: copy and pickle import org.python.core of Jython.
func optional(name string) bool {
	switch module(name) {
	case "_winreg", "java", "vms_lib":
		return true
	case "org":
		return strings.HasPrefix(name, "org/python/") ||
			strings.HasPrefix(name, "org/python.") ||
			strings.HasPrefix(name, "org/__init__.") ||
			path.Dir(name) == "."
	}
	return false
}

// Unpack returns the modules of wheels and a file that puts them behind the standard
// library, as one tree (see SiteDir). Scripts, headers and data outside of the library are
// left out, and so are .pth files and modules with a name of the standard library, which
// stdlib lists: Python would import those where it lacks its own, such as msvcrt. A module
// that Python would run at every start, and a path that leaves the tree, are errors.
//
// The declared sizes of all wheels are added before the first file is read.
func Unpack(stdlib []string, wheels ...[]byte) ([]cas.TreeFile, error) {
	u := unpacker{seen: map[string]int{}, stdlib: map[string]bool{}}
	for _, name := range stdlib {
		u.stdlib[name] = true
	}
	for _, b := range wheels {
		if err := u.list(b); err != nil {
			return nil, err
		}
	}
	if err := u.checkSize(); err != nil {
		return nil, err
	}
	for _, f := range u.members {
		if err := u.add(f); err != nil {
			return nil, err
		}
	}
	return append(u.files, cas.TreeFile{Rel: SiteDir + "/sitecustomize.py", Bytes: siteCustomize}), nil
}

type unpacker struct {
	stdlib  map[string]bool
	members []member
	entries int    // of all wheels, with those that are left out
	packed  int64  // bytes of all wheels
	size    uint64 // declared bytes of the members
	files   []cas.TreeFile
	seen    map[string]int // lower-case path: index in files
}

// member is a file of a wheel that is unpacked.
type member struct {
	file *zip.File
	rel  string
}

// centralHeader begins the entry of a file in the directory of a zip.
const centralHeader = "PK\x01\x02"

// list adds the files of a wheel to the members.
func (u *unpacker) list(b []byte) error {
	// The reader of zip makes a structure for each entry, so their number is bounded before.
	// The compressed bytes can contain the text of a header by chance, a few times at most.
	const chance = 100
	if u.entries+bytes.Count(b, []byte(centralHeader)) > MaxFiles+chance {
		return tooMany()
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return diag.New(diag.ParsingError, "reading a wheel: %w", err)
	}
	if u.entries += len(z.File); u.entries > MaxFiles {
		return tooMany()
	}
	u.packed += int64(len(b))
	for _, f := range z.File {
		rel, use, err := u.target(f)
		if err != nil {
			return err
		}
		if !use {
			continue
		}
		// Each size alone is compared before it is added: the sum cannot overflow.
		if f.UncompressedSize64 > MaxUnpacked {
			return tooLarge(MaxUnpacked)
		}
		u.size += f.UncompressedSize64
		u.members = append(u.members, member{f, rel})
	}
	return nil
}

func tooMany() error {
	return diag.New(diag.TooLarge, "unpacking wheels: more than %d files", MaxFiles).WithReason("wheel_size")
}

func tooLarge(limit uint64) error {
	return diag.New(diag.TooLarge, "unpacking wheels: their files are larger than %d MiB", limit>>20).WithReason("wheel_size")
}

// checkSize refuses wheels whose files are larger than real ones of their size.
func (u *unpacker) checkSize() error {
	if u.size > MaxUnpacked {
		return tooLarge(MaxUnpacked)
	}
	if limit := freeBytes + maxRatio*uint64(u.packed); u.size > limit {
		return diag.New(diag.TooLarge, "unpacking wheels: %d MiB of wheels have files of %d MiB, more than %d times their size", u.packed>>20, u.size>>20, maxRatio).
			WithReason("wheel_size")
	}
	return nil
}

// target returns the path of a file of a wheel in the tree.
func (u *unpacker) target(f *zip.File) (rel string, use bool, err error) {
	name := f.Name
	if strings.HasSuffix(name, "/") {
		return "", false, nil
	}
	if !fs.ValidPath(name) ||
		name == "." ||
		strings.ContainsAny(name, "\\:\x00") ||
		f.Mode()&^fs.ModePerm != 0 {
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
	if u.stdlib[module(name)] || optional(name) {
		return "", false, nil
	}
	return name, !(path.Dir(name) == "." && strings.HasSuffix(strings.ToLower(name), ".pth")), nil
}

// add reads a file. Its real size must be the declared one.
func (u *unpacker) add(m member) error {
	r, err := m.file.Open()
	if err != nil {
		return diag.New(diag.ParsingError, "reading %q of a wheel: %w", m.file.Name, err)
	}
	defer r.Close()
	// One byte more: the reader of zip compares size and checksum at the end of the file only.
	b := make([]byte, m.file.UncompressedSize64+1)
	n, err := io.ReadFull(r, b)
	if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) ||
		uint64(n) != m.file.UncompressedSize64 {
		return diag.New(diag.ParsingError, "reading %q of a wheel: it does not have the %d bytes that the wheel declares, or another checksum", m.file.Name, m.file.UncompressedSize64)
	}
	b = b[:n]
	i, ok := u.seen[strings.ToLower(m.rel)]
	if ok {
		// Packages that share a namespace have equal files.
		if u.files[i].Rel == packageDir+"/"+m.rel &&
			slices.Equal(u.files[i].Bytes, b) {
			return nil
		}
		return diag.New(diag.PathEscape, "unpacking wheels: two of them have a file %q", m.rel)
	}
	u.seen[strings.ToLower(m.rel)] = len(u.files)
	u.files = append(u.files, cas.TreeFile{Rel: packageDir + "/" + m.rel, Bytes: b})
	return nil
}
