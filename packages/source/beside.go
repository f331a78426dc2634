package source

import (
	"context"
)

// FileReader is a source that reads single files of an origin that bundles do not
// include, such as trust documents.
type FileReader interface {
	// ReadFile returns a file next to the files of the bundle, at most limit bytes. The
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
func (m Multi) ReadFile(
	ctx context.Context,
	o Origin,
	name string,
	limit int64,
) ([]byte, error) {
	s, err := m.of(o.ID)
	if err != nil {
		return nil, err
	}
	return ReadFile(ctx, s, o, name, limit)
}

// ReadFile implements FileReader.
func (r *retry) ReadFile(
	ctx context.Context,
	o Origin,
	name string,
	limit int64,
) (b []byte, err error) {
	err = r.do(ctx, func() error { b, err = ReadFile(ctx, r.s, o, name, limit); return err })
	return b, err
}

// Stater is a source whose releases have a state that changes after they were published.
type Stater interface {
	// State returns the state of a release, "" or "ok" for one without a restriction, and
	// the publisher's reason.
	State(ctx context.Context, o Origin) (state, reason string, err error)
}

// StateOf returns the state of a release. A source that is not a Stater has none.
func StateOf(ctx context.Context, s Source, o Origin) (state, reason string, err error) {
	if r, ok := s.(Stater); ok {
		return r.State(ctx, o)
	}
	return "", "", nil
}

// State implements Stater.
func (m Multi) State(ctx context.Context, o Origin) (state, reason string, err error) {
	s, err := m.of(o.ID)
	if err != nil {
		return "", "", err
	}
	return StateOf(ctx, s, o)
}
