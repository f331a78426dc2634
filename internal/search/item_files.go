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

// file is one file of a root that may be an item.
type file struct {
	rel      string
	location extract.Match
}

// files returns the files of a root that may be items, by path. If a directory
// cannot be listed, it returns the other files together with the error.
func (f *fields) files(ctx context.Context, root *space.Root) ([]file, error) {
	lists := make([][]file, len(f.exts))
	errs := make([]error, len(f.exts))
	parallel(ctx, len(f.exts), func(i int) {
		lists[i], errs[i] = filesOf(root, f.exts[i])
	})
	out := slices.Concat(lists...)
	slices.SortFunc(out, func(a, b file) int {
		return strings.Compare(a.rel, b.rel)
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return out, cmp.Or(errs...) // one is enough for a note
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
		p, ok := ext.Classify(e.Rel)
		if ok && !p.Ref.IsZero() {
			out = append(out, file{e.Rel, p})
		}
		return nil
	})
	if walked != nil {
		err = walked
	}
	return out, err
}

// content is the bytes of one file.
type content struct {
	file
	bytes, sig []byte
	digest     item.Digest // of both
	err        error
}

// read reads a file, and its detached signature if the file type has one.
func read(root *space.Root, f file) (c content) {
	c.file = f
	if c.bytes, c.err = root.Read(f.rel, resolve.MaxItem); c.err != nil {
		return c
	}
	if f.location.Type.Detached {
		// A missing signature is not an error here: the verdict reports it.
		c.sig, _ = root.Read(f.rel+extract.DetachedExt, 1<<10)
	}
	c.digest = item.DigestOf(c.bytes)
	if c.sig != nil {
		sum := item.DigestOf(c.sig)
		c.digest = item.DigestOf(append(c.digest[:], sum[:]...))
	}
	return c
}

// document returns the item in a file, nil if it is not an item or was removed.
func (c *content) document(f *fields) *document {
	switch {
	case c.err == nil:
		d, _ := f.readDocument(c.location, c.rel, c.bytes, c.sig)
		return d
	case space.IsMissing(c.err):
		return nil
	}
	return f.blank(c.location.Ref, c.rel)
}

// batch is the number of files that are read at once: it limits the memory of the
// first reading.
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

// documents reads files and calls take for each in order, with its document,
// which may be nil. If skip is not nil and returns true, the content is not
// parsed. While take runs for one batch, the next batch is read.
func (f *fields) documents(
	ctx context.Context,
	root *space.Root,
	files []file,
	skip func(i int, c *content) bool,
	take func(i int, c *content, d *document),
) error {
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
			continue // the last batch may be incomplete
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
