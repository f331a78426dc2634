package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

// Seen is an entry of the log with its number.
type Seen struct {
	Index int64
	*log.Entry
}

// Monitor returns the entries about a namespace since the last call, proven, and records
// how far it read.
func (h *Host) Monitor(ctx context.Context, ns string) ([]Seen, error) {
	if err := wire.CheckNamespace(ns); err != nil {
		return nil, err
	}
	name := "monitor/" + ns
	from := int64(0)
	b, err := openat.ReadRegular(h.dir.Path(name), 64)
	if err == nil {
		from, err = strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diag.New(diag.FileSystemError, "reading how far %s was monitored: %w", ns, err)
	}
	size := h.Checkpoint().Tree.Size
	var out []Seen
	err = h.proven(h.Checkpoint().Tree, func(r *log.Reader) error {
		out = nil
		for n := from; n < size; n++ {
			raw, err := r.Entry(ctx, n)
			if err != nil {
				return err
			}
			e, err := log.ParseEntry(raw)
			if err != nil {
				return err
			}
			if e.Namespace == ns || strings.HasPrefix(e.ID, ns+"/") {
				out = append(out, Seen{n, e})
			}
		}
		return nil
	})
	if err != nil {
		return nil, h.proofError("reading the log", err)
	}
	if err := h.dir.Write(name, fmt.Appendf(nil, "%d\n", size), 0o600); err != nil {
		return nil, diag.New(diag.FileSystemError, "recording how far %s was monitored: %w", ns, err)
	}
	return out, nil
}

// Foreign returns the releases whose publisher is not one of the keys.
func Foreign(list []Seen, keys []string) []Seen {
	return slices.DeleteFunc(slices.Clone(list), func(s Seen) bool { return s.Type != log.Release || slices.Contains(keys, s.Publisher) })
}
