// Package atomicfile writes files below a trusted directory so that a reader, or a
// crash, sees the old content or the new one and nothing between. No link below
// that directory is followed.
//
// A file is written to a directory of temporary files and renamed. The writer
// holds a lock on the temporary file until then; the kernel releases it when the
// process dies, and the next writer removes what is not locked.
//
// It does not decide which files may be written. It does not lock targets; two
// writers leave one of their two files.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/openat"
)

// Prefix begins the name of every temporary file and directory, so that a walk can
// skip one and a cleaner can recognise what a crash left behind.
const Prefix = ".rye-tmp-"

// Write replaces the content of rel, or creates it. The data is flushed to the
// disk. perm 0 keeps the permission bits of an existing file and means 0644 for a
// new one; as with os.WriteFile, the umask applies to bits that are asked for.
func (b Base) Write(rel string, data []byte, perm fs.FileMode) error {
	return b.put(rel, content{data: data, perm: perm, flush: true})
}

// Replace is Write without waiting for the disk, for content that is stored
// elsewhere too: after a loss of power the file may be empty.
func (b Base) Replace(rel string, data []byte, perm fs.FileMode) error {
	return b.put(rel, content{data: data, perm: perm})
}

// Create creates rel with data and refuses when anything has that name already: a
// link is PATH_ESCAPE, for anything else the error satisfies
// errors.Is(err, fs.ErrExist).
func (b Base) Create(rel string, data []byte, perm fs.FileMode) error {
	return b.put(rel, content{
		data:  data,
		perm:  perm,
		flush: true,
		only:  true,
	})
}

func (b Base) put(rel string, c content) error {
	dir, name, err := b.folderOf(rel, true)
	if err != nil {
		return b.failed("writing", rel, err)
	}
	defer dir.Close()
	if err := c.check(dir, name); err != nil {
		return b.failed("writing", rel, err)
	}
	p, err := b.stage(dir, name, c)
	if err == nil {
		err = p.Commit()
	}
	return b.failed("writing", rel, err)
}

// content is what a file gets.
type content struct {
	data  []byte
	perm  fs.FileMode // for a new file, reduced by the umask
	exact fs.FileMode // permission bits that are set past the umask, unless 0
	flush bool        // wait for the disk
	only  bool        // the file must not exist
}

// check returns an error if the target may not be written, and sets the permission
// bits.
func (c *content) check(dir *openat.Folder, name string) error {
	if c.only {
		if _, err := dir.Stat(name); err != nil {
			return nil
		}
		_, err := dir.CheckFile(name)
		if diag.CodeOf(err) == diag.PathEscape {
			return err
		}
		return fs.ErrExist
	}
	keep, err := dir.CheckFile(name)
	if err != nil {
		return err
	}
	if c.perm == 0 {
		c.perm = keep
		c.exact = keep
	}
	if c.perm == 0 {
		c.perm = 0o644
	}
	return nil
}

// Pending is a complete temporary file that waits for its rename.
type Pending struct {
	content
	tmp  *openat.Folder // of the temporary file; nil is dir
	dir  *openat.Folder // of the target, owned by the caller
	name string
	at   string   // the name of the temporary file
	file *os.File // open until Commit, with the lock
}

// Stage writes a temporary file that Commit renames to a name in dir, which must
// stay open until then. exact permission bits are set past the umask; 0 leaves a new
// file with 0666, reduced by the umask. Commit or Discard must be called.
func (b Base) Stage(
	dir *openat.Folder,
	name string,
	data []byte,
	exact fs.FileMode,
) (*Pending, error) {
	return b.stage(dir, name, content{
		data:  data,
		perm:  0o666,
		exact: exact,
		flush: true,
	})
}

func (b Base) stage(dir *openat.Folder, name string, c content) (*Pending, error) {
	tmp, err := b.tempFolder()
	switch diag.CodeOf(err) {
	case diag.PathEscape, diag.NotRegular:
		return nil, err
	}
	b.keep(dir, name, c.data)
	p := &Pending{
		content: c,
		tmp:     tmp,
		dir:     dir,
		name:    name,
	}
	if err != nil { // not writable, or there is no .ai
		p.useTarget()
	}
	if err := p.create(); err != nil {
		p.Discard()
		return nil, err
	}
	return p, nil
}

// useTarget keeps the temporary file in the directory of the target.
// Next to the target, git takes temporary files in after a crash. The writer has a lock on its
// file, and the next process removes what is not locked: a limit of age would keep some and
// remove others too early.
func (p *Pending) useTarget() {
	if p.tmp != nil {
		_ = p.tmp.Close()
	}
	p.tmp = nil
	sweep(p.dir)
}

func (p *Pending) folder() *openat.Folder {
	if p.tmp != nil {
		return p.tmp
	}
	return p.dir
}

// create writes the temporary file.
func (p *Pending) create() error {
	f, err := p.open()
	if err != nil {
		return err
	}
	_, err = f.Write(p.data)
	if err == nil && p.exact != 0 {
		err = f.Chmod(p.exact)
	}
	if err == nil && p.flush && len(p.data) > 0 { // the directory has all there is to lose of an empty file
		err = f.Sync()
	}
	if !renamesOpen {
		err = errors.Join(err, f.Close())
	}
	return err
}

// attempts is how often a temporary file is created if the sweep of another process
// takes it before it is locked.
const attempts = 20

// open creates the temporary file and takes its lock.
func (p *Pending) open() (f *os.File, err error) {
	for range attempts {
		p.at = Prefix + rand.Text()
		if f, err = p.folder().OpenFile(p.at, os.O_RDWR|os.O_CREATE|os.O_EXCL, p.perm); err != nil {
			p.at = ""
			return nil, err
		}
		p.file = f
		if !errors.Is(filelock.Try(f), filelock.ErrHeld) {
			break // locked, or without locks: then no sweep removes it
		}
		p.drop()
	}
	return f, nil
}

// Commit renames the file.
func (p *Pending) Commit() error {
	defer p.Discard()
	var err error
	for range attempts {
		if err = p.rename(); err == nil {
			p.at = ""
			if p.flush {
				err = p.dir.Sync()
			}
			return err
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case p.tmp != nil && crossDevice(err):
			p.drop()
			p.useTarget()
		default:
			return err
		}
		p.drop()
		if err := p.create(); err != nil {
			return err
		}
	}
	return err
}

func (p *Pending) rename() error {
	if p.only {
		return p.folder().RenameNew(p.at, p.dir, p.name)
	}
	return p.folder().Rename(p.at, p.dir, p.name)
}

// drop removes the temporary file, if it is there. After a rename it only releases
// the lock.
func (p *Pending) drop() {
	if p.at != "" {
		if !renamesOpen {
			_ = p.file.Close()
		}
		_ = p.folder().Remove(p.at)
	}
	_ = p.file.Close()
	p.at = ""
}

// Discard removes a file that was not committed. It may be called again.
func (p *Pending) Discard() {
	p.drop()
	if p.tmp != nil {
		_ = p.tmp.Close()
		p.tmp = nil
	}
}
