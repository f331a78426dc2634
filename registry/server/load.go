package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/trust/doc"
)

// load computes the model from the log, and writes every static file that a crash left out.
func (s *Server) load(ctx context.Context) error {
	s.base.Sweep()
	if err := s.clearIncoming(); err != nil {
		return err
	}
	m, err := s.readLog(ctx)
	if err != nil {
		return err
	}
	if err := s.complete(ctx, m); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model = m
	s.dirty = nil
	return s.writeAll(ctx, m)
}

// readLog verifies the log and returns the model of its entries.
func (s *Server) readLog(ctx context.Context) (*rules.State, error) {
	m := rules.NewState(time.Duration(s.config.Limits.TransferDelayHours) * time.Hour)
	r := log.NewReader(logFiles{s.base}.Read, s.writer.Tree())
	err := r.Check(ctx, func(index int64, b []byte) error {
		e, err := log.ParseEntry(b)
		if err != nil {
			return fmt.Errorf("entry %d: %w", index, err)
		}
		m.Apply(e, index, nil)
		return nil
	})
	if err != nil {
		return nil, diag.New(diag.RegistryError, "reading the log of the registry: %w", err).WithReason("registry_log_damaged")
	}
	return m, nil
}

// complete fills in the lines of m: from the index, or from the archives for lines that the
// index lacks.
func (s *Server) complete(ctx context.Context, m *rules.State) error {
	for name, b := range m.Bundles {
		if err := s.writable(name, b.ID); err != nil {
			s.p.Note("the registry serves no index of a bundle: " + err.Error())
			continue
		}
		text, err := s.readPublic(wire.IndexPath+b.ID.IndexPath(), wire.MaxIndex)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return diag.New(diag.FileSystemError, "reading the index of %s: %w", b.ID, err)
		}
		have, err := wire.ParseIndex(text, b.ID)
		if err != nil {
			s.p.Note(fmt.Sprintf("the index of %s is damaged and is written again: %v", b.ID, err))
		}
		for i, v := range b.Versions {
			at := slices.IndexFunc(have, func(l *wire.Line) bool {
				return l.Version == v.Version
			})
			if at >= 0 && fits(have[at], v) {
				full := *have[at]
				full.State = v.State
				full.Reason = v.Reason
				full.StateLog = v.StateLog
				b.Versions[i] = &full
				continue
			}
			if b.Versions[i], err = s.lineAgain(ctx, m, v); err != nil {
				return err
			}
		}
	}
	return s.nameRevocations(m)
}

// fits reports whether a line of the index belongs to an entry.
func fits(line, entry *wire.Line) bool {
	return line.Sum == entry.Sum && line.Archive == entry.Archive && line.Manifest == entry.Manifest && line.Publisher == entry.Publisher &&
		line.Published == entry.Published && line.Log == entry.Log && slices.Equal(line.Signers, entry.Signers)
}

// lineAgain returns the line of an entry from its archive. Of a deleted version without
// an archive it is what the entry states.
func (s *Server) lineAgain(
	ctx context.Context,
	m *rules.State,
	v *wire.Line,
) (*wire.Line, error) {
	full := *v
	b, err := s.readPublic(archiveFile(v.Archive), wire.MaxArchive)
	if errors.Is(err, fs.ErrNotExist) && v.State == wire.StateDeleted {
		full.Size = 1
		return &full, nil
	}
	if err != nil {
		return nil, diag.New(diag.RegistryError, "writing the line of %s %s again: its archive is missing: %w", v.ID, v.Version, err)
	}
	files, sum, err := rules.Unpack(ctx, b)
	if err != nil || sum != v.Sum {
		return nil, diag.New(diag.HashMismatch, "writing the line of %s %s again: its archive is not the one that was published: %w", v.ID, v.Version, err)
	}
	id, err := wire.ParseID(v.ID)
	if err != nil {
		return nil, err
	}
	content, _, err := s.p.Judge(ctx, rules.Submission{
		Host:    s.host,
		ID:      id,
		Version: v.Version,
		Files:   files,
	}) // only what it contains matters: the log states that it was accepted
	if err != nil {
		return nil, err
	}
	if content == nil {
		return nil, diag.New(diag.RegistryError, "writing the line of %s %s again: its manifest cannot be read", v.ID, v.Version)
	}
	content.Fill(&full, int64(len(b)))
	return &full, s.writeFound(id, content, &full, m)
}

