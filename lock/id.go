package lock

import (
	"cmp"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// MaxID is the longest bundle id, in bytes.
const MaxID = 512

// IDKind is the kind of address of a bundle id.
type IDKind string

// The kinds of bundle ids.
const (
	HostID     IDKind = "host"     // github.com/acme/core-bundle
	URLID      IDKind = "url"      // ssh://git@host/x, git@host:x, file:///srv/x
	PathID     IDKind = "path"     // ./bundles/x, a directory of this machine
	RegistryID IDKind = "registry" // registry:rye.acme.io/acme.io/x
)

// ID is a parsed bundle id. Equal bundles have equal IDs.
type ID struct {
	Kind   IDKind
	Repo   string // host path, URL, path or name in the registry
	Subdir string // below the repository, "" for its root
	Major  string // v2 and up; "" for v0 and v1
}

// String renders the canonical id, which ParseID reads back.
func (id ID) String() string {
	s := id.Repo
	if id.Kind == RegistryID {
		s = "registry:" + s
	}
	if id.Subdir != "" {
		s += "//" + id.Subdir
	}
	if id.Major != "" {
		s += "/" + id.Major
	}
	return s
}

// IsZero reports whether id is the zero ID.
func (id ID) IsZero() bool {
	return id == ID{}
}

// Compare orders ids as their strings.
func (id ID) Compare(o ID) int {
	return cmp.Compare(id.String(), o.String())
}

// SortedIDs returns ids in the order of Compare.
func SortedIDs(ids iter.Seq[ID]) []ID {
	return slices.SortedFunc(ids, ID.Compare)
}

// MarshalText returns the canonical id.
func (id ID) MarshalText() ([]byte, error) {
	return []byte(id.String()), nil
}

// UnmarshalText reads what MarshalText returns, and nothing for the zero ID.
func (id *ID) UnmarshalText(text []byte) (err error) {
	if len(text) > 0 {
		*id, err = ParseID(string(text))
	}
	return err
}

// URL returns the address of the repository: with https for a host path, "" for a
// path and for the registry.
func (id ID) URL() string {
	switch id.Kind {
	case HostID:
		return "https://" + id.Repo
	case URLID:
		return id.Repo
	}
	return ""
}

// InRegistry returns the host of the registry of a bundle and its name there, without the
// major version; "" for other kinds.
func (id ID) InRegistry() (host, name string) {
	if id.Kind != RegistryID {
		return "", ""
	}
	host, name, _ = strings.Cut(id.Repo, "/")
	return host, name
}

// Tags returns the names of the tags of a version in the order of preference: the tag of the
// subdirectory, then the tag of the repository.
func (id ID) Tags(version string) []string {
	if id.Subdir == "" {
		return []string{version}
	}
	return []string{id.Subdir + "/" + version, version}
}

// CheckVersion returns nil if v can be a version of this bundle.
func (id ID) CheckVersion(v string) error {
	if id.Kind == PathID {
		if v == LocalVersion {
			return nil
		}
		return diag.New(diag.VersionMismatch, "reading version %q of %s: a directory has only the version %s", v, id, LocalVersion)
	}
	if err := CheckVersion(v); err != nil {
		return err
	}
	major, _, _ := strings.Cut(v, ".")
	switch {
	case id.Major == "" && major != "v0" && major != "v1":
		return diag.New(diag.VersionMismatch, "reading version %q of %s: that major version has the id %s/%s", v, id, id, major)
	case id.Major != "" && id.Major != major:
		return diag.New(diag.VersionMismatch, "reading version %q of %s: the id names %s", v, id, id.Major)
	}
	return nil
}

// Dir returns the install directory of a version, relative to .ai/bundles.
// Different bundles have different directories on every file system: an upper-case
// letter becomes "!" and the lower-case letter.
func (id ID) Dir(version string) (string, error) {
	if id.Kind == PathID {
		return "", diag.New(diag.Usage, "installing %s: a local directory is not installed", id)
	}
	if err := id.CheckVersion(version); err != nil {
		return "", err
	}
	p := id.Repo
	switch id.Kind {
	case RegistryID:
		p = "+registry/" + strings.Replace(p, ":", "+", 1) // the port
	case URLID:
		p = urlDir(p)
	}
	if id.Subdir != "" {
		p += "/+/" + id.Subdir
	}
	return escape(path.Join(p, id.Major) + "@" + version), nil
}

// urlDir turns a URL into a path. No part of an id contains "+".
func urlDir(u string) string {
	scheme, rest, found := strings.Cut(u, "://")
	if !found {
		scheme = "scp"
		rest = u
		rest = strings.Replace(rest, ":", "/", 1)
	}
	return "+" + scheme + "/" + strings.TrimPrefix(strings.ReplaceAll(rest, ":", "+"), "/")
}

func escape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('!')
			c |= 0x20
		}
		b.WriteByte(c)
	}
	return b.String()
}
