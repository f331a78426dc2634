package log

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Files stores the files of a log by their path below it. Write replaces a file as one
// change that is durable when it returns.
type Files interface {
	Read(ctx context.Context, path string, limit int64) ([]byte, error) // as Source
	Write(path string, b []byte) error
}

// Writer appends to a log. One Writer at a time may use the files. It is not safe for
// concurrent use.
type Writer struct {
	files  Files
	origin string
	signer *Signer
	tree   Tree
	note   []byte
	edge   map[int64]Hash // stored hashes that later entries need
	broken error          // why the tree of the checkpoint in the files is not known
}

// Open returns the writer of a log. Files without a checkpoint are a new log: it gets the
// checkpoint of the empty tree. An existing checkpoint must have the signature of key.
func Open(ctx context.Context, files Files, origin string, signer *Signer, key string) (*Writer, error) {
	w := &Writer{
		files:  files,
		origin: origin,
		signer: signer,
		tree:   EmptyTree(),
	}
	msg, err := files.Read(ctx, CheckpointName, MaxCheckpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return w, w.publish(ctx)
	}
	if err != nil {
		return nil, err
	}
	c, err := Verifier{Origin: origin, Key: key}.Verify(msg)
	if err != nil {
		return nil, fmt.Errorf("reading the checkpoint: %w", err)
	}
	w.tree = c.Tree
	w.note = msg
	return w, w.load(ctx)
}

// load reads the right edge of the tree: the hashes that the next entries are combined
// with, and the hashes of the partial tiles that will be written again.
func (w *Writer) load(ctx context.Context) error {
	w.edge = map[int64]Hash{}
	if w.tree.Size == 0 {
		return nil
	}
	return NewReader(w.files.Read, w.tree).hashes(ctx, func(h tlog.HashReader) error {
		var need []int64
		for level := 0; w.tree.Size>>(level*Height) > 0; level++ {
			have := w.tree.Size >> (level * Height)
			for n := have &^ (Width - 1); n < have; n++ {
				need = append(need, subtree(level, n)...)
			}
		}
		got, err := h.ReadHashes(need)
		if err != nil {
			return err
		}
		for i, x := range need {
			w.edge[x] = got[i]
		}
		return nil
	})
}

// subtree returns the stored hashes that a hash of a tile adds: its own and the hashes of
// the complete nodes above it in the same tile.
func subtree(level int, n int64) (out []int64) {
	for l := 0; l < Height; l++ {
		out = append(out, tlog.StoredHashIndex(level*Height+l, n>>l))
		if n>>l&1 == 0 {
			break // its sibling does not exist yet
		}
	}
	return out
}

// Tree returns the tree of the newest checkpoint.
func (w *Writer) Tree() Tree {
	return w.tree
}

// Checkpoint returns the newest checkpoint.
func (w *Writer) Checkpoint() []byte {
	return w.note
}

// Broken returns why Append fails until the log is opened again, nil if it does not.
func (w *Writer) Broken() error {
	return w.broken
}

// Append adds entries and returns the number of the first. When it returns, entries,
// tiles and checkpoint are durable. After an error the log has its state from before: files
// that a checkpoint does not cover are overwritten by the next call. If the checkpoint may
// have been published in spite of the error, every later call fails, until the log is
// opened again: another checkpoint of this size would be a second history.
func (w *Writer) Append(ctx context.Context, list ...[]byte) (first int64, err error) {
	if w.broken != nil {
		return 0, fmt.Errorf("appending to the log: it must be opened again: %w", w.broken)
	}
	for _, e := range list {
		if len(e) == 0 || len(e) > MaxEntry {
			return 0, fmt.Errorf("appending an entry: it has %d bytes, at most %d are allowed", len(e), MaxEntry)
		}
	}
	before := w.tree
	edge := maps.Clone(w.edge)
	if err := w.append(ctx, list); err != nil {
		w.tree = before
		w.edge = edge
		return 0, err
	}
	return before.Size, nil
}

