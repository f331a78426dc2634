package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/trust/doc"
)

// request is a write request: the statement, the body, and who sent it.
// A repeated publication is refused: the version is used, and the index shows it.
// Keys of the namespace must sign the items of a bundle, as its manifest: a client that trusts
// the namespace can use all of it.
type request struct {
	statement *wire.Signed
	body      []byte
	address   string
	now       time.Time
}

// signer checks the statement of a request by a key of a namespace, and returns the error
// for a key that may not change it.
func (s *Server) signer(
	ctx context.Context,
	m *rules.State,
	r *request,
	ns, endpoint string,
) error {
	st := r.statement
	key := wire.KeyText(st.Key)
	var p rules.Problems
	p.Add(st.Check(s.host, endpoint, r.now))
	k := m.Namespaces[ns].Find(key)
	p.Add(m.MayChange(ns, key, r.now))
	if k != nil {
		d, err := s.keyDocument(key)
		if err == nil {
			err = st.Verify(d.Public)
		}
		p.Add(err)
		if d != nil {
			p.Add(rules.ReleaseKey(d, r.now))
		}
	}
	p.Add(s.notBlocked(ctx, key))
	return p.Err("checking the statement")
}

func (s *Server) notBlocked(ctx context.Context, key string) error {
	why, err := s.meta.blocked(ctx, key)
	switch {
	case err != nil:
		return rules.Unavailable("reading the blocked keys", err)
	case why != "":
		return diag.New(diag.AuthFailed, "looking for the key: the operator blocked %s: %s", key, why)
	}
	return nil
}

func (s *Server) keyDocument(key string) (*doc.Key, error) {
	b, err := s.readDocument(key)
	if err != nil {
		return nil, err
	}
	return rules.ParseKey(b)
}

// documents returns the trust documents about the keys of a namespace: of the active keys,
// and every revocation that the registry knows.
func (s *Server) documents(
	m *rules.State,
	ns string,
	now time.Time,
) ([]trust.File, error) {
	var out []trust.File
	for _, k := range m.Namespaces[ns].All() {
		if !k.Active(now) {
			continue
		}
		b, err := s.readDocument(k.Key)
		if err != nil {
			return nil, err
		}
		if d, err := rules.ParseKey(b); err == nil {
			out = append(out, trust.File{Name: d.Name(), Data: b})
		}
	}
	for _, r := range m.Revocations {
		b, err := s.readPublic(r.URL, doc.MaxDocument)
		if err != nil {
			return nil, err
		}
		out = append(out, trust.File{Name: r.Name, Data: b})
	}
	return out, nil
}

func (s *Server) snapshot() *rules.State {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.model
}

// publish publishes the archive in the body of a request.
func (s *Server) publish(ctx context.Context, r *request) (*wire.Receipt, error) {
	st := r.statement
	m := s.snapshot()
	id, err := wire.ParseID(st.ID)
	if err != nil {
		return nil, err
	}
	var p rules.Problems
	signed := s.signer(ctx, m, r, id.NS, wire.Endpoint(wire.ActionPublish))
	p.Add(signed)
	p.Add(s.free(m, id, st.Version))
	if signed == nil { // a stranger uses no nonce, no quota and no time of the machine
		if err := s.admitPublish(ctx, r, id); err != nil {
			return nil, err
		}
	}
	content := s.judge(ctx, m, r, id, &p, signed == nil)
	if err := p.Err(fmt.Sprintf("publishing %s %s", id, st.Version)); err != nil {
		return nil, err
	}
	defer s.hold(st.Body)()
	if err := s.storeArchive(st.Body, r.body); err != nil {
		return nil, err
	}
	return s.change(ctx, r, func(m *rules.State, index int64) (*log.Entry, *wire.Line, error) {
		if err := s.published(ctx, m, r, id); err != nil {
			return nil, nil, err
		}
		if err := s.writable(st.ID, id); err != nil { // before the log names it permanently
			return nil, nil, rules.Unavailable("preparing the index", err)
		}
		e := &log.Entry{
			Type:      log.Release,
			ID:        st.ID,
			Version:   st.Version,
			Sum:       st.Sum,
			Archive:   st.Body,
			Manifest:  content.Manifest,
			Signers:   rules.Unique(content.Signers),
			Publisher: wire.KeyText(st.Key),
			Time:      r.now.UTC().Truncate(time.Second),
			Statement: st.Digest,
		}
		line := rules.LineOf(e, index)
		content.Fill(line, int64(len(r.body)))
		return e, line, rules.FitsIndex(m.Bundles[st.ID], line)
	}, func(m *rules.State, line *wire.Line) error { return s.writeFound(id, content, line, m) })
}

