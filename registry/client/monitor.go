package client

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

const monitorDir = "monitor"

// Seen is an entry of the log with its number.
type Seen struct {
	Index int64
	*log.Entry
	// Unproven is why the statement that the entry names does not show that a key of the
	// namespace demanded it, "" if it does, or if the operator made the entry.
	Unproven string
}

// Monitor returns the entries about a namespace since the last call, proven, and records
// how far it read.
func (h *Host) Monitor(ctx context.Context, ns string) ([]Seen, error) {
	if err := wire.CheckNamespace(ns); err != nil {
		return nil, err
	}
	name := monitorDir + "/" + ns
	var read log.Tree // what was read before
	b, err := openat.ReadRegular(h.dir.Path(name), 256)
	if err == nil {
		read, err = log.ParseTree(strings.TrimSpace(string(b)))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, diag.New(diag.FileSystemError, "reading how far %s was monitored: %w; remove %s to read the log from its first entry", ns, err, h.dir.Path(name))
	default:
		// The entries of another history that came before this number were never read.
		if err := h.Check(ctx, Known{
			Host: h.Name,
			Key:  h.Pin.Key,
			Tree: read,
			From: h.dir.Path(name),
		}); err != nil {
			return nil, err
		}
	}
	tree := h.Checkpoint().Tree
	var out []Seen
	err = h.proven(tree, func(r *log.Reader) error {
		out = nil
		for n := read.Size; n < tree.Size; n++ {
			raw, err := r.Entry(ctx, n)
			if err != nil {
				return err
			}
			e, err := log.ParseEntry(raw)
			if err != nil {
				return err
			}
			if e.Namespace == ns || strings.HasPrefix(e.ID, ns+"/") {
				out = append(out, Seen{Index: n, Entry: e})
			}
		}
		return nil
	})
	if err != nil {
		return nil, h.proofError("reading the log", err)
	}
	all := wire.NewStatements(h.read, h.Name, keyIn)
	for i := range out {
		err := all.Check(ctx, out[i].Entry)
		if err != nil {
			if ctx.Err() != nil || diag.CodeOf(err) == diag.Network {
				return nil, err
			}
			out[i].Unproven = printable(err.Error())
		}
	}
	err = h.dir.Write(name, []byte(tree.String()+"\n"), 0o600)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "recording how far %s was monitored: %w", ns, err)
	}
	return out, nil
}

// read implements log.Source for all files of the registry.
func (h *Host) read(
	ctx context.Context,
	p string,
	limit int64,
) (b []byte, err error) {
	err = h.remote.get(ctx, p, limit, "", func(f file) error { b = f.body; return nil })
	return b, err
}

// Unproven returns the entries whose statement is missing or a different one.
func Unproven(list []Seen) []Seen {
	return slices.DeleteFunc(slices.Clone(list), func(s Seen) bool {
		return s.Unproven == ""
	})
}

// Foreign returns the entries that none of the keys demanded: entries of other keys, and
// entries of the operator, except that one of the keys was bound.
func Foreign(list []Seen, keys []string) []Seen {
	return slices.DeleteFunc(slices.Clone(list), func(s Seen) bool {
		if s.Type == log.Binding {
			return slices.Contains(keys, s.Key)
		}
		return s.Statement != "" && slices.Contains(keys, s.Publisher)
	})
}
