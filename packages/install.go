package packages

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

const stagePrefix = "bundles-"

// installs reports whether a locked bundle is installed: folders of this
// machine are used where they are.
func installs(b lock.Bundle) bool { return b.Sum != "" }

// place returns where a locked bundle is installed.
func (e *Engine) place(b lock.Bundle) (string, error) {
	id, err := lock.ParseID(b.ID)
	if err != nil {
		return "", err
	}
	dir, err := id.Dir(b.Version)
	if err != nil {
		return "", err
	}
	return filepath.Join(e.bundles(), filepath.FromSlash(dir)), nil
}

// intact returns nil when what is installed is the locked tree: every file, its
// bytes and its mode, and nothing else.
func (e *Engine) intact(b lock.Bundle) error {
	dir, err := e.place(b)
	if err != nil {
		return err
	}
	if !exists(dir) {
		return diag.New(diag.BundleFileMissing, "checking %s: it is not installed: %w", b.Module(), fs.ErrNotExist)
	}
	return matches(dir, b)
}

// matches hashes a folder as the lock hashed the tree.
func matches(dir string, b lock.Bundle) error {
	var files []lock.TreeFile
	err := eachInstalled(dir, func(rel string, text []byte, mode fs.FileMode) error {
		files = append(files, lock.TreeFile{Path: rel, Mode: modeOf(rel, mode, b), Size: int64(len(text)), Digest: sha256.Sum256(text)})
		return nil
	})
	if err != nil {
		return diag.New(diag.LockMismatch, "checking %s: %w", b.Module(), err)
	}
	sum, err := lock.HashTree(files)
	if err == nil && sum == b.Sum {
		return nil
	}
	return diag.New(diag.LockMismatch, "checking %s: what is installed is not what %s records", b.Module(), lock.LockFile).
		WithDetail("expected", b.Sum).WithDetail("found", sum)
}

// eachInstalled reads every file of a folder.
func eachInstalled(dir string, fn func(rel string, text []byte, mode fs.FileMode) error) error {
	d, err := openat.Open(dir)
	if err != nil {
		return diag.New(diag.FileSystemError, "opening %s: %w", dir, err)
	}
	defer d.Close()
	return d.Walk(".", func(rel string, x openat.Entry) error {
		if x.IsDir() && x.Err == nil {
			return nil
		}
		if x.Err != nil {
			return x.Err
		}
		text, info, err := d.Read(rel, lock.MaxTreeFile)
		if err != nil {
			return err
		}
		return fn(rel, text, info.Mode)
	})
}

// maxStanding is how large an installed bundle may be to be read once for all
// that looks at it.
const maxStanding = 1 << 20

var errLarge = errors.New("it is large")

// standing returns the files of a bundle as they are installed, nil when that is
// not exactly what is locked.
func (e *Engine) standing(id lock.ID, b lock.Bundle) *source.Snapshot {
	dir, err := e.place(b)
	if err != nil || !exists(dir) {
		return nil
	}
	files, modes, size := map[string][]byte{}, map[string]fs.FileMode{}, 0
	err = eachInstalled(dir, func(rel string, text []byte, mode fs.FileMode) error {
		files[rel], modes[rel] = text, mode
		if size += len(text); size > maxStanding {
			return errLarge
		}
		return nil
	})
	if err != nil {
		return nil
	}
	snap, err := source.Held(originOf(id, b), files, func(p string) bool { return modeOf(p, modes[p], b) == lock.ModeExecutable })
	if err != nil || snap.Sum != b.Sum {
		return nil
	}
	return snap
}

// modeOf takes the mode from the disk, where disks have one.
func modeOf(rel string, m fs.FileMode, b lock.Bundle) lock.Mode {
	executable := m&0o111 != 0
	if runtime.GOOS == "windows" {
		executable = slices.Contains(b.Exec, rel)
	}
	if executable {
		return lock.ModeExecutable
	}
	return lock.ModeRegular
}

// transaction is bundles that are written aside and then put into place
// together.
type transaction struct {
	e     *Engine
	stage string
	moved []move
}

type move struct {
	staged, final, aside string
	done                 bool
}

// begin makes the folder in which everything is prepared.
func (e *Engine) begin() (*transaction, error) {
	stage := filepath.Join(e.p.Base, aiDir, workDir, stagePrefix+rand.Text())
	if err := os.MkdirAll(stage, 0o755); err != nil {
		return nil, unwritable(stage, err)
	}
	return &transaction{e: e, stage: stage}, nil
}

func unwritable(p string, err error) error {
	return diag.New(diag.FileSystemError, "writing %s: %w", p, err).WithHint("nothing was changed; see that the disk is not full and the folder can be written, then run the command again")
}

// prepare writes one bundle aside. Each file was held against its digest when it
// was read, and all digests against the sum.
func (t *transaction) prepare(ctx context.Context, b lock.Bundle, snap *source.Snapshot, at string) error {
	dir := filepath.Join(t.stage, at)
	t.e.tell(Installing, b.Module())
	defer snap.Release()
	if snap.Sum != b.Sum {
		return diag.New(diag.Internal, "installing %s: its files have the sum %s, not %s", b.Module(), snap.Sum, b.Sum)
	}
	made := map[string]bool{}
	return snap.Each(ctx, func(f source.File, text []byte) error {
		p := filepath.Join(dir, filepath.FromSlash(f.Path))
		if parent := filepath.Dir(p); !made[parent] {
			if err := os.MkdirAll(parent, 0o755); err != nil {
				return unwritable(parent, err)
			}
			made[parent] = true
		}
		return writeSealed(p, text, f.Executable)
	})
}

