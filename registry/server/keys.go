package server

import (
	"context"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/trust/doc"
)

// maxKeys is the number of keys that a namespace has at one time.
const maxKeys = 16

// bind binds the key of a statement to a namespace by a proof of the namespace.
func (s *Server) bind(ctx context.Context, r *request) (*wire.Receipt, error) {
	st := r.statement
	ns := r.statement.ID
	b, err := wire.ParseBody[wire.Binding](r.body)
	if err != nil {
		return nil, err
	}
	document, err := s.ownStatement(ctx, r, b.Document, "/binding")
	if err != nil {
		return nil, err
	}
	quotas := []quota{}
	if s.snapshot().Namespaces[ns] == nil {
		quotas = append(quotas, quota{"new " + r.address, s.config.Limits.NamespacesPerDay, 24 * time.Hour, "new namespaces from this address"})
	}
	if err := s.meta.admit(ctx, st.Nonce, quotas...); err != nil {
		return nil, err
	}
	if err := s.prove(ctx, ns, st.Key, b, r.now); err != nil {
		return nil, err
	}
	if err := s.storeDocument(document); err != nil {
		return nil, err
	}
	now := r.now.UTC().Truncate(time.Second)
	return s.change(
		ctx,
		r,
		func(m *rules.State, _ int64) (*log.Entry, *wire.Line, error) {
			err := checkKeys(m, ns, wire.KeyText(st.Key))
			if err != nil {
				return nil, nil, err
			}
			return &log.Entry{
				Type:      log.Binding,
				Namespace: ns,
				Method:    b.Method,
				Key:       wire.KeyText(st.Key),
				Until:     now.AddDate(rules.BindingYears, 0, 0),
				Time:      now,
				Statement: st.Digest,
			}, nil, nil
		},
		nil,
	)
}

// ownStatement verifies a statement by the key that its own document describes.
func (s *Server) ownStatement(
	ctx context.Context,
	r *request,
	text, endpoint string,
) (*doc.Key, error) {
	var p rules.Problems
	st := r.statement
	document, err := rules.ParseKey([]byte(text))
	p.Add(err)
	p.Add(st.Check(s.host, endpoint, r.now))
	p.Add(sameBody(r))
	if document != nil {
		if document.Fingerprint != st.Key {
			p.Add(diag.New(diag.AuthFailed, "reading the key document: it is about another key than the statement"))
		}
		p.Add(st.Verify(document.Public))
		p.Add(rules.ReleaseKey(document, r.now))
	}
	p.Add(s.notBlocked(ctx, wire.KeyText(st.Key)))
	return document, p.Err("checking the statement")
}

func sameBody(r *request) error {
	if item.DigestOf(r.body).String() != r.statement.Body {
		return diag.New(diag.AuthFailed, "comparing the body of the request: it is not the one that the statement names")
	}
	return nil
}

func checkKeys(m *rules.State, ns, key string) error {
	n := m.Namespaces[ns]
	if n.Find(key) != nil {
		return nil
	}
	held := 0
	for _, k := range n.All() {
		if k.Removed == nil {
			held++
		}
	}
	if held >= maxKeys {
		return diag.New(diag.LimitExceeded, "binding the key: the namespace %s has %d keys; remove one first", ns, held)
	}
	return nil
}

// storeDocument keeps a key document. The newest one of a key is used.
func (s *Server) storeDocument(d *doc.Key) error {
	err := s.base.Write(
		documentFile(wire.KeyText(d.Fingerprint)),
		d.Data(),
		0o644,
	)
	if err != nil {
		return rules.Unavailable("storing the key document", err)
	}
	return nil
}

