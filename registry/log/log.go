// Package log writes and reads the transparency log of a registry: an append-only
// Merkle tree (RFC 6962) whose entries, tiles and checkpoints are static files in the
// form of C2SP tlog-tiles.
//
// A Writer appends entries and signs checkpoints. A Reader verifies every tile and every
// entry that it reads against the root of one checkpoint, so that the server of the files
// need not be trusted. The package does not keep state of clients, does not use the
// network and does not know what an entry permits.
package log

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Limits and the shape of tiles. Height is fixed by C2SP tlog-tiles.
const (
	Height        = 8
	Width         = 1 << Height
	MaxEntry      = 4 << 10                // bytes of one entry
	maxTile       = Width * tlog.HashSize  // bytes of a tile with hashes
	maxBundle     = Width * (2 + MaxEntry) // bytes of an entry bundle
	MaxCheckpoint = 64 << 10
)

// CheckpointName is the path of the newest checkpoint below the log.
const CheckpointName = "checkpoint"

// entries is the level of entry bundles, as in x/mod.
const entries = -1

// Hash is a node of the tree.
type Hash = tlog.Hash

// Tree is a state of the log: the number of entries and the root.
type Tree struct {
	Size int64
	Root Hash
}

// EmptyTree is the log without entries.
func EmptyTree() Tree {
	h, _ := tlog.TreeHash(0, nil) // a constant: no hash is read
	return Tree{Root: h}
}

// String returns the size and the root in base64, as rye.lock has them.
func (t Tree) String() string {
	return strconv.FormatInt(t.Size, 10) + " " + t.Root.String()
}

// ParseTree is the inverse of Tree.String.
func ParseTree(s string) (Tree, error) {
	size, root, ok := strings.Cut(s, " ")
	n, err := strconv.ParseInt(size, 10, 64)
	if !ok || err != nil || n < 0 {
		return Tree{}, errTree
	}
	h, err := tlog.ParseHash(root)
	t := Tree{Size: n, Root: h}
	if err != nil || t.String() != s {
		return Tree{}, errTree
	}
	if n == 0 && t != EmptyTree() {
		return Tree{}, errTree
	}
	return t, nil
}

var errTree = errors.New("it is not a number of entries and the base64 of 32 bytes")

// LeafHash returns the hash of an entry.
func LeafHash(entry []byte) Hash {
	return tlog.RecordHash(entry)
}

// tilePath returns the path of a tile below the log: C2SP has no height in it, and
// another name for the entries, than x/mod.
func tilePath(t tlog.Tile) string {
	level, rest, _ := strings.Cut(
		strings.TrimPrefix(t.Path(), fmt.Sprintf("tile/%d/", t.H)),
		"/",
	)
	if t.L == entries {
		level = "entries"
	}
	return "tile/" + level + "/" + rest
}

// AppendEntry adds an entry to an entry bundle.
func AppendEntry(bundle, entry []byte) []byte {
	bundle = append(bundle, byte(len(entry)>>8), byte(len(entry)))
	return append(bundle, entry...)
}

// ParseBundle returns the entries of an entry bundle. It has exactly width entries.
func ParseBundle(b []byte, width int) ([][]byte, error) {
	if width < 1 || width > Width {
		return nil, errBundle
	}
	out := make([][]byte, 0, width)
	for len(b) > 0 {
		if len(b) < 2 {
			return nil, errBundle
		}
		n := int(b[0])<<8 | int(b[1])
		if n > MaxEntry || len(b) < 2+n || len(out) == width {
			return nil, errBundle
		}
		out = append(out, b[2:2+n:2+n])
		b = b[2+n:]
	}
	if len(out) != width {
		return nil, errBundle
	}
	return out, nil
}

var errBundle = errors.New("it is not a bundle of entries of the expected number")
