package bundle

import (
	"io/fs"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// Opening is an embedded bundle that is being opened. Opened.FS has its files:
// a reader of one waits for the verdict on the manifest.
type Opening struct {
	fsys   fs.FS
	done   chan struct{} // closed when the fields below are set
	opened *Opened
	err    error
}

// Begin starts Open in the background and returns. The caller calls Wait. known is the
// digest of a manifest that Parse accepts, as the program knows about its own.
func Begin(
	fsys fs.FS,
	id string,
	known item.Digest,
	check func(manifest []byte) error,
) *Opening {
	o := &Opening{fsys: fsys, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		o.opened, o.err = openKnown(fsys, id, known, check)
	}()
	return o
}

// Wait returns the result of Open.
func (o *Opening) Wait() (*Opened, error) {
	<-o.done
	return o.opened, o.err
}

// Covered returns the signer of the manifest if it lists these bytes with a signature
// line of their own, else zero.
func (o *Opening) Covered(name string, d item.Digest) sign.Fingerprint {
	opened, err := o.Wait()
	if err != nil {
		return sign.Fingerprint{}
	}
	return opened.FS.(*checked).Covered(name, d)
}

// ReadFile implements fs.ReadFileFS.
func (o *Opening) ReadFile(name string) ([]byte, error) {
	opened, err := o.Wait()
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(opened.FS, name)
}

// Open implements fs.FS.
func (o *Opening) Open(name string) (fs.File, error) {
	opened, err := o.Wait()
	if err != nil {
		return nil, err
	}
	return opened.FS.Open(name)
}

// Stat implements fs.StatFS. It reads nothing, so it does not wait.
func (o *Opening) Stat(name string) (fs.FileInfo, error) {
	return fs.Stat(o.fsys, name)
}
