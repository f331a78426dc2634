package git

import (
	"context"
	"slices"
	"strings"
)

// Remote is one repository elsewhere. FetchRef and FetchSubtree bring objects
// into a bare store on this machine, which the caller holds alone; Open reads
// them. Both implementations pass one conformance suite.
type Remote interface {
	// ListRefs asks for the branches and tags.
	ListRefs(ctx context.Context) (*Refs, error)
	// FetchRef brings objects into the store, and what they stand for.
	FetchRef(ctx context.Context, store string, w Want) error
	// FetchSubtree is FetchRef of one commit without the files outside a
	// folder, as far as the remote can leave them out.
	FetchSubtree(ctx context.Context, store string, w Want, dir string) error
	// Open reads what the store holds.
	Open(ctx context.Context, store string) (Objects, error)
}

// Objects reads a store.
type Objects interface {
	// Read hands the objects to each in the order of oids. Nobody has held
	// them against their names yet. An object above limit bytes is TOO_LARGE,
	// one that is not there an errMissing.
	Read(ctx context.Context, oids []string, limit int64, each func(i int, o Object) error) error
	Close() error
}

// Object is one object of git. Kind is "blob", "tree", "commit" or "tag"; Data
// is valid during the call only.
type Object struct {
	OID  string
	Kind string
	Data []byte
}

// Want says what to fetch.
type Want struct {
	OIDs   []string // commits and tags
	Depth  Depth
	SHA256 bool // the format of the remote, from its Refs
}

// Depth says how much of the history comes along.
type Depth int

// The depths.
const (
	Tip     Depth = iota // the commits with all their files, no ancestor
	Commits              // every ancestor, without files if the remote can leave them out
	All                  // every ancestor with all its files
)

// Refs is what a remote says of its branches and tags, at one time.
type Refs struct {
	Head   string `json:"head,omitempty"` // the commit of the default branch
	List   []Ref  `json:"refs"`           // sorted by name
	SHA256 bool   `json:"sha256,omitempty"`
}

// Ref is one branch or tag.
type Ref struct {
	Name   string `json:"name"` // refs/heads/… or refs/tags/…
	OID    string `json:"oid"`
	Commit string `json:"commit"` // what an annotated tag is said to hold in the end, else OID
}

// TagObject returns the name of the tag object, "" for a branch and for a light
// tag.
func (r Ref) TagObject() string {
	if r.OID == r.Commit {
		return ""
	}
	return r.OID
}

// Find returns the ref with a name.
func (r *Refs) Find(name string) (Ref, bool) {
	i, ok := slices.BinarySearchFunc(r.List, name, func(e Ref, n string) int { return strings.Compare(e.Name, n) })
	if !ok {
		return Ref{}, false
	}
	return r.List[i], true
}

// Tips returns the objects that all refs name, each once.
func (r *Refs) Tips() []string {
	out := make([]string, 0, len(r.List))
	for _, ref := range r.List {
		out = append(out, ref.OID)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// IsTip reports whether a branch or tag holds the commit itself.
func (r *Refs) IsTip(commit string) bool {
	return slices.ContainsFunc(r.List, func(e Ref) bool { return e.Commit == commit })
}

func (r *Refs) sort() {
	slices.SortFunc(r.List, func(a, b Ref) int { return strings.Compare(a.Name, b.Name) })
}

// carriedRef reports whether bundles can come from a ref: branches and tags,
// and no pull request of a stranger.
func carriedRef(name string) bool {
	return strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/")
}
