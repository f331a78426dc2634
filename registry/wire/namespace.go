package wire

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Namespace is the document /ns/NS.json: the keys of a namespace with the log entries
// that bound them.
type Namespace struct {
	V          int        `json:"v"`
	Namespace  string     `json:"namespace"`
	Keys       []BoundKey `json:"keys"`       // sorted by log
	Publishers []Document `json:"publishers"` // publisher documents
}

// BoundKey is a key of a namespace.
type BoundKey struct {
	Key      string `json:"key"`
	Document string `json:"document"` // the text of its key document
	Method   string `json:"method"`   // how it was proven; "key" if another key added it
	Log      int64  `json:"log"`      // the number of the entry that bound, renewed or added it
	From     string `json:"from"`     // later than the entry for a transfer
	Until    string `json:"until"`    // after it, the key cannot publish until it is renewed
	Removed  *int64 `json:"removed"`  // the number of the entry that removed it
}

// MethodKey is the method of a key that another key of the namespace added.
const MethodKey = "key"

// Document is a trust document that a registry serves.
type Document struct {
	Name string `json:"name"`
	Text string `json:"text"`
	Log  int64  `json:"log"`
}

// Render returns the bytes of the document.
func (n *Namespace) Render() []byte {
	c := *n
	if c.Keys == nil {
		c.Keys = []BoundKey{}
	}
	if c.Publishers == nil {
		c.Publishers = []Document{}
	}
	return marshal(&c)
}

// Document returns the text of the document of a key that the namespace has or had, "" for
// another key.
func (n *Namespace) Document(key string) string {
	for _, k := range n.Keys {
		if k.Key == key {
			return k.Document
		}
	}
	return ""
}

// ParseNamespace reads the document of a namespace.
func ParseNamespace(b []byte, ns string) (*Namespace, error) {
	var n Namespace
	if err := unmarshal(b, &n, MaxNamespace, false); err != nil {
		return nil, malformed("the keys of namespace "+ns, err)
	}
	if n.V != 1 || n.Namespace != ns {
		return nil, malformed("the keys of namespace "+ns, fmt.Errorf("it is version %d of the namespace %q", n.V, n.Namespace))
	}
	return &n, nil
}

// Revocations is the document /revocations.json.
type Revocations struct {
	V         int          `json:"v"`
	Documents []Revocation `json:"documents"` // sorted by log
}

// Revocation is one revocation that a registry knows.
type Revocation struct {
	Digest string `json:"digest"` // sha256: of the text
	URL    string `json:"url"`    // a path of the registry
	Name   string `json:"name"`   // of the trust document
	Log    int64  `json:"log"`
}

// RevocationPath is where a registry serves the text of a revocation with a digest.
func RevocationPath(digest string) string {
	return "/revocations/" + strings.TrimPrefix(digest, "sha256:") + ".toml"
}

// Render returns the bytes of the document.
func (r *Revocations) Render() []byte {
	c := *r
	if c.Documents == nil {
		c.Documents = []Revocation{}
	}
	return marshal(&c)
}

// Differences returns how the list differs from the revocations in a log: digests by the
// number of their entries.
func (r *Revocations) Differences(entries map[int64]string) []string {
	var out []string
	seen := map[int64]bool{}
	for _, x := range r.Documents {
		switch digest, ok := entries[x.Log]; {
		case seen[x.Log]:
			out = append(out, fmt.Sprintf("it lists log entry %d twice", x.Log))
		case !ok || digest != x.Digest || x.URL != RevocationPath(digest):
			out = append(out, fmt.Sprintf("log entry %d does not record %q", x.Log, cut(x.Digest)))
		}
		seen[x.Log] = true
	}
	for _, n := range slices.Sorted(maps.Keys(entries)) {
		if !seen[n] {
			out = append(out, fmt.Sprintf("it lacks %s, log entry %d", entries[n], n))
		}
	}
	return out
}

// ParseRevocations reads the revocations that a registry knows.
func ParseRevocations(b []byte) (*Revocations, error) {
	var r Revocations
	if err := unmarshal(b, &r, MaxRevocations, false); err != nil {
		return nil, malformed("the revocations", err)
	}
	if r.V != 1 {
		return nil, malformed("the revocations", fmt.Errorf("it has version %d, this program reads version 1", r.V))
	}
	return &r, nil
}
