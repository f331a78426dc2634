package server

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

// bindingYears is how long a key may publish after it was bound or added.
const bindingYears = 1

// model is the state of a registry, computed from its log. The content of lines that
// entries do not have comes from the index and the archives.
type model struct {
	delay       time.Duration // of a transfer
	namespaces  map[string]*namespace
	bundles     map[string]*bundleState
	revocations []wire.Revocation
	revoked     map[string]bool // keys of which a revocation is known
}

// namespace is a namespace with every key that was ever bound to it.
type namespace struct {
	keys       []*boundKey
	publishers []wire.Document
}

type boundKey struct {
	key         string
	method      string
	log         int64
	from, until time.Time
	removed     *int64
}

// active reports whether the key may publish at a time.
func (k *boundKey) active(t time.Time) bool {
	return k.removed == nil && !t.Before(k.from) && t.Before(k.until)
}

// bundleState is a bundle with its versions, oldest first.
type bundleState struct {
	id       wire.ID
	versions []*wire.Line
}

func newModel(delay time.Duration) *model {
	return &model{
		delay:      delay,
		namespaces: map[string]*namespace{},
		bundles:    map[string]*bundleState{},
		revoked:    map[string]bool{},
	}
}

// clone returns a copy that can be changed by apply without changing m.
func (m *model) clone() *model {
	c := &model{
		delay:       m.delay,
		namespaces:  maps.Clone(m.namespaces),
		bundles:     maps.Clone(m.bundles),
		revocations: slices.Clone(m.revocations),
		revoked:     maps.Clone(m.revoked),
	}
	return c
}

// apply adds an entry. It replaces the parts that it changes, so that a clone keeps its
// own. line is the complete line of a release, nil while the log is read.
func (m *model) apply(e *log.Entry, index int64, line *wire.Line) {
	switch e.Type {
	case log.Release:
		b := m.ownBundle(e.ID)
		if line == nil {
			line = lineOf(e, index)
		}
		b.versions = append(b.versions, line)
	case log.State:
		b := m.ownBundle(e.ID)
		for i, v := range b.versions {
			if v.Version == e.Version {
				c := *v
				c.State = e.State
				c.Reason = e.Reason
				c.StateLog = &index
				b.versions[i] = &c
			}
		}
	case log.Binding:
		m.bind(e, index)
	case log.Key:
		m.changeKey(e, index)
	case log.Revocation:
		m.revocations = append(m.revocations, wire.Revocation{Digest: e.Digest, URL: wire.RevocationPath(e.Digest), Log: index})
	}
}

// ownBundle returns a bundle that no clone shares.
func (m *model) ownBundle(id string) *bundleState {
	parsed, _ := wire.ParseID(id) // entries that the server wrote
	b := &bundleState{id: parsed}
	if was := m.bundles[id]; was != nil {
		b.versions = slices.Clone(was.versions)
	}
	m.bundles[id] = b
	return b
}

func (m *model) ownNamespace(ns string) *namespace {
	n := &namespace{}
	if was := m.namespaces[ns]; was != nil {
		n.publishers = was.publishers
		for _, k := range was.keys {
			c := *k
			n.keys = append(n.keys, &c)
		}
	}
	m.namespaces[ns] = n
	return n
}

// find returns the entry of a key that was not removed.
func (n *namespace) find(key string) *boundKey {
	if n == nil {
		return nil
	}
	for _, k := range n.keys {
		if k.key == key && k.removed == nil {
			return k
		}
	}
	return nil
}

// bind binds a key. A key that a namespace does not have is effective after the delay,
// unless the operator bound it: a party that takes over a name shows it in the log first.
func (m *model) bind(e *log.Entry, index int64) {
	n := m.ownNamespace(e.Namespace)
	if k := n.find(e.Key); k != nil {
		k.until = e.Until
		k.method = e.Method
		k.log = index
		return
	}
	k := &boundKey{
		key:    e.Key,
		method: e.Method,
		log:    index,
		from:   e.Time,
		until:  e.Until,
	}
	held := slices.ContainsFunc(n.keys, func(k *boundKey) bool { return k.removed == nil })
	if held && e.Method != wire.MethodOperator {
		k.from = e.Time.Add(m.delay)
	}
	n.keys = append(n.keys, k)
}

// changeKey adds or removes a key. A key that a second one adds is bound as long as that one
// at most: only a proof of the namespace makes a binding longer. A key that is bound already
// keeps its end.
func (m *model) changeKey(e *log.Entry, index int64) {
	n := m.ownNamespace(e.Namespace)
	k := n.find(e.Key)
	switch {
	case e.Action == "remove" && k != nil:
		k.removed = &index
	case e.Action == "add" && k == nil:
		until := e.Time.AddDate(bindingYears, 0, 0)
		if by := n.find(e.Publisher); by == nil {
			until = e.Time
		} else if by.until.Before(until) {
			until = by.until
		}
		n.keys = append(n.keys, &boundKey{
			key:    e.Key,
			method: wire.MethodKey,
			log:    index,
			from:   e.Time,
			until:  until,
		})
	}
}

// lineOf returns the fields of its line that an entry states.
func lineOf(e *log.Entry, index int64) *wire.Line {
	return &wire.Line{
		V:         1,
		ID:        e.ID,
		Version:   e.Version,
		Sum:       e.Sum,
		Archive:   e.Archive,
		Manifest:  e.Manifest,
		Signers:   e.Signers,
		Publisher: e.Publisher,
		Published: wire.TimeText(e.Time),
		Log:       index,
		State:     wire.StateOK,
	}
}

// version returns a version of a bundle, or nil.
func (m *model) version(id, version string) *wire.Line {
	if b := m.bundles[id]; b != nil {
		for _, v := range b.versions {
			if v.Version == version {
				return v
			}
		}
	}
	return nil
}

// index returns the file of the versions of a bundle.
func (b *bundleState) index() []byte {
	var out []byte
	for _, v := range b.versions {
		out = append(out, v.Render()...)
	}
	return out
}

// listed reports whether a bundle is shown in lists: a version of it is not unlisted and
// not deleted.
func (b *bundleState) listed() bool {
	return slices.ContainsFunc(b.versions, func(v *wire.Line) bool { return v.State == wire.StateOK || v.State == wire.StateYanked })
}

// names returns the file of the listed names of a namespace.
func (m *model) names(ns string) []byte {
	out := &wire.NamespaceIndex{V: 1}
	for _, b := range m.bundles {
		if b.id.NS == ns && b.listed() {
			name := b.id.Name
			if b.id.Major != "" {
				name += "/" + b.id.Major
			}
			out.Names = append(out.Names, name)
		}
	}
	slices.Sort(out.Names)
	return out.Render()
}

// dependants returns the versions that are not deleted and require a bundle in a version
// from this one on, or in any version if it is "".
func (m *model) dependants(host string, id wire.ID, version string) (out []string) {
	prefix := id.Full(host) + " "
	for _, b := range m.bundles {
		for _, v := range b.versions {
			if v.State == wire.StateDeleted {
				continue
			}
			for _, need := range v.Requires {
				if len(need) > len(prefix) && need[:len(prefix)] == prefix && (version == "" || need[len(prefix):] == version) {
					out = append(out, v.ID+" "+v.Version)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// sorted returns the bundles by the number of their first entry.
func (m *model) sorted() []*bundleState {
	return slices.SortedFunc(maps.Values(m.bundles), func(a, b *bundleState) int { return cmp.Compare(a.versions[0].Log, b.versions[0].Log) })
}
