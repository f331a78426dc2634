package log

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/tlog"
)

// Source returns the file of a log with a path below it, at most limit bytes. The error
// for a missing file satisfies errors.Is(err, fs.ErrNotExist).
type Source func(ctx context.Context, path string, limit int64) ([]byte, error)

// Errors of a Reader. An error of the Source is returned as it is.
var (
	ErrProof        = errors.New("it is not part of the signed tree")
	ErrInconsistent = errors.New("one tree is not a prefix of the other")
	ErrIndex        = errors.New("the signed tree has no entry with that number")
)

// Reader reads the entries of a log as of one tree. Everything that it returns was
// verified against the root. It is safe for concurrent use.
type Reader struct {
	tree Tree
	src  Source
	mu   sync.Mutex
	kept map[tlog.Tile][]byte // verified in this process
}

// NewReader returns the reader of a tree.
func NewReader(src Source, t Tree) *Reader {
	return &Reader{tree: t, src: src, kept: map[tlog.Tile][]byte{}}
}

// Tree returns the tree that r reads.
func (r *Reader) Tree() Tree {
	return r.tree
}

// tiles is a tlog.TileReader for one call.
type tiles struct {
	r    *Reader
	read func(tlog.Tile) ([]byte, error) // tlog.TileReader has no context
	err  error                           // of the source
}

// Height implements tlog.TileReader.
func (t *tiles) Height() int {
	return Height
}

// SaveTiles implements tlog.TileReader. The tiles are verified.
func (t *tiles) SaveTiles(list []tlog.Tile, data [][]byte) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	for i, tile := range list {
		t.r.kept[tile] = data[i]
	}
}

// ReadTiles implements tlog.TileReader. What it returns is not verified.
func (t *tiles) ReadTiles(list []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(list))
	for i, tile := range list {
		if b := t.r.keptTile(tile); b != nil {
			out[i] = b
			continue
		}
		b, err := t.read(tile)
		if err != nil {
			t.err = err
			return nil, err
		}
		if len(b) < tile.W*tlog.HashSize {
			return nil, fmt.Errorf("reading %s: it is too short", tilePath(tile))
		}
		out[i] = b[:tile.W*tlog.HashSize]
	}
	return out, nil
}

func (r *Reader) keptTile(t tlog.Tile) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept[t]
}

// read returns the file of a tile. A server may remove a partial tile once the full one
// exists, which begins with the same bytes.
func (r *Reader) read(
	ctx context.Context,
	t tlog.Tile,
	limit int64,
) ([]byte, error) {
	b, err := r.src(ctx, tilePath(t), limit)
	if errors.Is(err, fs.ErrNotExist) && t.W < Width {
		full := t
		full.W = Width
		return r.src(ctx, tilePath(full), limit)
	}
	return b, err
}

// hashes calls fn with verified hashes of the tree.
func (r *Reader) hashes(ctx context.Context, fn func(tlog.HashReader) error) error {
	if r.tree.Size == 0 {
		return fmt.Errorf("%w: the tree is empty", ErrIndex)
	}
	t := &tiles{r: r, read: func(t tlog.Tile) ([]byte, error) {
		return r.read(ctx, t, maxTile)
	}}
	err := fn(tlog.TileHashReader(
		tlog.Tree{N: r.tree.Size, Hash: r.tree.Root},
		t,
	))
	if t.err != nil && !errors.Is(t.err, fs.ErrNotExist) {
		return t.err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProof, err)
	}
	return nil
}

// Prove returns the proof that the tree includes an entry.
func (r *Reader) Prove(ctx context.Context, index int64) (p Proof, err error) {
	if index < 0 || index >= r.tree.Size {
		return nil, fmt.Errorf("%w: %d of %d", ErrIndex, index, r.tree.Size)
	}
	err = r.hashes(ctx, func(h tlog.HashReader) error {
		got, err := tlog.ProveRecord(r.tree.Size, index, h)
		p = Proof(got)
		return err
	})
	return p, err
}

// Entry returns an entry, proven to be in the tree.
func (r *Reader) Entry(ctx context.Context, index int64) ([]byte, error) {
	p, err := r.Prove(ctx, index)
	if err != nil {
		return nil, err
	}
	t := bundleOf(index, r.tree.Size)
	b, err := r.read(ctx, t, maxBundle)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	list, err2 := parseWidest(b, t.W)
	if err != nil || err2 != nil {
		return nil, fmt.Errorf("%w: reading %s: %w", ErrProof, tilePath(t), errors.Join(err, err2))
	}
	e := list[index%Width]
	err = CheckInclusion(p, r.tree, index, LeafHash(e))
	if err != nil {
		return nil, fmt.Errorf("%w: entry %d of %s", ErrProof, index, tilePath(t))
	}
	return e, nil
}

// bundleOf returns the entry bundle of an entry in a tree of a size.
func bundleOf(index, size int64) tlog.Tile {
	n := index / Width
	return tlog.Tile{
		H: Height,
		L: entries,
		N: n,
		W: int(min(size-n*Width, Width)),
	}
}

// parseWidest parses a bundle that has at least width entries: the full one may have been
// served instead.
func parseWidest(b []byte, width int) ([][]byte, error) {
	list, err := ParseBundle(b, width)
	if err != nil && width < Width {
		list, err = ParseBundle(b, Width)
	}
	return list, err
}

