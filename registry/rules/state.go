package rules

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

// BindingYears is how long a key may publish after it was bound or added.
const BindingYears = 1

// State is the state of a registry, computed from its log. The content of lines that
// entries do not have comes from the index and the archives.
type State struct {
	delay       time.Duration // of a transfer
	Namespaces  map[string]*Namespace
	Bundles     map[string]*Bundle
	Revocations []wire.Revocation
	Revoked     map[string]bool // keys of which a revocation is known
}

// Namespace is a namespace with every key that was ever bound to it.
type Namespace struct {
	Keys       []*BoundKey
	Publishers []wire.Document
}

// BoundKey is a key of a namespace, with the time in which it may change the namespace.
type BoundKey struct {
	Key         string
	Method      string
	Log         int64
	From, Until time.Time
	Removed     *int64
}

// Active reports whether the key may publish at a time.
func (k *BoundKey) Active(t time.Time) bool {
	return k.Removed == nil &&
		!t.Before(k.From) &&
		t.Before(k.Until)
}

// Bundle is a bundle with its versions, oldest first.
type Bundle struct {
	ID       wire.ID
	Versions []*wire.Line
}

// NewState returns the state of an empty log. delay is the time after which a second party may use
// a namespace that it took over.
func NewState(delay time.Duration) *State {
	return &State{
		delay:      delay,
		Namespaces: map[string]*Namespace{},
		Bundles:    map[string]*Bundle{},
		Revoked:    map[string]bool{},
	}
}

// Clone returns a copy that can be changed by Apply without changing m.
func (m *State) Clone() *State {
	c := &State{
		delay:       m.delay,
		Namespaces:  maps.Clone(m.Namespaces),
		Bundles:     maps.Clone(m.Bundles),
		Revocations: slices.Clone(m.Revocations),
		Revoked:     maps.Clone(m.Revoked),
	}
	return c
}

// Apply adds an entry. It replaces the parts that it changes, so that a clone keeps its
// own. line is the complete line of a release, nil while the log is read.
func (m *State) Apply(e *log.Entry, index int64, line *wire.Line) {
	switch e.Type {
	case log.Release:
		b := m.ownBundle(e.ID)
		if line == nil {
			line = LineOf(e, index)
		}
		b.Versions = append(b.Versions, line)
	case log.State:
		b := m.ownBundle(e.ID)
		for i, v := range b.Versions {
			if v.Version == e.Version {
				c := *v
				c.State = e.State
				c.Reason = e.Reason
				c.StateLog = &index
				b.Versions[i] = &c
			}
		}
	case log.Binding:
		m.bind(e, index)
	case log.Key:
		m.changeKey(e, index)
	case log.Revocation:
		m.Revocations = append(m.Revocations, wire.Revocation{Digest: e.Digest, URL: wire.RevocationPath(e.Digest), Log: index})
	}
}

// ownBundle returns a bundle that no clone shares.
func (m *State) ownBundle(id string) *Bundle {
	parsed, _ := wire.ParseID(id) // entries that the server wrote
	b := &Bundle{ID: parsed}
	if was := m.Bundles[id]; was != nil {
		b.Versions = slices.Clone(was.Versions)
	}
	m.Bundles[id] = b
	return b
}

func (m *State) ownNamespace(ns string) *Namespace {
	n := &Namespace{}
	if was := m.Namespaces[ns]; was != nil {
		n.Publishers = was.Publishers
		for _, k := range was.Keys {
			c := *k
			n.Keys = append(n.Keys, &c)
		}
	}
	m.Namespaces[ns] = n
	return n
}

// Find returns the entry of a key that was not removed.
func (n *Namespace) Find(key string) *BoundKey {
	if n == nil {
		return nil
	}
	for _, k := range n.Keys {
		if k.Key == key && k.Removed == nil {
			return k
		}
	}
	return nil
}

// bind binds a key. A key that a namespace does not have is effective after the delay,
// unless the operator bound it: a party that takes over a name shows it in the log first.
func (m *State) bind(e *log.Entry, index int64) {
	n := m.ownNamespace(e.Namespace)
	if k := n.Find(e.Key); k != nil {
		k.Until = e.Until
		k.Method = e.Method
		k.Log = index
		return
	}
	k := &BoundKey{
		Key:    e.Key,
		Method: e.Method,
		Log:    index,
		From:   e.Time,
		Until:  e.Until,
	}
	held := slices.ContainsFunc(n.Keys, func(k *BoundKey) bool {
		return k.Removed == nil
	})
	if held && e.Method != wire.MethodOperator {
		k.From = e.Time.Add(m.delay)
	}
	n.Keys = append(n.Keys, k)
}

