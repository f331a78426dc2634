package git

import (
	"context"
	"slices"
	"strings"
)

// Remote is one remote repository. Pass and History copy objects into a bare repository on
// this machine, which the caller has locked. All implementations pass one conformance suite.
type Remote interface {
	// ListRefs asks for the branches and tags.
	ListRefs(ctx context.Context) (*Refs, error)
	// Repository returns the name of the store's repository for a part, "" if the
	// remote is on this machine and read in place.
	Repository(p part) string
	// Pass fetches objects into the repository, with those that they need, and passes the
	// part to the receiver. It may leave out the files outside the part.
	Pass(ctx context.Context, repository string, w Want, p part, to receiver) error
	// History fetches commits with their ancestors into the repository and returns them.
	// Offline, it returns those that the repository has.
	History(ctx context.Context, repository string, w Want, offline bool) (*history, error)
}

// Objects reads a store.
type Objects interface {
	// Read calls each with the objects, in the order of oids. They are not yet
	// compared with their names. The error for an object above limit bytes is
	// TOO_LARGE, for a missing one errMissing.
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

// Want selects what to fetch.
type Want struct {
	OIDs   []string `json:"oids"` // commits and tags
	Depth  Depth    `json:"depth,omitempty"`
	SHA256 bool     `json:"sha256,omitempty"` // the format of the remote, from its Refs
}

// Depth is the part of the history that is fetched, too.
type Depth int

// The depths.
const (
	Tip     Depth = iota // the commits with all their files, no ancestor
	Commits              // every ancestor, without files if the remote can omit them
	All                  // every ancestor with all its files
)

// Refs are the branches and tags of a remote at one time.
type Refs struct {
	Head   string `json:"head,omitempty"` // the commit of the default branch
	List   []Ref  `json:"refs"`           // sorted by name
	SHA256 bool   `json:"sha256,omitempty"`
}

// Ref is one branch or tag.
type Ref struct {
	Name   string `json:"name"` // refs/heads/… or refs/tags/…
	OID    string `json:"oid"`
	Commit string `json:"commit"` // for an annotated tag the commit that the remote lists for it, else OID
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
	i, ok := slices.BinarySearchFunc(r.List, name, func(e Ref, n string) int {
		return strings.Compare(e.Name, n)
	})
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

// IsTip reports whether a branch or tag names the commit itself.
func (r *Refs) IsTip(commit string) bool {
	return slices.ContainsFunc(r.List, func(e Ref) bool {
		return e.Commit == commit
	})
}

func (r *Refs) sort() {
	slices.SortFunc(r.List, func(a, b Ref) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// carriedRef reports whether a ref is a branch or a tag. Other refs, such as pull
// requests, may have commits of any person.
func carriedRef(name string) bool {
	return strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/")
}
