package packages

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/source"
)

// Query is an argument of rye add: a bundle, or single items of one.
type Query struct {
	ID      lock.ID
	Version string // a version, a commit, source.Latest or "" for the locked or the newest
	Item    string // kind:pattern, "" for the whole bundle
}

// ParseQuery reads SOURCE[@VERSION], or ITEM@SOURCE[@VERSION] for a single item.
func ParseQuery(s string) (Query, error) {
	var q Query
	ref, rest, ok := strings.Cut(s, "@")
	if ok && isItem(ref) {
		if in, err := parseBundle(rest); err == nil {
			in.Item = ref
			return in, nil
		}
	}
	if isItem(s) {
		return q, diag.New(diag.Usage, "reading %q: it names an item and no bundle", s).
			WithReason("item_source").
			WithDetail("item", s)
	}
	return parseBundle(s)
}

// isItem reports whether an argument names items: a kind, a colon and an id, which
// may end in "*".
func isItem(s string) bool {
	kind, id, ok := strings.Cut(s, ":")
	if !ok ||
		kind == "registry" ||
		strings.HasPrefix(id, "/") ||
		strings.ContainsAny(kind, "./@") {
		return false
	}
	_, err := item.ParseRef(
		kind+":"+strings.NewReplacer("**", "x", "*", "x").Replace(id),
		"",
	)
	return err == nil
}

// parseBundle reads SOURCE[@VERSION]. The text after the last "@" is a version
// unless it has ":" or "/", as in git@host:path. A directory has no versions, so
// an "@" in its path is part of it.
func parseBundle(s string) (Query, error) {
	text := s
	version := ""
	id, err := lock.ParseID(s)
	if err == nil && id.Kind == lock.PathID {
		return Query{ID: id}, nil
	}
	i := strings.LastIndexByte(s, '@')
	if i > 0 && !strings.ContainsAny(s[i:], ":/") {
		text = s[:i]
		version = s[i+1:]
		if version == "" {
			return Query{}, diag.New(diag.Usage, "reading %q: no version follows the @", s)
		}
	}
	id, err = lock.ParseID(text)
	if err != nil {
		return Query{}, err
	}
	if version != "" && version != source.Latest && !lock.IsCommit(version) {
		if err := lock.CheckVersion(version); err != nil {
			return Query{}, diag.New(diag.Usage, "reading %q: %q is not a version, a commit or latest", s, version).
				WithReason("version_query").WithDetail("bundle", id.String())
		}
		if err := id.CheckVersion(version); err != nil {
			return Query{}, err
		}
	}
	return Query{ID: id, Version: version}, nil
}
