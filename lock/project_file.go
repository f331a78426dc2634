package lock

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/idpattern"
	"github.com/ryeos/rye/internal/tree"
)

// Format is the format number of rye.yaml, the value of its key rye.
const Format = 1

// ProjectFile is the content of rye.yaml. Every id in it is canonical.
type ProjectFile struct {
	ID        ID                   // the bundle id by which others can require this project, or zero
	Label     string               // a name that is not an id, or ""; ID or Label is empty
	Require   map[ID]string        // minimum version, or a commit, or "local"
	Use       map[ID][]string      // the items that are used, kind:pattern
	Prefer    map[string]ID        // ref: the bundle that provides it
	Replace   map[ID]Replacement   // the replacement of a bundle
	Exclude   map[ID][]string      // versions that are never selected
	Workspace []string             // patterns of member directories
	Trust     map[string]TrustRule // pattern of bundle ids: the required signers
	// Reviewers has, for a pattern of ids of adopted sources, whose reviews are needed.
	Reviewers map[string]ReviewRule
	// Registries are the pinned log keys of registries, by host.
	Registries map[string]string
	Policy     Policy
	// RequiresRye are the versions of rye that may use the project, "" for all. It is
	// not part of a hash: it does not change what is locked.
	RequiresRye string
	Vendor      bool // installed bundles are committed
	// Export states where copies of adopted components are written for other programs.
	Export Export
	// Agents is what the file permits agents at most, nil if it states nothing. Package
	// policy reads it.
	Agents *Section

	at map[string]diag.Position // of an entry, by section and canonical key
}

// Export is the section about copies for other programs. It is not part of a hash: it does
// not change what is locked.
type Export struct {
	Clients []string // names in config:export/clients
	Ignored bool     // the copies are not committed: rye export writes them in each clone
}

// Replacement is what replaces a bundle: a directory, or another bundle.
// A replacement by another bundle is locked, checked and installed under its own id. --locked
// refuses replacement directories only, because a bundle is available to everyone.
type Replacement struct {
	Path    string // a local path, or ""
	ID      ID     // another bundle, or zero
	Version string // of the other bundle; "" keeps the selected version
}

// IsZero reports whether r replaces nothing.
func (r Replacement) IsZero() bool {
	return r == Replacement{}
}

// String renders the path, or the id with @version; "" for zero.
func (r Replacement) String() string {
	switch {
	case r.Path != "":
		return r.Path
	case r.Version != "":
		return r.ID.String() + "@" + r.Version
	}
	return r.ID.String()
}

// TrustRule requires signers for the bundles whose ids match.
type TrustRule struct {
	Signers   []string // ed25519: and the 64 digits of a fingerprint
	Threshold int      // number of signers that must have signed; at least 1
}

// ReviewRule requires reviews for the components of the adopted sources whose ids match.
type ReviewRule struct {
	Reviewers []string // ed25519: and a fingerprint; nil: every trusted key
	Reviews   int      // number of reviews by different keys; at least 1
}

// ReviewRules returns every rule whose pattern matches the id. All of them apply.
func (m *ProjectFile) ReviewRules(id string) []ReviewRule {
	var out []ReviewRule
	for _, pattern := range slices.Sorted(maps.Keys(m.Reviewers)) {
		if matchesTrust(pattern, id) {
			out = append(out, m.Reviewers[pattern])
		}
	}
	return out
}

// Section is a part of a parsed file: the value below the keys At.
type Section struct {
	Doc *tree.Doc
	At  []string
}

// Policy refuses bundles independently of their signers.
type Policy struct {
	Sources       []string      // patterns of bundle ids; nil: every source
	MinAge        time.Duration // minimum age of a version since it was first seen
	CapsDeny      []string      // patterns of capabilities that no bundle may request
	Hosts         []string      // patterns of hosts that a bundle may name; nil: every host
	RequireSigned bool          // refuse unsigned directories: required ones outside the project, and replacements
	Offline       bool          // use only bundles in the cache
	AdoptedDeny   bool          // no adopted source is used
	// MaxCheckpointAge is the age of a registry's checkpoint from which its bundles are
	// refused; 0: a warning after a week.
	MaxCheckpointAge time.Duration
}

// AllowsSource reports whether the policy permits the source of a bundle. Local
// directories are always permitted.
func (p Policy) AllowsSource(id ID) bool {
	return p.Sources == nil || id.Kind == PathID ||
		slices.ContainsFunc(p.Sources, func(pattern string) bool {
			return idpattern.Match(pattern, id.String())
		})
}

// TrustRules returns every rule whose pattern matches the id. All of them apply.
func (m *ProjectFile) TrustRules(id string) []TrustRule {
	var out []TrustRule
	for _, pattern := range m.TrustPatterns(id) {
		out = append(out, m.Trust[pattern])
	}
	return out
}

// TrustPatterns returns the patterns of TrustRules, sorted.
func (m *ProjectFile) TrustPatterns(id string) []string {
	return slices.DeleteFunc(
		slices.Sorted(maps.Keys(m.Trust)),
		func(pattern string) bool { return !matchesTrust(pattern, id) },
	)
}