// nameRevocations fills in the names of the documents.
func (s *Server) nameRevocations(m *rules.State) error {
	for i := range m.Revocations {
		r := &m.Revocations[i]
		b, err := s.readPublic(r.URL, doc.MaxDocument)
		if err != nil || item.DigestOf(b).String() != r.Digest {
			return diag.New(diag.RegistryError, "reading the revocation %s: its text is missing or changed: %w", r.Digest, err)
		}
		name, key := rules.RevocationOf(b)
		if r.Name = name; key != "" {
			m.Revoked[key] = true
		}
	}
	return nil
}

// writeAll writes every static file that the model determines and that differs.
func (s *Server) writeAll(ctx context.Context, m *rules.State) error {
	if err := s.writeChanged(wire.DiscoveryPath, s.discovery()); err != nil {
		return err
	}
	spaces := map[string]bool{}
	for name, b := range m.Bundles {
		if s.writable(name, b.ID) != nil {
			continue // complete noted it: one bundle does not keep the others from being served
		}
		spaces[b.ID.NS] = true
		err := s.writeChanged(wire.IndexPath+b.ID.IndexPath(), b.Index())
		if err != nil {
			return err
		}
	}
	for ns := range spaces {
		err := s.writeChanged(wire.IndexPath+wire.NamespaceIndexPath(ns), m.Names(ns))
		if err != nil {
			return err
		}
	}
	for ns := range m.Namespaces {
		if err := s.writeNamespace(m, ns); err != nil {
			return err
		}
	}
	if err := s.writeRevocations(m); err != nil {
		return err
	}
	var err error
	s.search, err = s.loadSearch(ctx, m)
	return err
}

func (s *Server) writeRevocations(m *rules.State) error {
	return s.writeChanged(wire.RevocationsPath, (&wire.Revocations{V: 1, Documents: m.Revocations}).Render())
}

// writeNamespace writes the keys of a namespace.
func (s *Server) writeNamespace(m *rules.State, ns string) error {
	n := m.Namespaces[ns]
	out := &wire.Namespace{V: 1, Namespace: ns, Publishers: n.Publishers}
	for _, k := range n.Keys {
		text, err := s.readDocument(k.Key)
		if err != nil {
			return err
		}
		out.Keys = append(out.Keys, wire.BoundKey{
			Key:      k.Key,
			Document: string(text),
			Method:   k.Method,
			Log:      k.Log,
			From:     wire.TimeText(k.From),
			Until:    wire.TimeText(k.Until),
			Removed:  k.Removed,
		})
	}
	slices.SortStableFunc(out.Keys, func(a, b wire.BoundKey) int {
		return int(a.Log - b.Log)
	})
	return s.writeChanged(wire.NamespacePath(ns), out.Render())
}

func documentFile(key string) string {
	return documentsDir + "/" + key[len("ed25519:"):] + ".toml"
}

func (s *Server) readDocument(key string) ([]byte, error) {
	b, err := readFile(s.base.Path(documentFile(key)), doc.MaxDocument)
	if err != nil {
		return nil, diag.New(diag.RegistryError, "reading the document of key %s: %w", key, err)
	}
	return b, nil
}

func (s *Server) clearIncoming() error {
	if err := s.base.RemoveAll(incomingDir); err != nil {
		return err
	}
	return s.base.MkdirAll(incomingDir)
}