func (w *Writer) append(ctx context.Context, list [][]byte) error {
	old := w.tree.Size
	if w.edge == nil {
		w.edge = map[int64]Hash{}
	}
	for i, e := range list {
		n := old + int64(i)
		h, err := tlog.StoredHashes(n, e, w)
		if err != nil {
			return err
		}
		at := tlog.StoredHashIndex(0, n)
		for j, x := range h {
			w.edge[at+int64(j)] = x
		}
	}
	w.tree.Size += int64(len(list))
	var err error
	if w.tree.Root, err = tlog.TreeHash(w.tree.Size, w); err != nil {
		return err
	}
	if err := w.writeEntries(ctx, old, list); err != nil {
		return err
	}
	for _, t := range tlog.NewTiles(Height, old, w.tree.Size) {
		b, err := tlog.ReadTileData(t, w)
		if err == nil {
			err = w.files.Write(tilePath(t), b)
		}
		if err != nil {
			return fmt.Errorf("writing %s: %w", tilePath(t), err)
		}
	}
	// Last: a checkpoint must not name a tree whose files may be missing after a loss of
	// power.
	if err := w.publish(ctx); err != nil {
		return err
	}
	w.trim()
	return nil
}

// writeEntries writes the entry bundles that have new entries.
func (w *Writer) writeEntries(ctx context.Context, old int64, list [][]byte) error {
	var b []byte
	if have := int(old % Width); have > 0 {
		t := bundleOf(old-1, old)
		got, err := NewReader(
			w.files.Read,
			Tree{Size: old},
		).read(ctx, t, maxBundle)
		if err != nil {
			return fmt.Errorf("reading %s: %w", tilePath(t), err)
		}
		kept, err := parseWidest(got, have)
		if err != nil {
			return fmt.Errorf("reading %s: %w", tilePath(t), err)
		}
		for _, e := range kept[:have] {
			b = AppendEntry(b, e)
		}
	}
	for i, e := range list {
		b = AppendEntry(b, e)
		n := old + int64(i) + 1
		if n%Width != 0 && n != w.tree.Size {
			continue
		}
		t := bundleOf(n-1, n)
		err := w.files.Write(tilePath(t), b)
		if err != nil {
			return fmt.Errorf("writing %s: %w", tilePath(t), err)
		}
		b = nil
	}
	return nil
}

// publish signs and writes the checkpoint of the tree. A write that failed may have replaced
// the file before, and readers may have the checkpoint.
func (w *Writer) publish(ctx context.Context) error {
	msg, err := w.signer.Sign(w.origin, w.tree)
	if err != nil {
		return err
	}
	if err := w.files.Write(CheckpointName, msg); err != nil {
		err = fmt.Errorf("writing the checkpoint: %w", err)
		have, bad := w.files.Read(context.WithoutCancel(ctx), CheckpointName, MaxCheckpoint)
		if bad != nil || !bytes.Equal(have, w.note) {
			w.broken = err
		}
		return err
	}
	w.note = msg
	return nil
}

// Own returns the newest checkpoint with the signature of the log alone.
func (w *Writer) Own() ([]byte, error) {
	return w.signer.Sign(w.origin, w.tree)
}

// Cosigned writes the newest checkpoint with cosignatures of witnesses, which the caller has
// verified. If it does not change, nothing is written.
func (w *Writer) Cosigned(ctx context.Context, lines ...string) error {
	checkpoint, err := w.Own()
	if err != nil {
		return err
	}
	msg := append(checkpoint, strings.Join(lines, "")...)
	switch {
	case w.broken != nil:
		return w.broken
	case bytes.Equal(msg, w.note):
		return nil
	case len(msg) > MaxCheckpoint:
		return fmt.Errorf("adding cosignatures: the checkpoint would have %d bytes, at most %d are allowed", len(msg), MaxCheckpoint)
	}
	if err := w.files.Write(CheckpointName, msg); err != nil {
		have, bad := w.files.Read(context.WithoutCancel(ctx), CheckpointName, MaxCheckpoint)
		if bad == nil && bytes.Equal(have, msg) {
			w.note = msg
		}
		return fmt.Errorf("writing the checkpoint: %w", err)
	}
	w.note = msg
	return nil
}

// trim forgets hashes of complete tiles that no later entry needs.
func (w *Writer) trim() {
	for _, x := range slices.Collect(maps.Keys(w.edge)) {
		level, n := tlog.SplitStoredHashIndex(x)
		full := w.tree.Size >> level // complete nodes of that level
		top := level / Height * Height
		if n < full&^(1<<(Height-(level-top))-1) {
			delete(w.edge, x)
		}
	}
}

// ReadHashes implements tlog.HashReader for the right edge.
func (w *Writer) ReadHashes(indexes []int64) ([]Hash, error) {
	out := make([]Hash, len(indexes))
	for i, x := range indexes {
		h, ok := w.edge[x]
		if !ok {
			return nil, fmt.Errorf("reading stored hash %d: it is not at the right edge", x)
		}
		out[i] = h
	}
	return out, nil
}