// changeKeys adds or removes a key of a namespace on request of another key of it.
func (s *Server) changeKeys(ctx context.Context, r *request) (*wire.Receipt, error) {
	st := r.statement
	ns := r.statement.ID
	b, err := wire.ParseBody[wire.KeyChange](r.body)
	if err != nil {
		return nil, err
	}
	var p rules.Problems
	p.Add(s.signer(ctx, s.snapshot(), r, ns, "/keys"))
	p.Add(sameBody(r))
	fp, err := wire.ParseKey(b.Key)
	p.Add(err)
	var document *doc.Key
	if st.Action == wire.ActionKeyAdd && err == nil {
		if document, err = rules.ParseKey([]byte(b.Document)); err == nil {
			err = rules.ReleaseKey(document, r.now)
		}
		if err == nil && document.Fingerprint != fp {
			err = diag.New(diag.ValidationFailed, "reading the key document: it is about another key than %s", b.Key)
		}
		p.Add(err)
	}
	if err := p.Err("changing the keys of " + ns); err != nil {
		return nil, err
	}
	if err := s.meta.admit(ctx, st.Nonce); err != nil {
		return nil, err
	}
	if document != nil {
		if err := s.storeDocument(document); err != nil {
			return nil, err
		}
	}
	return s.change(ctx, r, func(m *rules.State, _ int64) (*log.Entry, *wire.Line, error) {
		err := s.signer(ctx, m, r, ns, "/keys")
		if err != nil {
			return nil, nil, err
		}
		e, l, err := keyEntry(m, r, ns, b.Key)
		if err != nil {
			return nil, nil, err
		}
		// Readers of the log make this comparison too: the body of key-remove has no document.
		if why := st.Differs(e); why != "" {
			return nil, nil, diag.New(diag.ValidationFailed, "changing the keys of %s: %s", ns, why)
		}
		return e, l, nil
	}, nil)
}

func keyEntry(
	m *rules.State,
	r *request,
	ns, key string,
) (*log.Entry, *wire.Line, error) {
	e := &log.Entry{
		Type:      log.Key,
		Namespace: ns,
		Action:    "add",
		Key:       key,
		Publisher: wire.KeyText(r.statement.Key),
		Time:      r.now.UTC().Truncate(time.Second),
		Statement: r.statement.Digest,
	}
	if r.statement.Action == wire.ActionKeyAdd {
		if m.Namespaces[ns].Find(key) != nil { // a key must not renew itself, or a different one
			return nil, nil, diag.New(diag.ValidationFailed, "adding the key: %s is a key of the namespace %s; its binding is renewed by the proof of the namespace", key, ns)
		}
		return e, nil, checkKeys(m, ns, key)
	}
	e.Action = "remove"
	n := m.Namespaces[ns]
	switch {
	case n.Find(key) == nil:
		return nil, nil, diag.New(diag.ValidationFailed, "removing the key: %s is not a key of the namespace %s", key, ns)
	case !slices.ContainsFunc(n.Keys, func(k *rules.BoundKey) bool {
		return k.Key != key &&
			k.Active(r.now)
	}):
		return nil, nil, diag.New(diag.ValidationFailed, "removing the key: the namespace %s would have no key; add a new key first", ns)
	}
	return e, nil, nil
}

// grant binds a key to a namespace by an act of the operator.
func (s *Server) grant(
	ctx context.Context,
	ns string,
	document []byte,
) (*wire.Receipt, error) {
	if err := wire.CheckNamespace(ns); err != nil {
		return nil, err
	}
	d, err := rules.ParseKey(document)
	if err != nil {
		return nil, err
	}
	now := s.p.Now().UTC().Truncate(time.Second)
	if err := rules.ReleaseKey(d, now); err != nil {
		return nil, err
	}
	if err := s.storeDocument(d); err != nil {
		return nil, err
	}
	key := wire.KeyText(d.Fingerprint)
	return s.change(
		ctx,
		nil,
		func(m *rules.State, _ int64) (*log.Entry, *wire.Line, error) {
			return &log.Entry{
				Type:      log.Binding,
				Namespace: ns,
				Method:    wire.MethodOperator,
				Key:       key,
				Until:     now.AddDate(rules.BindingYears, 0, 0),
				Time:      now,
			}, nil, checkKeys(m, ns, key)
		},
		nil,
	)
}