// Consistency returns the proof that the tree of an older checkpoint is a prefix of r's
// tree. The proof is returned with ErrInconsistent too: it is what the log itself proves
// about its tree, and it does not lead to the older root.
func (r *Reader) Consistency(ctx context.Context, older Tree) (p Proof, err error) {
	switch {
	case older.Size > r.tree.Size:
		return nil, fmt.Errorf("%w: %d entries are less than %d", ErrIndex, r.tree.Size, older.Size)
	case older.Size == 0:
		if older != EmptyTree() {
			return nil, ErrInconsistent
		}
		return nil, nil
	}
	err = r.hashes(ctx, func(h tlog.HashReader) error {
		got, err := tlog.ProveTree(r.tree.Size, older.Size, h)
		p = Proof(got)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, CheckConsistency(p, r.tree, older)
}

// Proof is an inclusion or consistency proof.
type Proof []Hash

// String returns one hash per line in base64.
func (p Proof) String() string {
	var b strings.Builder
	for _, h := range p {
		b.WriteString(h.String() + "\n")
	}
	return b.String()
}

// ParseProof is the inverse of Proof.String.
func ParseProof(s string) (Proof, error) {
	var p Proof
	for line := range strings.Lines(s) {
		h, err := tlog.ParseHash(strings.TrimSuffix(line, "\n"))
		if err != nil || len(p) == 64 || h.String()+"\n" != line {
			return nil, errors.New("it is not a list of at most 64 hashes in base64")
		}
		p = append(p, h)
	}
	return p, nil
}

// CheckInclusion returns ErrProof unless p proves that the entry with a number has a hash.
func CheckInclusion(p Proof, t Tree, index int64, leaf Hash) error {
	if index < 0 || index >= t.Size {
		return ErrIndex
	}
	if tlog.CheckRecord(tlog.RecordProof(p), t.Size, t.Root, index, leaf) != nil {
		return ErrProof
	}
	return nil
}

// CheckConsistency returns ErrInconsistent unless p proves that older is a prefix of t.
func CheckConsistency(p Proof, t, older Tree) error {
	if older.Size == 0 &&
		older == EmptyTree() &&
		len(p) == 0 &&
		(t.Size > 0 || t == older) {
		return nil
	}
	if tlog.CheckTree(tlog.TreeProof(p), t.Size, t.Root, older.Size, older.Root) != nil {
		return ErrInconsistent
	}
	return nil
}

// Check reads the whole log and returns the first difference between its entries, its
// tiles and the root. It calls each for every entry, in order.
func (r *Reader) Check(ctx context.Context, each func(index int64, entry []byte) error) error {
	var tree builder
	for n := int64(0); n*Width < r.tree.Size; n++ {
		t := bundleOf(n*Width, r.tree.Size)
		b, err := r.read(ctx, t, maxBundle)
		if err != nil {
			return fmt.Errorf("reading %s: %w", tilePath(t), err)
		}
		list, err := parseWidest(b, t.W)
		if err != nil {
			return fmt.Errorf("%w: reading %s: %w", ErrProof, tilePath(t), err)
		}
		for i, e := range list[:t.W] {
			if err := tree.add(LeafHash(e)); err != nil {
				return err
			}
			err := each(n*Width+int64(i), e)
			if err != nil {
				return err
			}
		}
	}
	got, err := tree.tree()
	if err != nil {
		return err
	}
	if got != r.tree {
		return fmt.Errorf("%w: the entries have root %s instead of %s", ErrProof, got.Root, r.tree.Root)
	}
	return r.checkTiles(ctx, &tree)
}

// checkTiles compares every tile of hashes with those that the entries give.
func (r *Reader) checkTiles(ctx context.Context, h tlog.HashReader) error {
	for _, t := range tlog.NewTiles(Height, 0, r.tree.Size) {
		want, err := tlog.ReadTileData(t, h)
		if err != nil {
			return err
		}
		got, err := r.read(ctx, t, maxTile)
		if err != nil {
			return fmt.Errorf("reading %s: %w", tilePath(t), err)
		}
		if len(got) < len(want) ||
			string(got[:len(want)]) != string(want) {
			return fmt.Errorf("%w: %s differs from the entries", ErrProof, tilePath(t))
		}
	}
	return nil
}

// builder computes a tree from its leaves in memory: 64 bytes per entry.
type builder struct {
	size   int64
	stored []Hash
}

// ReadHashes implements tlog.HashReader.
func (b *builder) ReadHashes(indexes []int64) ([]Hash, error) {
	out := make([]Hash, len(indexes))
	for i, x := range indexes {
		if x < 0 || x >= int64(len(b.stored)) {
			return nil, ErrIndex
		}
		out[i] = b.stored[x]
	}
	return out, nil
}

func (b *builder) add(leaf Hash) error {
	h, err := tlog.StoredHashesForRecordHash(b.size, leaf, b)
	if err != nil {
		return err
	}
	b.stored = append(b.stored, h...)
	b.size++
	return nil
}

func (b *builder) tree() (Tree, error) {
	h, err := tlog.TreeHash(b.size, b)
	return Tree{Size: b.size, Root: h}, err
}
