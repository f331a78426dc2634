package wire

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/sign"
)

// MaxRevocation is the most bytes that the text of a revocation has: as any trust document.
const MaxRevocation = 64 << 10

// Statements verifies the signed statements that the entries of a log name. It is for one
// pass over the log.
type Statements struct {
	read       log.Source
	host       string
	parse      func(document []byte) (sign.Fingerprint, ed25519.PublicKey, error)
	namespaces map[string]*Namespace
	used       map[string]bool // statements of the entries so far
}

// NewStatements returns Statements for the log of a host. Read returns the files of the
// registry, and parse the key in a key document.
func NewStatements(
	read log.Source,
	host string,
	parse func(document []byte) (sign.Fingerprint, ed25519.PublicKey, error),
) *Statements {
	return &Statements{
		read:       read,
		host:       host,
		parse:      parse,
		namespaces: map[string]*Namespace{},
		used:       map[string]bool{},
	}
}

// Check returns an error unless a key of its namespace signed the change of an entry, and
// that statement is not the one of an entry before. An act of the operator has no statement,
// which the entry shows.
func (s *Statements) Check(ctx context.Context, e *log.Entry) error {
	if e.Statement == "" {
		return nil
	}
	if s.used[e.Statement] {
		return diag.New(diag.LogProof, "it is the statement of an entry before, and one statement causes one change")
	}
	s.used[e.Statement] = true
	raw, err := s.read(ctx, StatementPath(e.Statement), MaxStatement)
	if err != nil {
		return err
	}
	return CheckStatement(raw, e, s.host, func(fp sign.Fingerprint) (ed25519.PublicKey, error) {
		return s.publicKey(ctx, NamespaceOf(e), fp)
	}, func() ([]byte, error) {
		return s.read(ctx, RevocationPath(e.Digest), MaxRevocation)
	})
}

// publicKey returns a key of a namespace from its document.
func (s *Statements) publicKey(
	ctx context.Context,
	ns string,
	fp sign.Fingerprint,
) (ed25519.PublicKey, error) {
	n := s.namespaces[ns]
	if n == nil {
		b, err := s.read(ctx, NamespacePath(ns), MaxNamespace)
		if err != nil {
			return nil, err
		}
		if n, err = ParseNamespace(b, ns); err != nil {
			return nil, err
		}
		s.namespaces[ns] = n
	}
	key, public, err := s.parse([]byte(n.Document(KeyText(fp))))
	if err != nil || key != fp {
		return nil, diag.New(diag.KeyUnknown, "%s has no document of the key %s", NamespacePath(ns), KeyText(fp))
	}
	return public, nil
}

// CheckRevocations compares the list of revocations and their texts with a log: digests by
// the number of their entries. It reports each difference with the path of the file, and
// returns an error only if ctx ended.
func CheckRevocations(
	ctx context.Context,
	read log.Source,
	entries map[int64]string,
	report func(path string, code diag.Code, why string),
) error {
	for _, n := range slices.Sorted(maps.Keys(entries)) {
		p := RevocationPath(entries[n])
		b, err := read(ctx, p, MaxRevocation)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && digestOf(b) != entries[n] {
			err = errors.New("it has other bytes")
		}
		if err != nil {
			report(p, diag.HashMismatch, fmt.Sprintf("it is not the revocation of log entry %d: %s", n, err))
		}
	}
	list := &Revocations{}
	b, err := read(ctx, RevocationsPath, MaxRevocations)
	if err == nil {
		list, err = ParseRevocations(b)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && !(errors.Is(err, fs.ErrNotExist) && len(entries) == 0) {
		report(RevocationsPath, diag.RegistryError, "it cannot be read: "+err.Error())
		return nil
	}
	for _, why := range list.Differences(entries) {
		report(RevocationsPath, diag.LogProof, why)
	}
	return nil
}
