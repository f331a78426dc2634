// Package source fetches bundles: it lists versions, resolves a query to a commit,
// and copies the files of one commit into a content-addressed cache.
//
// An Origin records the URL, tag and commit of a version, so that a later call can
// check them at low cost and refuse changed history. The package does not select
// versions, judge signatures, install bundles or write a lock. It does not use git:
// packages/source/git does.
package source

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// Latest is the query for the newest release.
const Latest = "latest"

// Source is one or many origins of bundles. All methods are safe for concurrent
// use.
type Source interface {
	// Versions lists the versions of a bundle. It costs at most one request for
	// refs to its remote.
	Versions(ctx context.Context, id lock.ID) (*Listing, error)
	// Resolve returns the origin of a query: a version, a commit or its prefix, or
	// Latest. Tree is empty until the files were fetched.
	Resolve(ctx context.Context, id lock.ID, query string) (Origin, error)
	// Fetch returns the files of an origin. Every value that is set in the origin
	// is compared with the remote.
	Fetch(ctx context.Context, o Origin) (*Snapshot, error)
	// Revalidate returns an error if the remote differs from the origin. It costs
	// at most one request for refs per remote, not per origin.
	Revalidate(ctx context.Context, o Origin) error
}

// Origin records where a version was resolved from.
type Origin struct {
	ID        lock.ID   `json:"-"`
	Version   string    `json:"version"`           // v1.2.3, a pseudo-version, or lock.LocalVersion
	URL       string    `json:"url"`               // scheme kept; an absolute path for a folder
	Ref       string    `json:"ref,omitempty"`     // refs/tags/…; "" for a commit
	TagObject string    `json:"tag,omitempty"`     // of an annotated tag
	Commit    string    `json:"commit,omitempty"`  //
	Tree      string    `json:"tree,omitempty"`    // git tree of Subdir; set once files were fetched
	Subdir    string    `json:"subdir,omitempty"`  //
	TagSum    string    `json:"tag_sum,omitempty"` // over all tags that could be versions
	Time      time.Time `json:"time,omitzero"`     // as in the commit, set once that was read; of a registry, as in its log
	Archive   string    `json:"archive,omitempty"` // of a registry: the digest of the archive
	Log       string    `json:"log,omitempty"`     // of a registry: the number of its log entry
	Sum       string    `json:"sum,omitempty"`     // of a registry: the hash of the files that the log names
	Whole     bool      `json:"-"`                 // all files of the commit, not only the ones of a bundle; repositories only
}

// Local reports whether the origin is a directory of this machine.
func (o Origin) Local() bool {
	return o.Version == lock.LocalVersion
}

// Version is one version of a bundle.
type Version struct {
	Version   string `json:"version"`
	Ref       string `json:"ref"`
	TagObject string `json:"tag,omitempty"`
	Commit    string `json:"commit"`
}

// Listing is the versions of a bundle.
type Listing struct {
	ID       lock.ID   `json:"-"`
	URL      string    `json:"url"`
	Versions []Version `json:"versions"` // oldest first
	TagSum   string    `json:"tag_sum"`  // equal sums: no tag was added, removed or moved
	Head     string    `json:"head"`     // commit of the default branch
	// Misnamed are the tags that would be versions if they began with "v", such as 1.0.0.
	Misnamed []string `json:"misnamed,omitempty"`
}

// Names returns the versions by name, oldest first.
func (l *Listing) Names() []string {
	out := make([]string, len(l.Versions))
	for i, v := range l.Versions {
		out[i] = v.Version
	}
	return out
}

// Find returns the version with a name.
func (l *Listing) Find(version string) (Version, bool) {
	for _, v := range l.Versions {
		if v.Version == version {
			return v, true
		}
	}
	return Version{}, false
}

// OriginOf returns the origin of one version of the listing.
func (l *Listing) OriginOf(v Version) Origin {
	return Origin{
		ID:        l.ID,
		Version:   v.Version,
		URL:       l.URL,
		Ref:       v.Ref,
		TagObject: v.TagObject,
		Commit:    v.Commit,
		Subdir:    l.ID.Subdir,
		TagSum:    l.TagSum,
	}
}

// Moved is the error for a version whose tag has another commit than recorded.
// Found is zero if the tag is gone.
func Moved(want Origin, found Version) error {
	now := "the tag is gone"
	if found.Commit != "" {
		now = "it now holds " + describe(found.TagObject, found.Commit)
	}
	return diag.New(diag.TagMoved, "fetching %s %s: %s of %s held %s, %s",
		want.ID, want.Version, want.Ref, want.URL, describe(want.TagObject, want.Commit), now).
		WithDetail("id", want.ID.String()).WithDetail("version", want.Version).
		WithDetail("url", want.URL).WithDetail("ref", want.Ref).
		WithDetail("expected_tag", want.TagObject).WithDetail("expected_commit", want.Commit).
		WithDetail("found_tag", found.TagObject).WithDetail("found_commit", found.Commit)
}

func describe(tag, commit string) string {
	if tag == "" {
		return "commit " + commit
	}
	return "commit " + commit + " (tag object " + tag + ")"
}
