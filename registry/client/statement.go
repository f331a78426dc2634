package client

import (
	"context"
	"crypto/ed25519"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust/doc"
)

// statements verifies the signed statements that log entries name.
type statements struct {
	read       log.Source // paths below the address
	host       string
	namespaces map[string]*wire.Namespace
	used       map[string]bool // statements of the entries so far
}

func newStatements(read log.Source, host string) *statements {
	return &statements{read: read, host: host, namespaces: map[string]*wire.Namespace{}, used: map[string]bool{}}
}

// check returns an error unless a key of its namespace signed the change of an entry, and
// that statement is not the one of an entry before. An act of the operator has no statement,
// which the entry shows.
func (s *statements) check(ctx context.Context, e *log.Entry) error {
	if e.Statement == "" {
		return nil
	}
	if s.used[e.Statement] {
		return diag.New(diag.LogProof, "it is the statement of an entry before, and one statement causes one change")
	}
	s.used[e.Statement] = true
	raw, err := s.read(ctx, wire.StatementPath(e.Statement), wire.MaxStatement)
	if err != nil {
		return err
	}
	return wire.CheckStatement(raw, e, s.host, func(fp sign.Fingerprint) (ed25519.PublicKey, error) {
		return s.publicKey(ctx, wire.NamespaceOf(e), fp)
	}, func() ([]byte, error) { return s.read(ctx, wire.RevocationPath(e.Digest), doc.MaxDocument) })
}

func (s *statements) publicKey(ctx context.Context, ns string, fp sign.Fingerprint) (ed25519.PublicKey, error) {
	n := s.namespaces[ns]
	if n == nil {
		b, err := s.read(ctx, wire.NamespacePath(ns), wire.MaxNamespace)
		if err != nil {
			return nil, err
		}
		if n, err = wire.ParseNamespace(b, ns); err != nil {
			return nil, err
		}
		s.namespaces[ns] = n
	}
	d, found := doc.ParseAnyName([]byte(n.Document(wire.KeyText(fp))))
	key := doc.As[*doc.Key](d, found)
	if key == nil || key.Fingerprint != fp {
		return nil, diag.New(diag.KeyUnknown, "%s has no document of the key %s", wire.NamespacePath(ns), wire.KeyText(fp))
	}
	return key.Public, nil
}
