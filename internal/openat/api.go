package openat

import "errors"

// Dir is an open trusted folder.
type Dir struct{}

// Open opens the trusted folder root.
func Open(root string) (*Dir, error) { return nil, errors.ErrUnsupported }

// Read is the function Read below an open folder.
func (d *Dir) Read(rel string, max int64) ([]byte, Info, error) {
	return nil, Info{}, errors.ErrUnsupported
}

// Close releases the folder.
func (d *Dir) Close() error { return nil }

// Walk lists everything below rel ("." is the folder itself) and follows no link.
func (d *Dir) Walk(rel string, fn func(rel string, e Entry) error) error {
	return errors.ErrUnsupported
}

// CheckRel refuses a path that is not canonical.
func CheckRel(rel string) error { return nil }
