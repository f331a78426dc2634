package rules

import (
	"context"
	"fmt"
	"time"

	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/trust"
)

// Preview is a publication that is not sent, with what the registry serves about its
// namespace and its bundle.
type Preview struct {
	Host, Version string
	ID            wire.ID
	Archive       []byte
	Sum           string
	Key           string          // that would sign the statement
	Namespace     *wire.Namespace // its keys
	Lines         []*wire.Line    // the versions of the bundle, none for a new one
	Revocations   [][]byte        // that the registry knows for the namespace
	Judge         Judge
	Now           time.Time
}

// Check returns the error that the registry would return, as far as that depends on what it
// serves, by the code that a registry runs. It does not know quotas, blocked keys, the
// limits of the operator and names that are refused as imitations.
func (v Preview) Check(ctx context.Context) error {
	m := NewState(0)
	var p Problems
	documents, err := v.namespace(m, &p)
	if err != nil {
		return err
	}
	// A bundle without versions is unknown to the server, too, and has no signers to continue.
	if len(v.Lines) > 0 {
		m.Bundles[v.ID.String()] = &Bundle{ID: v.ID, Versions: v.Lines}
	}
	p.Add(m.MayChange(v.ID.NS, v.Key, v.Now))
	p.Add(m.Unused(v.ID, v.Version))
	content := JudgeArchive(ctx, v.Judge, m, Submission{
		Host:      v.Host,
		ID:        v.ID,
		Version:   v.Version,
		Documents: documents,
	}, v.Archive, v.Sum, &p)
	if content != nil {
		line := LineOf(&log.Entry{
			ID:        v.ID.String(),
			Version:   v.Version,
			Sum:       v.Sum,
			Signers:   Unique(content.Signers),
			Publisher: v.Key,
			Time:      v.Now,
		}, 0)
		content.Fill(line, int64(len(v.Archive)))
		p.Add(FitsIndex(m.Bundles[v.ID.String()], line))
	}
	return p.Err(fmt.Sprintf("publishing %s %s", v.ID, v.Version))
}

// namespace adds the keys of the namespace to a state, and returns their documents.
func (v Preview) namespace(m *State, p *Problems) (documents []trust.File, err error) {
	// MayChange reports a namespace that is not bound.
	if len(v.Namespace.Keys) == 0 {
		return nil, nil
	}
	n := m.ownNamespace(v.ID.NS)
	for _, k := range v.Namespace.Keys {
		b := &BoundKey{
			Key:     k.Key,
			Method:  k.Method,
			Log:     k.Log,
			Removed: k.Removed,
		}
		if b.From, err = wire.ParseTime(k.From); err == nil {
			b.Until, err = wire.ParseTime(k.Until)
		}
		if err != nil {
			return nil, err
		}
		n.Keys = append(n.Keys, b)
		d, err := ParseKey([]byte(k.Document))
		if err == nil && k.Key == v.Key {
			p.Add(ReleaseKey(d, v.Now))
		}
		if err == nil && b.Active(v.Now) {
			documents = append(documents, trust.File{Name: d.Name(), Data: []byte(k.Document)})
		}
	}
	for _, text := range v.Revocations {
		name, key := RevocationOf(text)
		if name != "" {
			documents = append(documents, trust.File{Name: name, Data: text})
		}
		if key != "" {
			m.Revoked[key] = true
		}
	}
	return documents, nil
}
