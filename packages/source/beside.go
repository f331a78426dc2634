package source

import (
	"context"
)

// FileReader is a source that reads single files of an origin that bundles do not
// include, such as trust documents.
type FileReader interface {
	// ReadFile returns a file next to those of the bundle, at most limit bytes. The
	// error for a missing one is SOURCE_NOT_FOUND.
	ReadFile(ctx context.Context, o Origin, name string, limit int64) ([]byte, error)
}

// ReadFile returns a file of an origin that is not part of its bundle. A source that
// is not a FileReader has none.
func ReadFile(ctx context.Context, s Source, o Origin, name string, limit int64) ([]byte, error) {
	if r, ok := s.(FileReader); ok {
		return r.ReadFile(ctx, o, name, limit)
	}
	return nil, NotCached(name + " of " + o.ID.String())
}

// ReadFile implements FileReader.
func (m Multi) ReadFile(ctx context.Context, o Origin, name string, limit int64) ([]byte, error) {
	s, err := m.of(o.ID)
	if err != nil {
		return nil, err
	}
	return ReadFile(ctx, s, o, name, limit)
}

// ReadFile implements FileReader.
func (r *retry) ReadFile(ctx context.Context, o Origin, name string, limit int64) (b []byte, err error) {
	err = r.do(ctx, func() error { b, err = ReadFile(ctx, r.s, o, name, limit); return err })
	return b, err
}
