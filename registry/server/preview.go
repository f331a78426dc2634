package server

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
	m := newModel(0)
	var p problems
	documents, err := v.namespace(m, &p)
	if err != nil {
		return err
	}
	if len(v.Lines) > 0 {
		m.bundles[v.ID.String()] = &bundleState{id: v.ID, versions: v.Lines}
	}
	p.add(m.mayChange(v.ID.NS, v.Key, v.Now))
	p.add(m.unused(v.ID, v.Version))
	content := judgeArchive(ctx, v.Judge, m, Submission{
		Host:      v.Host,
		ID:        v.ID,
		Version:   v.Version,
		Documents: documents,
	}, v.Archive, v.Sum, &p)
	if content != nil {
		line := lineOf(&log.Entry{
			ID:        v.ID.String(),
			Version:   v.Version,
			Sum:       v.Sum,
			Signers:   unique(content.Signers),
			Publisher: v.Key,
			Time:      v.Now,
		}, 0)
		content.fill(line, int64(len(v.Archive)))
		p.add(fitsIndex(m.bundles[v.ID.String()], line))
	}
	return p.err(fmt.Sprintf("publishing %s %s", v.ID, v.Version))
}

// namespace adds the keys of the namespace to a model, and returns their documents.
func (v Preview) namespace(m *model, p *problems) (documents []trust.File, err error) {
	if len(v.Namespace.Keys) == 0 {
		return nil, nil
	}
	n := m.ownNamespace(v.ID.NS)
	for _, k := range v.Namespace.Keys {
		b := &boundKey{
			key:     k.Key,
			method:  k.Method,
			log:     k.Log,
			removed: k.Removed,
		}
		if b.from, err = wire.ParseTime(k.From); err == nil {
			b.until, err = wire.ParseTime(k.Until)
		}
		if err != nil {
			return nil, err
		}
		n.keys = append(n.keys, b)
		d, err := parseKey([]byte(k.Document))
		if err == nil && k.Key == v.Key {
			p.add(releaseKey(d, v.Now))
		}
		if err == nil && b.active(v.Now) {
			documents = append(documents, trust.File{Name: d.Name(), Data: []byte(k.Document)})
		}
	}
	for _, text := range v.Revocations {
		name, key := revocationOf(text)
		if name != "" {
			documents = append(documents, trust.File{Name: name, Data: text})
		}
		if key != "" {
			m.revoked[key] = true
		}
	}
	return documents, nil
}
