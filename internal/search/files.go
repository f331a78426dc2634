package search

import (
	"cmp"
	"context"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"golang.org/x/sync/errgroup"
)

// file is one file of a root that gives an item's id.
type file struct {
	rel   string
	place extract.Place
}

// files lists the files of a root that may be items, by path. What cannot be
// listed is told by the error; the files found nevertheless come with it.
func (f *fields) files(ctx context.Context, root *space.Root) ([]file, error) {
	lists, errs := make([][]file, len(f.exts)), make([]error, len(f.exts))
	parallel(ctx, len(f.exts), func(i int) { lists[i], errs[i] = filesOf(root, f.exts[i]) })
	out := slices.Concat(lists...)
	slices.SortFunc(out, func(a, b file) int { return strings.Compare(a.rel, b.rel) })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return out, cmp.Or(errs...) // one tells enough
}

// filesOf lists the files of one kind.
func filesOf(root *space.Root, ext *extract.Extractor) (out []file, err error) {
	walked := root.Walk(ext.Folder, func(e space.Entry) error {
		if path.Ext(e.Rel) == extract.DetachedExt {
			return nil
		}
		if e.Type.IsDir() && err == nil {
			err = e.Err
		}
		if p, ok := ext.Place(e.Rel); ok && !p.Ref.IsZero() {
			out = append(out, file{e.Rel, p})
		}
		return nil
	})
	if walked != nil {
		err = walked
	}
	return out, err
}

// content is what was read of one file.
type content struct {
	file
	bytes, sig []byte
	digest     item.Digest // of both
	err        error
}

// read reads a file, and its detached signature where the file type has one.
func read(root *space.Root, f file) (c content) {
	c.file = f
	if c.bytes, c.err = root.Read(f.rel, resolve.MaxItem); c.err != nil {
		return c
	}
	if f.place.Type.Detached {
		// Without one the item is unsigned: that is for the verdict to say.
		c.sig, _ = root.Read(f.rel+extract.DetachedExt, 1<<10)
	}
	c.digest = item.DigestOf(c.bytes)
	if c.sig != nil {
		sum := item.DigestOf(c.sig)
		c.digest = item.DigestOf(append(c.digest[:], sum[:]...))
	}
	return c
}

// document reads a file as an item, nil when it is none or no longer there.
func (c *content) document(f *fields) *document {
	switch {
	case c.err == nil:
		d, _ := f.readDocument(c.place, c.rel, c.bytes, c.sig)
		return d
	case space.IsMissing(c.err):
		return nil
	}
	return f.blank(c.place.Ref, c.rel)
}

// batch is the number of files that are read before what they hold is taken
// in: it bounds the memory of a first reading.
const batch = 512

// parallel calls work for 0 to n-1 on all processors. It stops early when ctx
// ends.
func parallel(ctx context.Context, n int, work func(i int)) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := 0; i < n && ctx.Err() == nil; i++ {
		g.Go(func() error {
			work(i)
			return nil
		})
	}
	_ = g.Wait() // work returns no error
}

// documents reads files and hands each with its document, which may be nil, to
// take, in order. skip, when not nil, is asked before a content is parsed. While
// one batch is taken in, the next one is read.
func (f *fields) documents(ctx context.Context, root *space.Root, files []file, skip func(i int, c *content) bool, take func(i int, c *content, d *document)) error {
	batches := make(chan []loaded)
	go func() {
		defer close(batches)
		for from := 0; from < len(files); from += batch {
			b := make([]loaded, min(batch, len(files)-from))
			parallel(ctx, len(b), func(i int) {
				b[i].content = read(root, files[from+i])
				f.reads.Add(1)
				if skip == nil || !skip(from+i, &b[i].content) {
					b[i].document = b[i].content.document(f)
				}
			})
			select {
			case batches <- b:
			case <-ctx.Done():
				return
			}
		}
	}()
	at := 0
	for b := range batches {
		if ctx.Err() != nil {
			continue // the last batch may be half read
		}
		for i := range b {
			take(at, &b[i].content, b[i].document)
			at++
		}
	}
	return ctx.Err()
}

// loaded is a file with its document.
type loaded struct {
	content  content
	document *document
}
