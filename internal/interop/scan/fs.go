package scan

import (
	"cmp"
	"github.com/ryeos/rye/lock/treehash"
	"io/fs"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// files is the source of a directory.
type files struct {
	fsys fs.FS
	list []treehash.File
}

// FS returns the files of a directory as a source. The directory .git is left out.
func FS(fsys fs.FS) (Source, error) {
	out := &files{fsys: fsys}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		file, err := out.file(p, d)
		out.list = append(out.list, file)
		return err
	})
	slices.SortFunc(out.list, func(a, b treehash.File) int {
		return cmp.Compare(a.Path, b.Path)
	})
	if err != nil {
		return nil, diag.Doing("reading the files", err)
	}
	return out, nil
}

func (f *files) file(p string, d fs.DirEntry) (treehash.File, error) {
	info, err := d.Info()
	if err != nil {
		return treehash.File{}, err
	}
	out := treehash.File{Path: p, Mode: treehash.Regular, Size: info.Size()}
	switch {
	case !info.Mode().IsRegular():
		// a link, a device or a pipe: none is opened
		out.Mode = treehash.Mode(0o120000)
		return out, nil
	case info.Mode()&0o111 != 0:
		out.Mode = treehash.Executable
	}
	if out.Size > treehash.MaxFile {
		// it is refused without its digest
		return out, nil
	}
	b, err := fs.ReadFile(f.fsys, p)
	out.Digest = item.DigestOf(b)
	return out, err
}

// Files implements Source.
func (f *files) Files() []treehash.File {
	return f.list
}

// Read implements Source.
func (f *files) Read(p string) ([]byte, error) {
	return fs.ReadFile(f.fsys, p)
}
