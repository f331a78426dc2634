package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/sqlite"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
)

// PublicTree returns the static files of the registry in a directory. It needs no lock.
func PublicTree(dir string) (*Tree, error) {
	s := &Server{p: Params{Dir: dir}}
	if err := s.readHost(); err != nil {
		return nil, err
	}
	_, key, err := s.readKey()
	if err != nil {
		return nil, err
	}
	return &Tree{Dir: filepath.Join(dir, publicDir), Host: s.host, Key: key}, nil
}

// minFree is the free space below which a doctor warns, in bytes.
const minFree = 1 << 30

// Doctor verifies the registry in a directory, also while another process serves it.
func Doctor(ctx context.Context, dir string) (*TreeReport, error) {
	t, err := PublicTree(dir)
	if err != nil {
		return nil, err
	}
	r, err := t.Verify(ctx)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(keyFile)))
	if err != nil {
		return nil, err
	}
	private := info.Mode().Perm() & 0o077
	if private != 0 && unixModes {
		r.add(diag.ConfigError, keyFile, "other users can read the key of the log: chmod 600")
	}
	if _, err := readConfig(dir); err != nil {
		r.add(diag.ConfigError, configFile, "%v", err)
	}
	if free, ok := freeSpace(dir); ok && free < minFree {
		r.Findings = append(r.Findings, diag.Finding{
			Severity: diag.SeverityWarning,
			Code:     diag.FileSystemError,
			Path:     publicDir,
			Message:  fmt.Sprintf("%d MiB of the disk are free", free>>20),
		})
	}
	return r, nil
}

// privateFiles are what a backup has in addition to the static files and the database.
func privateFiles() []string {
	return []string{hostFile, configFile, keyFile}
}

// Backup copies everything into a directory, also while another process serves the
// registry. It contains the key of the log.
func Backup(ctx context.Context, dir, to string) error {
	t, err := PublicTree(dir)
	if err != nil {
		return err
	}
	if same, _ := filepath.Rel(dir, to); same == "." {
		return diag.New(diag.Usage, "writing the backup: %s is the registry itself", to)
	}
	base := atomicfile.Private(to)
	if err := base.MkdirAll("."); err != nil {
		return err
	}
	for _, name := range privateFiles() {
		if err := copyPrivate(dir, base, name); err != nil {
			return diag.Doing("writing the backup", err)
		}
	}
	err = walkTree(filepath.Join(dir, documentsDir), func(p string) error {
		return copyPrivate(dir, base, documentsDir+p)
	})
	if err != nil {
		return diag.Doing("writing the backup", err)
	}
	if err := backupDatabase(ctx, dir, base); err != nil {
		return diag.Doing("writing the backup of the database", err)
	}
	_, err = t.Export(ctx, filepath.Join(to, publicDir))
	return err
}

func copyPrivate(dir string, base atomicfile.Base, name string) error {
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return base.Write(name, b, 0o600)
}

