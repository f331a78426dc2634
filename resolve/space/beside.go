package space

import (
	"io/fs"
	"path"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
)

// neighbours are Files that also know what stands beside .ai.
type neighbours interface {
	// Beside returns a file's bytes and whether it is executable. A missing
	// file satisfies IsMissing.
	Beside(name string, limit int64) (b []byte, executable bool, err error)
}

// Beside returns the bytes of a file that stands beside .ai, such as rye.yaml,
// and whether it is executable. A missing file satisfies IsMissing.
func (r *Root) Beside(name string, limit int64) (b []byte, executable bool, err error) {
	switch files, ok := r.files.(neighbours); {
	case ok:
		return files.Beside(name, limit)
	case r.files != nil:
		return nil, false, &fs.PathError{Op: "reading", Path: name, Err: fs.ErrNotExist}
	case r.Embedded():
		b, err = fs.ReadFile(r.embedded, name)
		if err == nil && int64(len(b)) > limit {
			err = diag.New(diag.TooLarge, "reading %s: it has %d bytes, at most %d are allowed", name, len(b), limit)
		}
		return b, false, err
	}
	b, info, err := openat.Read(r.Base, path.Clean(name), limit)
	return b, info.Mode&0o111 != 0, err
}
