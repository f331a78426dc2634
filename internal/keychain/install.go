package keychain

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/journal"
	"github.com/ryeos/rye/internal/owner"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// NewKey is a key of the user that is not on disk yet.
type NewKey struct {
	Fingerprint sign.Fingerprint
	File        []byte // the content of the key file
	Revocation  trust.File
	Document    trust.File
	Grant       trust.File
	More        []trust.File // a rotation and a revocation of the key that it replaces
}

// The directories of a journal of keys.
const (
	keysDir  = "keys"
	trustDir = "trust"
)

// keyJournal returns the journal of changes of the user's keys. Its record is next to
// the private keys, which only the user can read.
// A record that git tracks, or in a directory that other users can write, is not used: it adds
// trust. To recognise half a key and remove it could remove a key that the user restored from a
// backup.
func (kc *Keychain) keyJournal() journal.Journal {
	keys := kc.Dirs.Keys()
	return journal.Journal{
		Record: filepath.Join(keys, "unfinished.json"), Lock: filepath.Join(keys, "unfinished.lock"),
		Dirs: map[string]string{keysDir: keys, trustDir: kc.Dirs.Trust()},
	}
}

// InstallKey writes a key and its documents as one change: a private key without a
// document cannot be used, and two keys without a rotation between them have to be
// chosen from.
func (kc *Keychain) InstallKey(ctx context.Context, k NewKey) error {
	if err := trust.CheckOwnKey(k.Document, k.Grant); err != nil {
		return err
	}
	files := []journal.File{
		{Dir: keysDir, Name: k.Revocation.Name, Data: k.Revocation.Data},
		{Dir: keysDir, Name: filepath.Base(kc.KeyFile(k.Fingerprint)), Data: k.File},
		{Dir: trustDir, Name: k.Document.Name, Data: k.Document.Data},
	}
	for _, f := range k.More {
		err := trust.CheckDocument(kc.Dirs.Trust(), f)
		if err != nil {
			return err
		}
		files = append(files, journal.File{Dir: trustDir, Name: f.Name, Data: f.Data})
	}
	// The grant is last: without it the other files have no effect.
	files = append(files, journal.File{Dir: trustDir, Name: k.Grant.Name, Data: k.Grant.Data})
	return kc.keyJournal().Write(ctx, files...)
}

// finishWait is how long a command waits for a second command that is writing a key.
const finishWait = 2 * time.Second

// Finish writes the rest of a key that a killed process was writing, and returns warnings.
// The record must be the user's own, because it adds trust: tracked returns why a directory
// may have come with a repository, or "".
func (kc *Keychain) Finish(ctx context.Context, tracked func(dir string) string) []diag.Finding {
	keys := kc.Dirs.Keys()
	j := kc.keyJournal()
	if keys == "" || !j.Pending() {
		return nil
	}
	warn := func(f diag.Finding) []diag.Finding {
		f.Path = j.Record
		return []diag.Finding{f}
	}
	if why := tracked(keys); why != "" {
		return warn(diag.Warnf(diag.TrustChanged, 0, 0, "%s: a repository cannot bring its own trust, so the change of a key in this file is not made", why).WithReason("home_tracked"))
	}
	if err := owner.Sealed(j.Record); err != nil {
		return warn(diag.Warnf(diag.FileSystemError, 0, 0, "%v, so the change of a key in this file is not made", err).
			WithReason("key_mode", "mode", "700", "path", keys))
	}
	ctx, cancel := context.WithTimeout(ctx, finishWait)
	defer cancel()
	err := j.Finish(ctx)
	if err == nil {
		return nil
	}
	f := diag.Warnf(diag.CodeOf(err), 0, 0, "%v", err)
	var e *diag.Error
	if errors.As(err, &e) {
		f.Reason = e.Reason
		f.Facts = e.Details
	}
	return warn(f)
}