func backupDatabase(ctx context.Context, dir string, base atomicfile.Base) error {
	db, err := sqlite.Open(databasePath(dir))
	if err != nil {
		return err
	}
	defer db.Close()
	err = base.Remove(databaseFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", base.Path(databaseFile))
	return err
}

// RestoreParams are the parameters of Restore.
type RestoreParams struct {
	Backup string
	Dir    string   // becomes the registry; it must not be one
	From   string   // a mirror or an export that may be newer, "" for none
	Notes  [][]byte // checkpoints that witnesses, mirrors or clients have
}

// Restore makes a registry from a backup. It completes the backup from a mirror, and never
// makes a log that is shorter than one that others have seen: clients would refuse it.
func Restore(ctx context.Context, p RestoreParams) (*TreeReport, error) {
	if IsRegistry(p.Dir) {
		return nil, diag.New(diag.Conflict, "restoring the registry: %s is a registry; name a new directory", p.Dir)
	}
	old, err := PublicTree(p.Backup)
	if err != nil {
		return nil, err
	}
	newest, err := old.newest(ctx, p.From)
	if err != nil {
		return nil, err
	}
	if err := newest.covers(ctx, p.Notes); err != nil {
		return nil, err
	}
	r, err := newest.Verify(ctx)
	if err == nil {
		err = diag.FromFindings("verifying what is restored", r.Findings)
	}
	if err != nil {
		return nil, err
	}
	base := atomicfile.Private(p.Dir)
	if _, err := newest.Export(ctx, filepath.Join(p.Dir, publicDir)); err != nil {
		return nil, err
	}
	if err := newest.restoreDocuments(base); err != nil {
		return nil, err
	}
	for _, name := range []string{databaseFile, configFile, keyFile, hostFile} { // the host is last: it makes the directory a registry
		if err := copyPrivate(p.Backup, base, name); err != nil {
			return nil, diag.Doing("restoring the registry", err)
		}
	}
	return r, nil
}

// newest returns the tree of a backup, or of a mirror that continues it.
func (t *Tree) newest(ctx context.Context, from string) (*Tree, error) {
	if from == "" {
		return t, nil
	}
	mirror, err := OpenTree(from, t.Key)
	if err != nil {
		return nil, err
	}
	ours, err := t.Checkpoint()
	if err != nil {
		return nil, err
	}
	theirs, err := mirror.Checkpoint()
	if err != nil {
		return nil, err
	}
	shorter := ours.Tree
	longer := theirs.Tree
	in := mirror
	if ours.Tree.Size > theirs.Tree.Size {
		shorter = theirs.Tree
		longer = ours.Tree
		in = t
	}
	if err := in.contains(ctx, longer, shorter); err != nil {
		return nil, err
	}
	return in, nil
}

// contains returns an error unless a tree of the log continues an older one.
func (t *Tree) contains(ctx context.Context, now, older log.Tree) error {
	if older.Size == 0 || now == older {
		return nil
	}
	_, err := log.NewReader(t.source, now).Consistency(ctx, older)
	if err != nil {
		return diag.New(diag.LogEquivocation, "comparing the log of %d entries with the log of %d: one does not continue the other: %w", older.Size, now.Size, err)
	}
	return nil
}

// covers returns an error if others have seen a log that is longer, or a different log.
func (t *Tree) covers(ctx context.Context, notes [][]byte) error {
	have, err := t.Checkpoint()
	if err != nil {
		return err
	}
	for _, n := range notes {
		c, err := t.verifier().Verify(n)
		if err != nil {
			return diag.New(diag.LogProof, "reading a checkpoint: %w", err)
		}
		if c.Tree.Size > have.Tree.Size {
			return diag.New(diag.Rollback, "restoring the registry: others have seen a log of %d entries, the backup has %d; name a mirror with the rest (--from)", c.Tree.Size, have.Tree.Size)
		}
		err = t.contains(ctx, have.Tree, c.Tree)
		if err != nil {
			return err
		}
	}
	return nil
}

// restoreDocuments writes the key documents of the namespaces.
func (t *Tree) restoreDocuments(base atomicfile.Base) error {
	for _, d := range []string{incomingDir, documentsDir, foundDir} {
		if err := base.MkdirAll(d); err != nil {
			return err
		}
	}
	return walkTree(filepath.Join(
		t.Dir,
		filepath.FromSlash(wire.NamespacesPath),
	), func(p string) error {
		b, err := t.read(wire.NamespacesPath+p, wire.MaxNamespace)
		if err != nil {
			return err
		}
		ns := p[1 : len(p)-len(".json")]
		n, err := wire.ParseNamespace(b, ns)
		if err != nil {
			return err
		}
		for _, k := range n.Keys {
			d, err := rules.ParseKey([]byte(k.Document))
			if err != nil || wire.KeyText(d.Fingerprint) != k.Key {
				return diag.New(diag.SigInvalid, "restoring the keys of %s: the document of %s is invalid or names a different key", ns, k.Key)
			}
			err = base.Write(documentFile(k.Key), []byte(k.Document), 0o644)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Import makes a registry from a static tree and the secret key of its log.
func Import(ctx context.Context, from, dir string, secret []byte) (*TreeReport, error) {
	if IsRegistry(dir) {
		return nil, diag.New(diag.Conflict, "importing the registry: %s is a registry; name a new directory", dir)
	}
	first, key, ok := cutLine(secret)
	if !ok {
		return nil, diag.New(diag.Usage, "importing the registry: the secret key has the form of the file keys/log of a registry: two lines")
	}
	if _, err := log.NewSigner(first); err != nil {
		return nil, err
	}
	t, err := OpenTree(from, key)
	if err != nil {
		return nil, err
	}
	r, err := t.Verify(ctx)
	if err == nil {
		err = diag.FromFindings("verifying what is imported", r.Findings)
	}
	if err != nil {
		return nil, err
	}
	base := atomicfile.Private(dir)
	_, err = t.Export(ctx, filepath.Join(dir, publicDir))
	if err != nil {
		return nil, err
	}
	if err := t.restoreDocuments(base); err != nil {
		return nil, err
	}
	if err := base.Write(keyFile, secret, 0o600); err != nil {
		return nil, err
	}
	return r, base.Create(hostFile, []byte(t.Host+"\n"), 0o644)
}
