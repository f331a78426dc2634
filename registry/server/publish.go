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
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/log"
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

// problems collects the errors of a request, so that all of them are reported at once.
type problems struct {
	list []diag.Finding
	fail error // of this machine
}

func (p *problems) add(err error) {
	if err == nil {
		return
	}
	e := diag.Typed(err)
	switch {
	case e.Code.Class() == diag.ClassMachine || e.Code.Class() == diag.ClassBug || e.Code == diag.RegistryError:
		p.fail = errors.Join(p.fail, err)
	case len(e.Findings) > 0:
		p.list = append(p.list, e.Findings...)
	default:
		p.list = append(p.list, diag.Finding{
			Severity: diag.SeverityError,
			Code:     e.Code,
			Message:  e.Error(),
			Reason:   e.Reason,
		})
	}
}

// err returns one error with every problem. It has the code of the request itself if that
// is refused, else the code of the content.
func (p *problems) err(doing string) error {
	if p.fail != nil {
		return unavailable(doing, p.fail)
	}
	p.list = slices.DeleteFunc(p.list, func(f diag.Finding) bool { return f.Severity != diag.SeverityError })
	if len(p.list) == 0 {
		return nil
	}
	code := diag.ValidationFailed
	for _, c := range []diag.Code{diag.LimitExceeded, diag.AuthFailed} {
		if slices.ContainsFunc(p.list, func(f diag.Finding) bool { return f.Code == c }) {
			code = c
		}
	}
	first := p.list[0].Message
	if path := p.list[0].Path; path != "" {
		first = hidden.Visible(path) + ": " + first
	}
	e := diag.New(code, "%s: %s", doing, first)
	if len(p.list) > 1 {
		e = diag.New(code, "%s: %d problems", doing, len(p.list))
	}
	e.Findings = p.list
	return e
}

// signer checks the statement of a request by a key of a namespace, and returns the error
// for a key that may not change it.
func (s *Server) signer(ctx context.Context, m *model, r *request, ns, endpoint string) error {
	st := r.statement
	key := wire.KeyText(st.Key)
	var p problems
	p.add(st.Check(s.host, endpoint, r.now))
	k := m.namespaces[ns].find(key)
	p.add(m.mayChange(ns, key, r.now))
	if k != nil {
		d, err := s.keyDocument(key)
		if err == nil {
			err = st.Verify(d.Public)
		}
		p.add(err)
		if d != nil {
			p.add(releaseKey(d, r.now))
		}
	}
	p.add(s.notBlocked(ctx, key))
	return p.err("checking the statement")
}

// mayChange returns an error for a key that may not change a namespace at a time.
func (m *model) mayChange(ns, key string, now time.Time) error {
	k := m.namespaces[ns].find(key)
	switch {
	case m.namespaces[ns] == nil:
		return diag.New(diag.AuthFailed, "looking for the key: the namespace %s is not bound to a key", ns)
	case k == nil:
		return diag.New(diag.AuthFailed, "looking for the key: %s is not a key of the namespace %s", key, ns)
	case now.Before(k.from):
		return diag.New(diag.AuthFailed, "looking for the key: %s belongs to the namespace %s from %s on: it was bound while other keys had the namespace", key, ns, wire.TimeText(k.from))
	case m.revoked[key]:
		return diag.New(diag.AuthFailed, "looking for the key: %s is revoked", key)
	case !k.active(now):
		return diag.New(diag.AuthFailed, "looking for the key: the binding of %s to the namespace %s ended on %s", key, ns, wire.TimeText(k.until))
	}
	return nil
}

