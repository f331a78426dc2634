package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/openat"
)

// Temporary reports whether name is one of a temporary file or directory: the
// prefix and 26 random letters, nothing after them. A name with only the prefix
// belongs to another program.
func Temporary(name string) bool {
	random, ok := strings.CutPrefix(name, Prefix)
	return ok && len(random) == 26 && strings.Trim(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// prepared has the directories of temporary files that this process cleaned.
var prepared sync.Map

// tempFolder opens the directory of temporary files. The first time it removes what
// killed processes left there.
func (b Base) tempFolder() (*openat.Folder, error) {
	at := Base{dir: b.temp, perm: b.perm}
	_, found := prepared.LoadOrStore(at.Path(b.inner), true)
	if found {
		if tmp, err := at.existing(b.inner); err == nil {
			return tmp, nil
		}
	}
	if b.needs != "" { // a directory without .ai must not become a project
		_, err := at.Stat(b.needs)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if cache := path.Dir(b.inner); cache != "." {
		at.ignoreAll(cache)
	}
	tmp, err := at.Open(b.inner)
	if err == nil {
		sweep(tmp)
	}
	return tmp, err
}

// Sweep removes the temporary files and directories that killed processes left. The
// first write of a process does so too.
func (b Base) Sweep() {
	prepared.Delete(Base{dir: b.temp}.Path(b.inner))
	if tmp, err := b.tempFolder(); err == nil {
		_ = tmp.Close()
	}
}

// SweepIn removes the temporary files that killed processes left in the directory
// at rel: files of earlier versions, and files for which the directory of temporary
// files was on another file system.
func (b Base) SweepIn(rel string) {
	if dir, err := b.existing(rel); err == nil {
		sweep(dir)
		_ = dir.Close()
	}
}

// ignored is the text of the .gitignore in a cache directory: git must not see the
// directory, whatever the project's own .gitignore has.
const ignored = "*\n"

// ignoreAll writes the .gitignore of a cache directory. It is written in place,
// before there is a directory for temporary files: one that a killed process left
// empty is written again. A failure is reported by the next write.
func (b Base) ignoreAll(rel string) {
	f, err := b.OpenFile(path.Join(rel, ".gitignore"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	fi, err := f.Stat()
	if err == nil && fi.Size() == 0 {
		_, _ = f.WriteAt([]byte(ignored), 0)
	}
}

// sweep removes the temporary files and directories in dir that no process has
// locked. Errors are ignored: what stays does no harm.
func sweep(dir *openat.Folder) {
	des, _ := dir.Entries()
	for _, de := range des {
		switch {
		case !Temporary(de.Name()):
		case de.IsDir():
			sweepScratch(dir, de.Name())
		case de.Type().IsRegular():
			sweepFile(dir, de.Name())
		}
	}
}

func sweepFile(dir *openat.Folder, name string) {
	f, err := dir.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) {
		f, err = dir.OpenFile(name, os.O_RDONLY, 0)
	}
	if err != nil {
		return
	}
	defer f.Close()
	if filelock.Try(f) == nil {
		if !renamesOpen { // nor removes: a writer that closed it begins again
			_ = f.Close()
		}
		_ = dir.Remove(name)
	}
}

// lockName is the lock file in a temporary directory.
const lockName = "lock"

// Scratch is a temporary directory for files that are renamed to their final path, on
// the file system of the base. Its name is not known to others, and the sweep of
// another process leaves it while it is open.
type Scratch struct {
	*openat.Folder
	parent *openat.Folder
	name   string
	lock   *os.File
}

// Scratch creates a temporary directory. Close removes it.
func (b Base) Scratch() (*Scratch, error) {
	b.needs = ""
	tmp, err := b.tempFolder()
	if err != nil {
		return nil, err
	}
	for range attempts {
		var s *Scratch
		if s, err = scratchIn(tmp); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				_ = tmp.Close()
			}
			return s, err
		}
	}
	_ = tmp.Close()
	return nil, err
}

func scratchIn(tmp *openat.Folder) (*Scratch, error) {
	name := Prefix + rand.Text()
	dir, err := tmp.Sub(name, 0o755)
	if err != nil {
		return nil, err
	}
	f, err := dir.OpenFile(lockName, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		if errors.Is(filelock.Try(f), filelock.ErrHeld) {
			err = fs.ErrNotExist // the sweep of another process removes it
		} else {
			_, err = dir.Stat(lockName) // it may have removed it before
		}
	}
	if err != nil {
		_ = f.Close()
		_ = dir.Close()
		return nil, err
	}
	return &Scratch{
		Folder: dir,
		parent: tmp,
		name:   name,
		lock:   f,
	}, nil
}

// Close removes the directory with everything in it.
func (s *Scratch) Close() {
	if !renamesOpen {
		_ = s.lock.Close()
	}
	_ = s.Folder.Close()
	_ = s.parent.RemoveAll(s.name)
	_ = s.lock.Close()
	_ = s.parent.Close()
}

func sweepScratch(dir *openat.Folder, name string) {
	in, err := dir.Sub(name, 0)
	if err != nil {
		return
	}
	defer in.Close()
	f, err := in.OpenFile(lockName, os.O_RDWR, 0)
	switch {
	case err == nil:
		defer f.Close()
		if filelock.Try(f) != nil {
			return
		}
		if !renamesOpen {
			_ = f.Close()
		}
	case !errors.Is(err, fs.ErrNotExist):
		return
	}
	_ = dir.RemoveAll(name)
}

// Probe returns an error unless a file can be created in the directory and removed.
func (b Base) Probe() error {
	dir, err := b.existing(".")
	if err != nil {
		return b.failed("opening", ".", err)
	}
	defer dir.Close()
	p := &Pending{content: content{perm: 0o600}, dir: dir}
	defer p.Discard()
	sweep(dir)
	return b.failed("writing to", ".", p.create())
}
