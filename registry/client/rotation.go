package client

import (
	"context"
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/trust/doc"
)

// maxRotations bounds the chain of log keys.
const maxRotations = 16

const rotationsDir = "rotations"

// RotationPath returns the path of the document that replaces a log key, below the log.
func RotationPath(key string) string {
	return "/rotation/" + keyHash(key) + ".toml"
}

// keyHash returns the middle part of NAME+HASH+KEY.
func keyHash(key string) string {
	_, rest, _ := strings.Cut(key, "+")
	hash, _, _ := strings.Cut(rest, "+")
	return hash
}

// rotate replaces the key of the host by the one in a document that the key signed.
func (h *Host) rotate(ctx context.Context) error {
	key := h.Pin.Key
	return h.remote.get(ctx, wire.LogPath+RotationPath(key), doc.MaxDocument, "", func(f file) error {
		d, err := h.rotation(key, f.body)
		if err != nil {
			return err
		}
		err = h.dir.Write(
			path.Join(rotationsDir, keyHash(key)+".toml"),
			f.body,
			0o600,
		)
		if err != nil {
			return diag.New(diag.FileSystemError, "keeping the rotation of the log key of %s: %w", h.Name, err)
		}
		h.replace(d)
		return nil
	})
}

// followSaved applies the rotations that were verified before.
func (h *Host) followSaved() {
	for range maxRotations {
		b, err := openat.ReadRegular(
			h.dir.Path(path.Join(rotationsDir, keyHash(h.Pin.Key)+".toml")),
			doc.MaxDocument,
		)
		if err != nil {
			return
		}
		d, err := h.rotation(h.Pin.Key, b)
		if err != nil {
			return // the checkpoint decides: with another key it is refused
		}
		h.replace(d)
	}
}

func (h *Host) replace(d *doc.Registry) {
	h.Pin.Key = d.LogKey
	h.chain = append(h.chain, d.LogKey)
	h.notes = append(h.notes, "registry "+h.Name+" has a new log key, which the one before signed: "+d.LogKey)
}

// rotation returns the document that replaces a key, signed by that key.
func (h *Host) rotation(key string, b []byte) (*doc.Registry, error) {
	parsed, fs := doc.Parse(doc.RegistryFile(h.Name), b)
	d := doc.As[*doc.Registry](parsed, fs)
	switch {
	case d == nil:
		return nil, diag.FromFindings("reading the rotation of the log key of "+h.Name, fs)
	case d.Replaces != key:
		return nil, diag.New(diag.KeyUnknown, "reading the rotation of the log key of %s: it replaces another key", h.Name)
	case h.hasKey(d.LogKey):
		return nil, diag.New(diag.KeyUnknown, "reading the rotation of the log key of %s: it leads back to an earlier key", h.Name)
	}
	return d, log.CheckKey(d.LogKey)
}