func (s *Server) notBlocked(ctx context.Context, key string) error {
	why, err := s.meta.blocked(ctx, key)
	switch {
	case err != nil:
		return unavailable("reading the blocked keys", err)
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
	return parseKey(b)
}

// parseKey reads a key document, which must be signed by its key.
func parseKey(b []byte) (*doc.Key, error) {
	d, found := doc.ParseAnyName(b)
	k, ok := d.(*doc.Key)
	switch {
	case d == nil:
		return nil, diag.FromFindings("reading the key document", found)
	case !ok:
		return nil, diag.New(diag.ValidationFailed, "reading the key document: it is a document of kind %s", d.Head().Kind)
	case k.Invalid != nil:
		return nil, diag.New(diag.AuthFailed, "reading the key document: %w", k.Invalid)
	}
	return k, nil
}

// releaseKey returns an error for a key that may not publish: releases need a person's key.
func releaseKey(k *doc.Key, now time.Time) error {
	switch {
	case k.KeyKind != doc.KeyPerson && k.KeyKind != "":
		return diag.New(diag.Scope, "reading the key document: a key of kind %s publishes nothing; a person's key is needed", k.KeyKind)
	case !slices.Contains(k.Scope.May, "release"):
		return diag.New(diag.Scope, "reading the key document: the key does not have the use release")
	case !now.Before(k.NotAfter):
		return diag.New(diag.Expired, "reading the key document: the key expired on %s", wire.TimeText(k.NotAfter))
	case now.Before(k.NotBefore):
		return diag.New(diag.NotYetValid, "reading the key document: the key is valid from %s on", wire.TimeText(k.NotBefore))
	}
	return nil
}

// documents returns the trust documents about the keys of a namespace: of the active keys,
// and every revocation that the registry knows.
func (s *Server) documents(m *model, ns string, now time.Time) ([]trust.File, error) {
	var out []trust.File
	for _, k := range m.namespaces[ns].all() {
		if !k.active(now) {
			continue
		}
		b, err := s.readDocument(k.key)
		if err != nil {
			return nil, err
		}
		if d, err := parseKey(b); err == nil {
			out = append(out, trust.File{Name: d.Name(), Data: b})
		}
	}
	for _, r := range m.revocations {
		b, err := s.readPublic(r.URL, doc.MaxDocument)
		if err != nil {
			return nil, err
		}
		out = append(out, trust.File{Name: r.Name, Data: b})
	}
	return out, nil
}

func (n *namespace) all() []*boundKey {
	if n == nil {
		return nil
	}
	return n.keys
}

func (s *Server) snapshot() *model {
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
	var p problems
	signed := s.signer(ctx, m, r, id.NS, wire.Endpoint(wire.ActionPublish))
	p.add(signed)
	p.add(s.free(m, id, st.Version))
	if signed == nil { // a stranger uses no nonce, no quota and no time of the machine
		if err := s.admitPublish(ctx, r, id); err != nil {
			return nil, err
		}
	}
	content := s.judge(ctx, m, r, id, &p, signed == nil)
	if err := p.err(fmt.Sprintf("publishing %s %s", id, st.Version)); err != nil {
		return nil, err
	}
	defer s.hold(st.Body)()
	if err := s.storeArchive(st.Body, r.body); err != nil {
		return nil, err
	}
	return s.change(ctx, r, func(m *model, index int64) (*log.Entry, *wire.Line, error) {
		if err := s.again(ctx, m, r, id); err != nil {
			return nil, nil, err
		}
		if err := s.writable(st.ID, id); err != nil { // before the log names it permanently
			return nil, nil, unavailable("preparing the index", err)
		}
		e := &log.Entry{
			Type:      log.Release,
			ID:        st.ID,
			Version:   st.Version,
			Sum:       st.Sum,
			Archive:   st.Body,
			Manifest:  content.Manifest,
			Signers:   unique(content.Signers),
			Publisher: wire.KeyText(st.Key),
			Time:      r.now.UTC().Truncate(time.Second),
			Statement: st.Digest,
		}
		line := lineOf(e, index)
		content.fill(line, int64(len(r.body)))
		return e, line, fitsIndex(m.bundles[st.ID], line)
	}, func(m *model, line *wire.Line) error { return s.writeFound(id, content, line, m) })
}

// stateBytes is how many bytes a change of its state adds to a line at most.
const stateBytes = 6*wire.MaxReason + 64

// fitsIndex returns an error for a line with which clients would refuse the index, now or
// after every version got a state with the longest reason.
func fitsIndex(b *bundleState, line *wire.Line) error {
	size := len(line.Render()) + stateBytes
	if size > wire.MaxLine {
		return diag.New(diag.TooLarge, "publishing %s %s: its index line is longer than %d bytes: it has too many items", line.ID, line.Version, wire.MaxLine-stateBytes)
	}
	if b != nil {
		size += len(b.index()) + len(b.versions)*stateBytes
	}
	if size > wire.MaxIndex {
		return diag.New(diag.TooLarge, "publishing %s %s: the index of its versions would be longer than %d bytes; publish under another name, or a new major version", line.ID, line.Version, wire.MaxIndex)
	}
	return nil
}

// again repeats, with nothing in between, the checks that another request may have changed.
func (s *Server) again(ctx context.Context, m *model, r *request, id wire.ID) error {
	var p problems
	p.add(s.signer(ctx, m, r, id.NS, wire.Endpoint(r.statement.Action)))
	p.add(s.free(m, id, r.statement.Version))
	return p.err(fmt.Sprintf("publishing %s %s", id, r.statement.Version))
}

func (s *Server) admitPublish(ctx context.Context, r *request, id wire.ID) error {
	l := s.config.Limits
	return s.meta.admit(ctx, r.statement.Nonce,
		quota{"publish " + wire.KeyText(r.statement.Key), l.PublishPerHour, time.Hour, "publications by this key"},
		quota{"namespace " + id.NS, l.PublishPerDay, 24 * time.Hour, "publications in this namespace"})
}

// free returns an error for a version that was published before, also if it was deleted,
// and for a name that imitates another.
func (s *Server) free(m *model, id wire.ID, version string) error {
	if err := m.unused(id, version); err != nil {
		return err
	}
	if m.bundles[id.String()] != nil {
		return nil
	}
	return s.imitates(m, id)
}

// unused returns an error for a version that was published before, also if it was deleted.
func (m *model) unused(id wire.ID, version string) error {
	if v := m.version(id.String(), version); v != nil {
		if v.State == wire.StateDeleted {
			return diag.New(diag.ValidationFailed, "looking for the version: %s %s was published and deleted; its number is never used again", id, version).WithReason("version_used")
		}
		return diag.New(diag.ValidationFailed, "looking for the version: %s %s was published on %s", id, version, v.Published).WithReason("version_used")
	}
	return nil
}

// judge checks the archive. Problems of the statement do not stop it, so that an author sees
// all of them, but only an author of the namespace gets the judgement of the items.
func (s *Server) judge(ctx context.Context, m *model, r *request, id wire.ID, p *problems, author bool) *Content {
	st := r.statement
	if d := item.DigestOf(r.body).String(); d != st.Body {
		p.add(diag.New(diag.HashMismatch, "comparing the archive: its digest is %s, the statement names %s", d, st.Body))
	}
	if !author {
		return nil
	}
	leave, err := s.enter(ctx, s.judges)
	if err != nil {
		p.add(err)
		return nil
	}
	defer leave()
	documents, err := s.documents(m, id.NS, r.now)
	if err != nil {
		p.add(err)
		return nil
	}
	return judgeArchive(ctx, s.p.Judge, m, Submission{
		Host:      s.host,
		ID:        id,
		Version:   st.Version,
		Documents: documents,
	}, r.body, st.Sum, p)
}

// judgeArchive unpacks an archive and judges its files as the files of a submission.
func judgeArchive(ctx context.Context, judge Judge, m *model, sub Submission, body []byte, want string, p *problems) *Content {
	files, sum, err := unpack(ctx, body)
	if err != nil {
		p.add(err)
		return nil
	}
	if sum != want {
		p.add(diag.New(diag.HashMismatch, "comparing the archive: the hash of its tree is %s, the statement names %s", sum, want))
	}
	sub.Files = files
	content, found, err := judge(ctx, sub)
	p.add(err)
	p.list = append(p.list, found...)
	if content != nil {
		p.add(continues(m, sub.ID, content.Signers))
	}
	return content
}

// continues returns an error if clients would refuse the signers of a version: none of them
// signed the version before.
func continues(m *model, id wire.ID, signers []string) error {
	b := m.bundles[id.String()]
	if b == nil {
		return nil
	}
	last := b.versions[len(b.versions)-1]
	if slices.ContainsFunc(signers, func(k string) bool { return slices.Contains(last.Signers, k) }) {
		return nil
	}
	return diag.New(diag.SignerChanged, "comparing the signers with the signers of %s: none of them signed it; sign with one of those keys, too (rye bundle sign)", last.Version)
}

// storeArchive writes an archive under its digest. It is durable when the log names it.
func (s *Server) storeArchive(digest string, b []byte) error {
	p := archiveFile(digest)
	have, err := os.ReadFile(s.base.Path(publicDir + p))
	if err == nil && bytes.Equal(have, b) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable("storing the archive", err)
	}
	if err := s.writePublic(p, b); err != nil {
		return unavailable("storing the archive", err)
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
		if !s.model.uses(digest) && s.writer.Broken() == nil { // else the log may name it
			_ = s.base.Remove(publicDir + archiveFile(digest)) // doctor reports what stays
		}
	}
}

// uses reports whether a version that is not deleted has an archive.
func (m *model) uses(archive string) bool {
	for _, b := range m.bundles {
		for _, v := range b.versions {
			if v.Archive == archive && v.State != wire.StateDeleted {
				return true
			}
		}
	}
	return false
}

// dependantsToProtect is the number of dependants from which a name is protected.
const dependantsToProtect = 100

// imitates returns an error if a new name is easily mistaken for a protected one of another
// namespace.
func (s *Server) imitates(m *model, id wire.ID) error {
	if slices.Contains(s.config.Allowed, id.String()) {
		return nil
	}
	protected := slices.Clone(s.config.Protected)
	for name, b := range m.bundles {
		if b.id.NS != id.NS && len(m.dependants(s.host, b.id, "")) > dependantsToProtect {
			protected = append(protected, name)
		}
	}
	for _, name := range protected {
		other, err := wire.ParseID(name)
		if err != nil || other.NS == id.NS || other.Name != id.Name && !oneEdit(other.Name, id.Name) {
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
	return len(b)-len(a) == 1 && a[i:] == b[i+1:] || len(a) == len(b) && i < len(a) && a[i+1:] == b[i+1:]
}
