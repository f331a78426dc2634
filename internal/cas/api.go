package cas

import (
	"errors"
	"os"
)

// File returns the path of a read-only file that holds b, whose SHA-256 is digest.
func (s *Store) File(digest [32]byte, name string, b []byte) (string, error) {
	return "", errors.ErrUnsupported
}

// Executable is File with the execute bits set.
func (s *Store) Executable(digest [32]byte, name string, b []byte) (string, error) {
	return "", errors.ErrUnsupported
}

// Tree returns the path of a read-only folder that holds exactly files.
func (s *Store) Tree(files []TreeFile) (string, error) { return "", errors.ErrUnsupported }

// Memfd returns a sealed file in memory that holds b.
func Memfd(name string, b []byte) (*os.File, error) { return nil, errors.ErrUnsupported }