// again repeats, with nothing in between, the checks that another request may have changed.
func (s *Server) published(
	ctx context.Context,
	m *rules.State,
	r *request,
	id wire.ID,
) error {
	var p rules.Problems
	p.Add(s.signer(
		ctx,
		m,
		r,
		id.NS,
		wire.Endpoint(r.statement.Action),
	))
	p.Add(s.free(m, id, r.statement.Version))
	return p.Err(fmt.Sprintf("publishing %s %s", id, r.statement.Version))
}

func (s *Server) admitPublish(ctx context.Context, r *request, id wire.ID) error {
	l := s.config.Limits
	return s.meta.admit(ctx, r.statement.Nonce,
		quota{"publish " + wire.KeyText(r.statement.Key), l.PublishPerHour, time.Hour, "publications by this key"},
		quota{"namespace " + id.NS, l.PublishPerDay, 24 * time.Hour, "publications in this namespace"})
}

// free returns an error for a version that was published before, also if it was deleted,
// and for a name that imitates another.
func (s *Server) free(m *rules.State, id wire.ID, version string) error {
	if err := m.Unused(id, version); err != nil {
		return err
	}
	if m.Bundles[id.String()] != nil {
		return nil
	}
	return s.imitates(m, id)
}

// judge checks the archive. Problems of the statement do not stop it, so that an author sees
// all of them, but only an author of the namespace gets the judgement of the items.
func (s *Server) judge(
	ctx context.Context,
	m *rules.State,
	r *request,
	id wire.ID,
	p *rules.Problems,
	author bool,
) *rules.Content {
	st := r.statement
	d := item.DigestOf(r.body).String()
	if d != st.Body {
		p.Add(diag.New(diag.HashMismatch, "comparing the archive: its digest is %s, the statement names %s", d, st.Body))
	}
	if !author {
		return nil
	}
	leave, err := s.enter(ctx, s.judges)
	if err != nil {
		p.Add(err)
		return nil
	}
	defer leave()
	documents, err := s.documents(m, id.NS, r.now)
	if err != nil {
		p.Add(err)
		return nil
	}
	return rules.JudgeArchive(ctx, s.p.Judge, m, rules.Submission{
		Host:      s.host,
		ID:        id,
		Version:   st.Version,
		Documents: documents,
	}, r.body, st.Sum, p)
}

// storeArchive writes an archive under its digest. It is durable when the log names it.
func (s *Server) storeArchive(digest string, b []byte) error {
	p := archiveFile(digest)
	have, err := os.ReadFile(s.base.Path(publicDir + p))
	if err == nil && bytes.Equal(have, b) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return rules.Unavailable("storing the archive", err)
	}
	if err := s.writePublic(p, b); err != nil {
		return rules.Unavailable("storing the archive", err)
	}
	return nil
}

// hold notes that a request needs an archive, and returns the function that ends that. The last request
// removes the archive if no version has it: another request may have won the version.
func (s *Server) hold(digest string) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[digest]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.held[digest]--; s.held[digest] > 0 {
			return
		}
		delete(s.held, digest)
		if !s.model.Uses(digest) && s.writer.Broken() == nil { // else the log may name it
			_ = s.base.Remove(publicDir + archiveFile(digest)) // doctor reports what stays
		}
	}
}

// dependantsToProtect is the number of dependants from which a name is protected.
const dependantsToProtect = 100

// imitates returns an error if a new name is easily mistaken for a protected one of another
// namespace.
func (s *Server) imitates(m *rules.State, id wire.ID) error {
	if slices.Contains(s.config.Allowed, id.String()) {
		return nil
	}
	protected := slices.Clone(s.config.Protected)
	for name, b := range m.Bundles {
		if b.ID.NS != id.NS &&
			len(m.Dependants(s.host, b.ID, "")) > dependantsToProtect {
			protected = append(protected, name)
		}
	}
	for _, name := range protected {
		other, err := wire.ParseID(name)
		if err != nil ||
			other.NS == id.NS ||
			other.Name != id.Name && !oneEdit(other.Name, id.Name) {
			continue
		}
		return diag.New(diag.ValidationFailed, "looking for similar names: %s is easily mistaken for %s; ask the operator to allow it", id, name)
	}
	return nil
}

// oneEdit reports whether one letter is added, missing or different.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return len(b)-len(a) == 1 && a[i:] == b[i+1:] ||
		len(a) == len(b) && i < len(a) && a[i+1:] == b[i+1:]
}
