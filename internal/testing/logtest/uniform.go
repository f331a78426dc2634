package logtest

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Uniform is a log of equal entries. All complete subtrees of one height have one hash, so
// a log of any size needs no storage. Its fields sum up what is read. It is not safe for concurrent
// use.
type Uniform struct {
	Tiles, Bundles, Bytes int // files with hashes, files with entries, and the bytes of both

	entry  []byte
	size   int64
	levels []tlog.Hash // of complete subtrees, by height
}

// NewUniform returns a log of size entries.
func NewUniform(entry []byte, size int64) *Uniform {
	u := &Uniform{entry: entry, size: size, levels: []tlog.Hash{tlog.RecordHash(entry)}}
	for len(u.levels) < 64 {
		below := u.levels[len(u.levels)-1]
		u.levels = append(u.levels, tlog.NodeHash(below, below))
	}
	return u
}

// ReadHashes implements tlog.HashReader.
func (u *Uniform) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	var out []tlog.Hash
	for _, x := range indexes {
		level, _ := tlog.SplitStoredHashIndex(x)
		out = append(out, u.levels[level])
	}
	return out, nil
}

// Root returns the root of the log.
func (u *Uniform) Root() (tlog.Hash, error) {
	return tlog.TreeHash(u.size, u)
}

// Read returns the file of the log with a path below it, in the form of C2SP tlog-tiles. A
// file that a log of this size does not have is fs.ErrNotExist.
func (u *Uniform) Read(_ context.Context, path string, _ int64) ([]byte, error) {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(path, "tile/"), "/")
	name, partial, _ := strings.Cut(rest, ".p/")
	level := 0
	err := error(nil)
	if kind != "entries" {
		level, err = strconv.Atoi(kind)
	}
	n, err2 := strconv.ParseInt(
		strings.NewReplacer("x", "", "/", "").Replace(name),
		10,
		64,
	)
	if err != nil || err2 != nil || level > 7 {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	width := min(u.size>>(8*level)-n*256, 256)
	if width < 1 ||
		partial != "" && partial != strconv.FormatInt(width, 10) ||
		partial == "" && width < 256 {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	var out []byte
	for range width {
		if kind == "entries" {
			out = append(
				append(out, byte(len(u.entry)>>8), byte(len(u.entry))),
				u.entry...,
			)
		} else {
			out = append(out, u.levels[8*level][:]...)
		}
	}
	if kind == "entries" {
		u.Bundles++
	} else {
		u.Tiles++
	}
	u.Bytes += len(out)
	return out, nil
}
