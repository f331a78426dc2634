package search

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/trust"
)

// filters returns the words before a colon that restrict the items.
// signed-by uses the signature line without verification: only the hits that are shown are
// verified, and their trust gives the verdict.
func filters() []string {
	return []string{"type", "space", "ns", "signed-by"}
}

// toolTypeField is the field with the tool_type of a tool. A word in it restricts
// the items.
const toolTypeField = "tool_type"

// notExecutable returns the types of tools that no call executes.
func notExecutable() []string {
	return []string{"runtime", "primitive", "extractor", "parser", "sink", "mcp_server", item.Library}
}

// executable returns the condition that an item is not one of these tools.
func executable(field int) []node {
	var out []node
	for _, t := range notExecutable() {
		out = append(out, not{&leaf{form: term, field: field, words: []string{t}}})
	}
	return out
}

// RecordSpace is the name with which a query finds the records of runs and threads: the
// knowledge of the project that the runtime key signed. No other query finds it.
const RecordSpace = "threads"

// RegistrySpace is the name of what the registries list that the user pinned. A Catalog
// finds it, an Index does not.
const RegistrySpace = "registry"

// namesRecords reports whether a part of a query restricts it to records.
func namesRecords(n node) bool {
	some := func(kids []node) bool {
		return slices.ContainsFunc(kids, namesRecords)
	}
	switch n := n.(type) {
	case filter:
		return n.by == "space" && n.value == RecordSpace
	case only:
		return namesRecords(n.kid)
	case not:
		return namesRecords(n.kid)
	case or:
		return some(n.kids)
	case group:
		return some(n.must) || some(n.may)
	}
	return false
}

// namesTools reports whether a part of a query restricts namespaces or types of tools.
func namesTools(n node) bool {
	some := func(kids []node) bool {
		return slices.ContainsFunc(kids, func(k node) bool { return namesTools(k) })
	}
	switch n := n.(type) {
	case filter:
		return n.by == "ns"
	case only:
		return true
	case not:
		return namesTools(n.kid)
	case or:
		return some(n.kids)
	case group:
		return some(n.must) || some(n.may)
	}
	return false
}

// minSigner is the length of the shortest prefix of a fingerprint.
const minSigner = 4

// filter parses the value of a filter, which begins at at.
func (p *parser) filter(by string, at int, quoted bool) (node, error) {
	if quoted {
		return nil, p.fail(at, "%s: needs a word, not a phrase", by)
	}
	value := string(p.text[at:p.at])
	switch by {
	case "type":
		if !slices.Contains(p.kinds, item.Kind(value)) {
			return nil, p.unknown(at, "kind", value, kindNames(p.kinds))
		}
	case "space":
		if !slices.Contains(p.spaces, value) {
			return nil, p.unknown(at, "space", value, p.spaces)
		}
	case "ns":
		ns, ok := namespace(value)
		if !ok {
			return nil, p.fail(at, "%q is not a namespace such as rye/core", value)
		}
		value = ns
	case "signed-by":
		value = strings.ToLower(value)
		if !fingerprintPrefix(value) {
			return nil, p.fail(at, "a signer is the beginning of a key's fingerprint, at least %d hexadecimal digits", minSigner).WithReason("query_signer")
		}
	}
	return filter{by, value}, nil
}

func fingerprintPrefix(s string) bool {
	const full = 64
	if len(s) < minSigner || len(s) > full {
		return false
	}
	_, err := hex.DecodeString(
		s[:len(s)&^1] + "0" + s[len(s)-1:],
	)
	return err == nil
}

func joinKinds(kinds []item.Kind) string {
	return strings.Join(kindNames(kinds), " ")
}

func kindNames(kinds []item.Kind) []string {
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = string(k)
	}
	return out
}

// namespace parses "rye/core" and "rye.core", either with "/*" or ".*" at the end.
func namespace(s string) (string, bool) {
	s = strings.ReplaceAll(s, ".", "/")
	s = strings.TrimSuffix(strings.TrimSuffix(s, "*"), "/")
	return s, item.CheckID(s) == nil
}

// inNamespace reports whether an id is the namespace itself or below it.
func inNamespace(id, ns string) bool {
	return strings.HasPrefix(id, ns) &&
		(len(id) == len(ns) || id[len(ns)] == '/')
}

// location identifies a document; filters test it.
type location struct {
	ref    item.Ref
	root   int // order of precedence
	rel    string
	signer string // 32 bytes, or ""
}

// accepts reports whether an item passes the filter. labels has the names of each
// root, see rootNames.
func (f filter) accepts(at location, labels [][]string) bool {
	switch f.by {
	case "type":
		return slices.Contains(strings.Fields(f.value), string(at.ref.Kind))
	case "space":
		if f.value == RecordSpace {
			return trust.IsRecord(at.ref) &&
				slices.Contains(labels[at.root], string(space.Project))
		}
		return slices.Contains(labels[at.root], f.value)
	case "ns":
		return inNamespace(at.ref.ID, f.value)
	}
	return at.signer != "" &&
		strings.HasPrefix(hex.EncodeToString([]byte(at.signer)), f.value)
}
