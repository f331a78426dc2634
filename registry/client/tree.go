package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/ryeos/rye/lock/treehash"
	"io/fs"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

// TreeReport is the result of VerifyTree.
type TreeReport struct {
	Host     string         `json:"host"`
	Key      string         `json:"key"`
	Entries  int64          `json:"entries"`
	Root     string         `json:"root"`
	Releases int            `json:"releases"`
	Findings []diag.Finding `json:"findings"`
}

// treeCheck verifies the static files of a registry.
type treeCheck struct {
	read     log.Source // paths below the address
	out      *TreeReport
	releases map[string][]*log.Entry // by bundle, in order
	numbers  map[*log.Entry]int64
	states   map[string]int64 // by bundle and version: the newest entry
	entries  map[int64]*log.Entry
	signed   *wire.Statements
}

// VerifyTree verifies all static files of a registry: the log against its checkpoint, every
// index line against its entries, every archive against both, and the revocations. The key
// must have signed the checkpoint; "" takes the one that the files name, which proves their
// consistency only. Each error is a finding.
func VerifyTree(ctx context.Context, read log.Source, host, key string) (*TreeReport, error) {
	t := &treeCheck{
		read:     read,
		signed:   wire.NewStatements(read, host, keyIn),
		out:      &TreeReport{Host: host, Key: key, Findings: []diag.Finding{}},
		releases: map[string][]*log.Entry{},
		numbers:  map[*log.Entry]int64{},
		states:   map[string]int64{},
		entries:  map[int64]*log.Entry{},
	}
	if err := t.log(ctx); err != nil {
		return nil, err
	}
	for id, list := range t.releases {
		if err := t.bundle(ctx, id, list); err != nil {
			return nil, err
		}
	}
	if err := t.revocations(ctx); err != nil {
		return nil, err
	}
	diag.Sort(t.out.Findings)
	return t.out, nil
}

// revocations compares the list of revocations and their texts with the log.
func (t *treeCheck) revocations(ctx context.Context) error {
	entries := map[int64]string{}
	for n, e := range t.entries {
		if e.Type == log.Revocation {
			entries[n] = e.Digest
		}
	}
	return wire.CheckRevocations(ctx, t.read, entries, func(path string, code diag.Code, why string) {
		t.add(path, code, "%s", why)
	})
}

// DiscoverTree returns the host and the log key that static files name.
func DiscoverTree(ctx context.Context, read log.Source) (host, key string, err error) {
	b, err := read(ctx, wire.DiscoveryPath, wire.MaxDiscovery)
	if err != nil {
		return "", "", err
	}
	var d wire.Discovery
	if err := jsonHost(b, &d); err != nil {
		return "", "", err
	}
	full, err := wire.ParseDiscovery(b, d.Host)
	if err != nil {
		return "", "", err
	}
	return full.Host, full.Log.Key, nil
}

func (t *treeCheck) add(path string, code diag.Code, format string, args ...any) {
	f := diag.Errorf(code, 0, 0, format, args...)
	f.Path = path
	t.out.Findings = append(t.out.Findings, f)
}

func (t *treeCheck) log(ctx context.Context) error {
	note, err := t.read(ctx, wire.LogPath+"/"+log.CheckpointName, log.MaxCheckpoint)
	if err != nil {
		return err
	}
	cp, err := log.Verifier{Origin: t.out.Host + wire.LogPath, Key: t.out.Key}.Verify(note)
	if err != nil {
		return diag.New(diag.LogProof, "verifying the checkpoint of %s: %w", t.out.Host, err)
	}
	t.out.Entries, t.out.Root = cp.Tree.Size, cp.Tree.Root.String()
	r := log.NewReader(func(ctx context.Context, p string, limit int64) ([]byte, error) {
		return t.read(ctx, wire.LogPath+"/"+p, limit)
	}, cp.Tree)
	if cp.Tree.Size == 0 {
		return nil
	}
	err = r.Check(ctx, func(n int64, raw []byte) error {
		e, err := log.ParseEntry(raw)
		if err != nil {
			t.add(wire.LogPath, diag.LogProof, "entry %d: %s", n, err)
			return nil
		}
		t.entries[n], t.numbers[e] = e, n
		if err := t.signed.Check(ctx, e); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			t.add(wire.StatementPath(e.Statement), diag.LogProof, "it is not the signed statement of log entry %d: %s", n, err)
		}
		switch e.Type {
		case log.Release:
			t.releases[e.ID] = append(t.releases[e.ID], e)
			t.out.Releases++
		case log.State:
			t.states[e.ID+" "+e.Version] = n
		}
		return nil
	})
	if err != nil {
		return diag.New(diag.LogProof, "verifying the log of %s: %w", t.out.Host, err)
	}
	return nil
}

