package memo

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/owner"
)

const (
	secretName = "secret"
	secretSize = 32
)

// readSecret returns the secret of the memo, nil if it does not exist or if a crash left a
// part of one. A secret that another user may know or choose is an error: he could add
// facts.
func readSecret(dir *openat.Folder) ([]byte, error) {
	if err := owner.Private(dir.Path(), ""); err != nil {
		return nil, unsafe(dir.Path(), err)
	}
	f, err := dir.OpenFile(secretName, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, diag.Doing("opening the memo", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, diag.Doing("opening the memo", err)
	}
	err = owner.Secret(filepath.Join(dir.Path(), secretName), fi)
	if err != nil {
		return nil, unsafe(filepath.Join(dir.Path(), secretName), err)
	}
	b, err := io.ReadAll(io.LimitReader(f, secretSize+1))
	if err != nil {
		return nil, diag.Doing("opening the memo", err)
	}
	if len(b) != secretSize {
		return nil, nil
	}
	return b, nil
}

func unsafe(path string, err error) error {
	return diag.New(diag.ConfigError, "opening the memo: %w", err).
		WithReason("memo_secret").
		WithDetail("path", path)
}

// makeSecret returns a new secret, or the secret of a process that was faster. It
// replaces a file that readSecret accepts and that is not a secret.
func makeSecret(path string, random io.Reader) ([]byte, error) {
	fresh := make([]byte, secretSize)
	if _, err := io.ReadFull(random, fresh); err != nil {
		return nil, err
	}
	base := atomicfile.Private(path)
	err := base.Create(secretName, fresh, 0o600)
	if err == nil {
		return fresh, nil
	}
	dir, openErr := base.Open(".")
	if openErr != nil {
		return nil, openErr
	}
	defer dir.Close()
	secret, err := readSecret(dir)
	if err != nil || secret != nil {
		return secret, err
	}
	return fresh, base.Write(secretName, fresh, 0o600)
}