// changeKey adds or removes a key. A key that a second one adds is bound as long as that one
// at most: only a proof of the namespace makes a binding longer. A key that is bound already
// keeps its end.
func (m *State) changeKey(e *log.Entry, index int64) {
	n := m.ownNamespace(e.Namespace)
	k := n.Find(e.Key)
	switch {
	case e.Action == "remove" && k != nil:
		k.Removed = &index
	case e.Action == "add" && k == nil:
		until := e.Time.AddDate(BindingYears, 0, 0)
		if by := n.Find(e.Publisher); by == nil {
			until = e.Time
		} else if by.Until.Before(until) {
			until = by.Until
		}
		n.Keys = append(n.Keys, &BoundKey{
			Key:    e.Key,
			Method: wire.MethodKey,
			Log:    index,
			From:   e.Time,
			Until:  until,
		})
	}
}

// LineOf returns the fields of its line that an entry states.
func LineOf(e *log.Entry, index int64) *wire.Line {
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

// Version returns a version of a bundle, or nil.
func (m *State) Version(id, version string) *wire.Line {
	if b := m.Bundles[id]; b != nil {
		for _, v := range b.Versions {
			if v.Version == version {
				return v
			}
		}
	}
	return nil
}

// Index returns the file of the versions of a bundle.
func (b *Bundle) Index() []byte {
	var out []byte
	for _, v := range b.Versions {
		out = append(out, v.Render()...)
	}
	return out
}

// Listed reports whether a bundle is shown in lists: a version of it is not unlisted and
// not deleted.
func (b *Bundle) Listed() bool {
	return slices.ContainsFunc(b.Versions, func(v *wire.Line) bool {
		return v.State == wire.StateOK || v.State == wire.StateYanked
	})
}

// Names returns the file of the listed names of a namespace.
func (m *State) Names(ns string) []byte {
	out := &wire.NamespaceIndex{V: 1}
	for _, b := range m.Bundles {
		if b.ID.NS == ns && b.Listed() {
			name := b.ID.Name
			if b.ID.Major != "" {
				name += "/" + b.ID.Major
			}
			out.Names = append(out.Names, name)
		}
	}
	slices.Sort(out.Names)
	return out.Render()
}

// Dependants returns the versions that are not deleted and require a bundle in a version
// from this one on, or in any version if it is "".
func (m *State) Dependants(host string, id wire.ID, version string) (out []string) {
	prefix := id.Full(host) + " "
	for _, b := range m.Bundles {
		for _, v := range b.Versions {
			if v.State == wire.StateDeleted {
				continue
			}
			for _, need := range v.Requires {
				if len(need) > len(prefix) &&
					need[:len(prefix)] == prefix &&
					(version == "" || need[len(prefix):] == version) {
					out = append(out, v.ID+" "+v.Version)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// Sorted returns the bundles by the number of their first entry.
func (m *State) Sorted() []*Bundle {
	return slices.SortedFunc(maps.Values(m.Bundles), func(a, b *Bundle) int {
		return cmp.Compare(a.Versions[0].Log, b.Versions[0].Log)
	})
}

// All returns every key that was ever bound, none for a namespace that is nil.
func (n *Namespace) All() []*BoundKey {
	if n == nil {
		return nil
	}
	return n.Keys
}

// Uses reports whether a version that is not deleted has an archive.
func (m *State) Uses(archive string) bool {
	for _, b := range m.Bundles {
		for _, v := range b.Versions {
			if v.Archive == archive && v.State != wire.StateDeleted {
				return true
			}
		}
	}
	return false
}

// Newest returns the last version that resolution would use, else the last one.
func (b *Bundle) Newest() *wire.Line {
	for _, states := range [][]string{{wire.StateOK}, {wire.StateYanked}, {wire.StateUnlisted}} {
		for _, v := range slices.Backward(b.Versions) {
			if slices.Contains(states, v.State) {
				return v
			}
		}
	}
	return b.Versions[len(b.Versions)-1]
}

// Deleted returns a deleted version with an archive, or nil.
func (m *State) Deleted(archive string) *wire.Line {
	for _, b := range m.Bundles {
		for _, v := range b.Versions {
			if v.Archive == archive && v.State == wire.StateDeleted {
				return v
			}
		}
	}
	return nil
}
