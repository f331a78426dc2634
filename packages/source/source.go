// Package source says where bundles come from: it lists versions, decides which
// commit a query means, and brings the files of one commit into a
// content-addressed cache.
//
// It records what it saw (Origin) so that it can be asked again cheaply, and
// refuses history that changed. It does NOT select versions, judge signatures,
// install anything or write a lock; packages/source/git speaks git, this package knows none.
package source

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
)

// Latest is the query for the newest release.
const Latest = "latest"

// Source is one place, or many, that bundles come from. All methods are safe
// for concurrent use.
type Source interface {
	// Versions lists what a bundle has. It costs at most one question to its
	// remote.
	Versions(ctx context.Context, id lock.ID) (*Listing, error)
	// Resolve decides what a query means: a version, a commit or the beginning
	// of one, or Latest. The Origin lacks Tree until its files were fetched.
	Resolve(ctx context.Context, id lock.ID, query string) (Origin, error)
	// Fetch brings the files of an origin. Each recorded value that is set in
	// the origin is held against what the remote says now.
	Fetch(ctx context.Context, o Origin) (*Snapshot, error)
	// Revalidate asks whether the remote still says what the origin records.
	// It costs at most one question for each remote, not for each origin.
	Revalidate(ctx context.Context, o Origin) error
}

// Origin is what was seen when a version was resolved.
type Origin struct {
	ID        lock.ID   `json:"-"`
	Version   string    `json:"version"`           // v1.2.3, a pseudo-version, or lock.LocalVersion
	URL       string    `json:"url"`               // scheme kept; an absolute path for a folder
	Ref       string    `json:"ref,omitempty"`     // refs/tags/…; "" for a commit
	TagObject string    `json:"tag,omitempty"`     // of an annotated tag
	Commit    string    `json:"commit,omitempty"`  //
	Tree      string    `json:"tree,omitempty"`    // git tree of Subdir; known once files were fetched
	Subdir    string    `json:"subdir,omitempty"`  //
	TagSum    string    `json:"tag_sum,omitempty"` // over all tags that could be versions
	Time      time.Time `json:"time,omitzero"`     // what the commit claims; known once it was read
}

// Local reports whether the origin is a folder of this machine.
func (o Origin) Local() bool { return o.Version == lock.LocalVersion }

// Version is one version of a bundle.
type Version struct {
	Version   string `json:"version"`
	Ref       string `json:"ref"`
	TagObject string `json:"tag,omitempty"`
	Commit    string `json:"commit"`
}

// Listing is what a bundle has.
type Listing struct {
	ID       lock.ID   `json:"-"`
	URL      string    `json:"url"`
	Versions []Version `json:"versions"` // oldest first
	TagSum   string    `json:"tag_sum"`  // equal sums: no tag came, went or moved
	Head     string    `json:"head"`     // commit of the default branch
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
	return Origin{ID: l.ID, Version: v.Version, URL: l.URL, Ref: v.Ref, TagObject: v.TagObject,
		Commit: v.Commit, Subdir: l.ID.Subdir, TagSum: l.TagSum}
}

// Moved is the error for a version whose tag does not hold what is recorded.
// Found is zero when the tag is gone.
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