// Position returns the position of an entry in the parsed text, or of its section if
// the entry does not exist, or zero. The key is canonical.
func (m *ProjectFile) Position(section, key string) diag.Position {
	if p, ok := m.at[section+" "+key]; ok {
		return p
	}
	return m.at[section]
}

// Name returns the name of the file: ID, Label or "".
func (m *ProjectFile) Name() string {
	return cmp.Or(m.ID.String(), m.Label)
}

// Requires returns the requirements, sorted by id.
func (m *ProjectFile) Requires() []Module {
	out := make([]Module, 0, len(m.Require))
	for _, id := range SortedIDs(maps.Keys(m.Require)) {
		out = append(out, Module{ID: id, Version: m.Require[id]})
	}
	return out
}

// Replacing returns the bundle that replaces the required one, or the required one.
// Without a version of its own the replacement has the required version.
func (m *ProjectFile) Replacing(mod Module) Module {
	r, ok := m.Replace[mod.ID]
	if !ok || r.ID.IsZero() {
		return mod
	}
	return Module{ID: r.ID, Version: cmp.Or(r.Version, mod.Version)}
}

// effective returns the manifest with require and use under the ids of the bundles
// that replace others.
func (m *ProjectFile) effective() *ProjectFile {
	c := *m
	c.Require = map[ID]string{}
	c.Use = map[ID][]string{}
	c.at = maps.Clone(m.at)
	for id, v := range m.Require {
		mod := m.Replacing(Module{ID: id, Version: v})
		c.Require[mod.ID] = mod.Version
		if at, ok := m.at["require "+id.String()]; ok {
			c.at["require "+mod.ID.String()] = at
		}
	}
	for id, items := range m.Use {
		by := m.Replacing(Module{ID: id}).ID
		c.Use[by] = append(c.Use[by], items...)
		if at, ok := m.at["use "+id.String()]; ok {
			c.at["use "+by.String()] = at
		}
	}
	return &c
}

// Excludes reports whether the manifest excludes a version.
func (m *ProjectFile) Excludes(mod Module) bool {
	return slices.Contains(m.Exclude[mod.ID], mod.Version)
}

// Settings returns the hash of all values that determine the lock, except require
// and use. The lock records these entry by entry, so that branches merge.
func (m *ProjectFile) Settings() string {
	return m.hash(false)
}

// Hash returns the hash of all values that determine the lock.
func (m *ProjectFile) Hash() string {
	return m.hash(true)
}

// hash hashes one line for each value, with quoted parts, sorted. Equal manifests
// have equal texts, and different ones have different texts.
func (m *ProjectFile) hash(all bool) string {
	var lines []string
	add := func(parts ...string) {
		for i := range parts {
			parts[i] = strconv.QuoteToASCII(parts[i])
		}
		lines = append(lines, strings.Join(parts, " ")+"\n")
	}
	m.facts(add)
	if all {
		for id, v := range m.Require {
			add("require", id.String(), v)
		}
		for id, items := range m.Use {
			addEach(add, items, "use", id.String())
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte("rye-manifest 1\n" + strings.Join(slices.Compact(lines), "")))
	return "h1:" + base64.StdEncoding.EncodeToString(sum[:])
}

func (m *ProjectFile) facts(add func(...string)) {
	add("name", m.Name())
	for ref, id := range m.Prefer {
		add("prefer", ref, id.String())
	}
	for id, r := range m.Replace {
		add("replace", id.String(), r.Path, r.ID.String(), r.Version)
	}
	for id, versions := range m.Exclude {
		addEach(add, versions, "exclude", id.String())
	}
	addEach(add, m.Workspace, "workspace")
	for pattern, rule := range m.Trust {
		addEach(add, rule.Signers, "trust", pattern, strconv.Itoa(rule.Threshold))
	}
	for pattern, rule := range m.Reviewers {
		add(append([]string{"reviewers", pattern, strconv.Itoa(rule.Reviews)}, rule.Reviewers...)...)
	}
	addEach(add, m.Policy.Sources, "policy", "sources")
	addEach(add, m.Policy.CapsDeny, "policy", "caps-deny")
	addEach(add, m.Policy.Hosts, "policy", "hosts")
	add("policy", "min-age", m.Policy.MinAge.String())
	if age := m.Policy.MaxCheckpointAge; age > 0 {
		add("policy", "max-checkpoint-age", age.String())
	}
	for host, key := range m.Registries {
		add("registries", host, key)
	}
	for key, on := range map[string]bool{"require-signed": m.Policy.RequireSigned, "offline": m.Policy.Offline, "adopted-deny": m.Policy.AdoptedDeny} {
		if on {
			add("policy", key, "true")
		}
	}
}

func addEach(add func(...string), values []string, head ...string) {
	for _, v := range values {
		add(append(slices.Clone(head), v)...)
	}
}
