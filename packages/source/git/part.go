package git

import (
	"context"
	"time"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock/treehash"
	"github.com/ryeos/rye/packages/source"
)

// part selects the objects of one commit that are passed to a receiver.
type part struct {
	From   string `json:"from"` // a commit or a tag
	Subdir string `json:"subdir,omitempty"`
	// File is the path of the only file, below Subdir; "" selects the files of the bundle.
	File  string `json:"file,omitempty"`
	Limit int64  `json:"limit,omitempty"` // bytes of File
	Whole bool   `json:"whole,omitempty"` // all files below Subdir, not only the ones of a bundle
}

// receiver takes a part of a commit. Its methods are called in this order; for a single
// file only blob is called.
type receiver interface {
	commit(id string, made time.Time) error
	tree(oid string) error
	list(files []file) error
	blob(i int, data []byte) error // of the file with this number; data is valid during the call
}

// pass reads the part from a repository.
func (p part) pass(ctx context.Context, objs Objects, to receiver) error {
	if p.File != "" {
		data, err := blobAt(ctx, objs, p)
		if err != nil {
			return err
		}
		return to.blob(0, data)
	}
	id, c, err := peel(ctx, objs, p.From)
	if err != nil {
		return err
	}
	if err := to.commit(id, c.time); err != nil {
		return err
	}
	tree, err := descend(ctx, objs, c.tree, p.Subdir)
	if err != nil {
		return err
	}
	if err := to.tree(tree); err != nil {
		return err
	}
	files, err := list(ctx, objs, tree, p.Whole)
	if err != nil {
		return err
	}
	if err := to.list(files); err != nil {
		return err
	}
	if p.Whole {
		files, _ = usable(files)
	}
	oids := make([]string, len(files))
	for i, f := range files {
		oids[i] = f.oid
	}
	return read(ctx, objs, "blob", oids, bundle.MaxFile, to.blob)
}

// intake is the receiver that stores the files of a bundle in the cache. The list of refs
// may be wrong: the commit of a tag is the one in the object.
type intake struct {
	s     *Source
	o     source.Origin
	from  string
	files []file
	left  []treehash.File
	w     *source.Writer
}

func (n *intake) commit(id string, made time.Time) error {
	if id != n.o.Commit {
		return diag.New(
			diag.ImpostorCommit,
			"fetching %s %s: the tag %s has commit %s, the remote listed %s",
			n.o.ID,
			n.o.Version,
			n.from,
			id,
			n.o.Commit,
		).
			WithDetail("expected", n.o.Commit).WithDetail("found", id)
	}
	n.o.Time = made
	return nil
}

func (n *intake) tree(oid string) error {
	if n.o.Tree != "" && n.o.Tree != oid {
		return otherTree(n.o, oid)
	}
	n.o.Tree = oid
	return nil
}

func (n *intake) list(files []file) error {
	if len(files) == 0 {
		return source.NoBundle(
			location(n.o.URL, n.o.Subdir) + " at " + n.o.Version,
		)
	}
	n.files = files
	if n.o.Whole {
		n.files, n.left = usable(files)
	}
	if len(n.left) > maxLeft {
		return diag.New(diag.TooLarge, "reading the files: more than %d of them are links, submodules or have names that some systems cannot store", maxLeft)
	}
	n.s.heavy.Lock() // a file can have 64 MiB
	var err error
	n.w, err = n.s.p.Cache.Write()
	if err != nil {
		n.s.heavy.Unlock()
	}
	return err
}

func (n *intake) blob(i int, data []byte) error {
	return n.w.Add(
		n.files[i].path,
		n.files[i].mode == modeExecutable,
		data,
	)
}

// finish commits the files to the cache.
func (n *intake) finish(ctx context.Context) (*source.Snapshot, error) {
	snap, err := n.w.Commit(ctx, n.o)
	if snap != nil {
		snap.Left = n.left
	}
	return snap, err
}

// maxLeft is the number of paths that a whole commit may have without usable files.
const maxLeft = 1000

// close discards files that were not committed.
func (n *intake) close() {
	if n.w != nil {
		n.w.Discard()
		n.s.heavy.Unlock()
	}
}

// oneFile is the receiver of a single file. It keeps a copy.
type oneFile struct {
	intake
	data []byte
}

func (f *oneFile) blob(_ int, data []byte) error {
	f.data = append(f.data, data...)
	return nil
}