// writeSealed writes a file that nobody edits in place. It does not wait for the
// disk: what a loss of power takes away is missed by whoever reads it, and rye
// sync has it again.
func writeSealed(p string, text []byte, executable bool) error {
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return unwritable(p, err)
	}
	_, err = f.Write(text)
	mode := fs.FileMode(0o444)
	if executable {
		mode = 0o555
	}
	if err == nil {
		err = f.Chmod(mode)
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		return unwritable(p, err)
	}
	return nil
}

// place renames everything that was prepared.
func (t *transaction) place() error {
	for i := range t.moved {
		m := &t.moved[i]
		if err := os.MkdirAll(filepath.Dir(m.final), 0o755); err != nil {
			return unwritable(m.final, err)
		}
		if err := t.put(m); err != nil {
			return unwritable(m.final, err)
		}
		m.done = true
	}
	return nil
}

func (t *transaction) put(m *move) error {
	if !exists(m.final) {
		return os.Rename(m.staged, m.final)
	}
	m.aside = m.staged + ".old"
	return openat.Swap(m.staged, m.final, m.aside)
}

// undo takes back what was placed.
func (t *transaction) undo() {
	for _, m := range slices.Backward(t.moved) {
		if !m.done {
			continue
		}
		if m.aside != "" {
			_ = openat.Swap(m.aside, m.final, m.staged)
			continue
		}
		if os.Rename(m.final, m.staged) == nil {
			t.e.pruneEmpty(filepath.Dir(m.final))
		}
	}
	t.end()
}

// end removes the folder of the preparations.
func (t *transaction) end() { _ = os.RemoveAll(t.stage) }

// stage prepares the bundles that are not installed as they are locked.
func (e *Engine) stage(ctx context.Context, bundles []lock.Bundle, open func(lock.Bundle) (*source.Snapshot, error)) (*transaction, error) {
	t, err := e.begin()
	if err != nil {
		return nil, err
	}
	t.moved = make([]move, len(bundles))
	at := make([]int, len(bundles))
	for i := range at {
		at[i] = i
	}
	errs := each(ctx, at, func(i int) error {
		b := bundles[i]
		final, err := e.place(b)
		if err != nil {
			return err
		}
		snap, err := open(b)
		if err != nil {
			return err
		}
		name := "b" + itoa(i)
		t.moved[i] = move{staged: filepath.Join(t.stage, name), final: final}
		return t.prepare(ctx, b, snap, name)
	})
	if err := together("installing bundles", errs); err != nil {
		t.end()
		return nil, err
	}
	return t, nil
}

// lacking returns the locked bundles that are not installed as they are locked.
// Those that were just read as they are installed are not looked at again.
func (e *Engine) lacking(ctx context.Context, l *lock.Lock, read ...lock.Module) ([]lock.Bundle, error) {
	want := slices.DeleteFunc(slices.Clone(l.Bundles), func(b lock.Bundle) bool { return !installs(b) || slices.Contains(read, b.Module()) })
	bad := make([]bool, len(want))
	at := make([]int, len(want))
	for i := range at {
		at[i] = i
	}
	errs := each(ctx, at, func(i int) error {
		bad[i] = e.intact(want[i]) != nil
		return nil
	})
	if err := together("checking bundles", errs); err != nil {
		return nil, err
	}
	var out []lock.Bundle
	for i, b := range want {
		if bad[i] {
			out = append(out, b)
		}
	}
	return out, nil
}

// extra returns the installed folders that the lock does not name.
func (e *Engine) extra(l *lock.Lock) ([]string, error) {
	keep := map[string]bool{}
	if l != nil {
		for _, b := range l.Bundles {
			if dir, err := e.place(b); err == nil && installs(b) {
				keep[dir] = true
			}
		}
	}
	var out []string
	err := filepath.WalkDir(e.bundles(), func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.IsDir() || !strings.Contains(d.Name(), "@") {
			return err
		}
		switch {
		case keep[p]:
		case above(p, keep):
			return nil // of git@host.example, below which bundles are
		default:
			out = append(out, p)
		}
		return fs.SkipDir
	})
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "listing installed bundles: %w", err)
	}
	return out, nil
}

// above reports whether a folder holds one of others.
func above(dir string, others map[string]bool) bool {
	for p := range others {
		if strings.HasPrefix(p, dir+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// removeInstalled removes installed folders, each in one step, and the empty
// folders above them.
func (e *Engine) removeInstalled(dirs []string) error {
	if len(dirs) == 0 {
		return nil
	}
	t, err := e.begin()
	if err != nil {
		return err
	}
	defer t.end()
	for i, dir := range dirs {
		if err := os.Rename(dir, filepath.Join(t.stage, itoa(i))); err != nil {
			return diag.New(diag.FileSystemError, "removing %s: %w", dir, err)
		}
		e.pruneEmpty(filepath.Dir(dir))
	}
	return nil
}

// pruneEmpty removes a folder and those above it while they are empty.
func (e *Engine) pruneEmpty(dir string) {
	for root := e.bundles(); dir != root && strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// sweepStages removes what a process that died was preparing. Whoever calls it
// holds the lock, so nobody is preparing anything.
func (e *Engine) sweepStages() {
	work := filepath.Join(e.p.Base, aiDir, workDir)
	des, _ := os.ReadDir(work)
	for _, d := range des {
		if strings.HasPrefix(d.Name(), stagePrefix) && d.IsDir() {
			_ = os.RemoveAll(filepath.Join(work, d.Name()))
		}
	}
}