// bundle compares the index of a bundle with its entries, both ways.
func (t *treeCheck) bundle(ctx context.Context, name string, list []*log.Entry) error {
	id, err := wire.ParseID(name)
	if err != nil {
		t.add(wire.LogPath, diag.LogProof, "an entry is about %q, which is not a bundle", printable(name))
		return nil
	}
	path := wire.IndexPath + id.IndexPath()
	b, err := t.read(ctx, path, wire.MaxIndex)
	if err != nil {
		t.add(path, diag.RegistryError, "it cannot be read: %s", err)
		return nil
	}
	lines, err := wire.ParseIndex(b, id)
	if err != nil {
		t.add(path, diag.RegistryError, "%s", err)
		return nil
	}
	seen := map[string]bool{}
	for _, e := range list {
		if seen[e.Version] {
			t.add(path, diag.TagMoved, "the log has two releases of %s", e.Version)
		}
		seen[e.Version] = true
	}
	if len(lines) != len(list) {
		t.add(path, diag.LogProof, "it has %d versions, and the log %d", len(lines), len(list))
	}
	for _, l := range lines {
		if err := t.line(ctx, path, l); err != nil {
			return err
		}
	}
	return nil
}

func (t *treeCheck) line(ctx context.Context, path string, l *wire.Line) error {
	e := t.entries[l.Log]
	if e == nil {
		t.add(path, diag.LogProof, "%s names log entry %d, which does not exist", l.Version, l.Log)
		return nil
	}
	if why := releaseDiffers(l, e); why != "" {
		t.add(path, diag.LogProof, "%s: %s differs from log entry %d", l.Version, why, l.Log)
	}
	newest, changed := t.states[l.ID+" "+l.Version]
	if changed != (l.StateLog != nil) || changed && *l.StateLog != newest {
		t.add(path, diag.LogProof, "%s: its state is not the newest one of the log", l.Version)
	} else if changed &&
		(t.entries[newest].State != l.State || t.entries[newest].Reason != l.Reason) {
		t.add(path, diag.LogProof, "%s: its state differs from log entry %d", l.Version, newest)
	}
	if l.State == wire.StateDeleted {
		return nil
	}
	return t.archive(ctx, l)
}

func (t *treeCheck) archive(ctx context.Context, l *wire.Line) error {
	path := wire.ArchivePath + wire.ArchiveFile(l.Archive)
	b, err := t.read(ctx, path, wire.MaxArchive)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		t.add(path, diag.HashMismatch, "the archive of %s %s is missing", l.ID, l.Version)
		return nil
	case err != nil:
		t.add(path, diag.RegistryError, "%s", err)
		return nil
	case item.DigestOf(b).String() != l.Archive:
		t.add(path, diag.HashMismatch, "the archive of %s %s has other bytes", l.ID, l.Version)
		return nil
	}
	list, err := wire.Unpack(
		ctx,
		bytes.NewReader(b),
		func(wire.File) error { return nil },
	)
	if err != nil {
		t.add(path, diag.CodeOf(err), "%s", err)
		return nil
	}
	sum, err := treehash.Of(list)
	if err != nil || sum != l.Sum {
		t.add(path, diag.HashMismatch, "the files of %s %s do not have the hash of the log", l.ID, l.Version)
	}
	return nil
}

// jsonHost reads the host of a description, which ParseDiscovery then checks.
func jsonHost(b []byte, d *wire.Discovery) error {
	if err := json.Unmarshal(b, d); err != nil {
		return diag.New(diag.RegistryError, "reading %s: %w", wire.DiscoveryPath, fmt.Errorf("it is not a description of a registry: %w", err))
	}
	return nil
}