// withdraw removes a key from a namespace by an act of the operator.
func (s *Server) withdraw(ctx context.Context, ns, key string) (*wire.Receipt, error) {
	if _, err := wire.ParseKey(key); err != nil {
		return nil, err
	}
	now := s.p.Now().UTC().Truncate(time.Second)
	return s.change(
		ctx,
		nil,
		func(m *rules.State, _ int64) (*log.Entry, *wire.Line, error) {
			if m.Namespaces[ns].Find(key) == nil {
				return nil, nil, diag.New(diag.ItemNotFound, "removing the key: %s is not a key of the namespace %s", key, ns)
			}
			return &log.Entry{
				Type:      log.Key,
				Namespace: ns,
				Action:    "remove",
				Key:       key,
				Time:      now,
			}, nil, nil
		},
		nil,
	)
}

// revoke stores a revocation of a key of the namespace, or of one of its releases.
func (s *Server) revoke(ctx context.Context, r *request) (*wire.Receipt, error) {
	st := r.statement
	ns := r.statement.ID
	b, err := wire.ParseBody[wire.RevocationRequest](r.body)
	if err != nil {
		return nil, err
	}
	var p rules.Problems
	p.Add(s.signer(ctx, s.snapshot(), r, ns, "/revocation"))
	p.Add(sameBody(r))
	if !st.Revokes([]byte(b.Document)) {
		p.Add(diag.New(diag.ValidationFailed, "reading the body of the request: it is not version 1 of one with a revocation"))
	}
	p.Add(s.ownRevocation(ns, []byte(b.Document)))
	if err := p.Err("storing the revocation"); err != nil {
		return nil, err
	}
	if err := s.meta.admit(ctx, st.Nonce); err != nil {
		return nil, err
	}
	digest := item.DigestOf([]byte(b.Document)).String()
	err = s.writePublic(wire.RevocationPath(digest), []byte(b.Document))
	if err != nil {
		return nil, rules.Unavailable("storing the revocation", err)
	}
	return s.change(
		ctx,
		r,
		func(m *rules.State, _ int64) (*log.Entry, *wire.Line, error) {
			if slices.ContainsFunc(m.Revocations, func(x wire.Revocation) bool { return x.Digest == digest }) {
				return nil, nil, diag.New(diag.ValidationFailed, "storing the revocation: the registry has it")
			}
			return &log.Entry{
					Type:      log.Revocation,
					Namespace: ns,
					Digest:    digest,
					Publisher: wire.KeyText(st.Key),
					Time:      r.now.UTC().Truncate(time.Second),
					Statement: st.Digest,
				},
				nil, s.signer(ctx, m, r, ns, "/revocation")
		},
		nil,
	)
}

// ownRevocation returns an error unless a document ends something of the namespace: clients
// judge it by their own rules.
func (s *Server) ownRevocation(ns string, text []byte) error {
	d, found := doc.ParseAnyName(text)
	if d == nil {
		return diag.FromFindings("reading the revocation", found)
	}
	n := s.snapshot().Namespaces[ns]
	bound := func(key string) bool {
		return slices.ContainsFunc(n.All(), func(k *rules.BoundKey) bool {
			return k.Key == key
		})
	}
	switch d.(type) {
	case *doc.Revocation, *doc.Rotation:
		if !bound(wire.KeyText(d.About())) {
			return diag.New(diag.ValidationFailed, "reading the revocation: it is about a key that the namespace %s never had", ns)
		}
	case *doc.ReleaseRevocation:
	default:
		return diag.New(diag.ValidationFailed, "reading the revocation: a document of kind %s revokes nothing", d.Head().Kind)
	}
	if !bound(wire.KeyText(d.Head().Signer)) {
		return diag.New(diag.AuthFailed, "reading the revocation: it is signed by a key that the namespace %s never had", ns)
	}
	if d.Head().Invalid != nil {
		return diag.New(diag.AuthFailed, "reading the revocation: %w", d.Head().Invalid)
	}
	if _, ok := d.(*doc.ReleaseRevocation); ok {
		public, err := s.keyDocument(wire.KeyText(d.Head().Signer))
		if err != nil {
			return err
		}
		return d.Head().SignedBy(public.Public)
	}
	return nil
}
