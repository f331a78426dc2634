// Package idpattern matches bundle ids against the patterns of trust rules, of
// policy.sources and of publisher documents. It does not parse ids: callers pass
// them in their canonical form.
package idpattern

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// pattern is a parsed pattern.
type pattern struct {
	elements []string
	all      bool // "*"
	below    bool // a final "/*": the id itself does not match
	folders  bool // a final "//*": only subdirectories of the repository match
}

// Match reports whether the pattern is "*", or the id is equal to it or below it,
// compared element by element. With a final "/*" only ids below match. A pattern
// that Check refuses matches nothing.
func Match(text, id string) bool {
	p, err := parse(text)
	if err != nil {
		return false
	}
	if p.all {
		return true
	}
	have := elements(id)
	if len(have) < len(p.elements) ||
		!slices.Equal(have[:len(p.elements)], p.elements) {
		return false
	}
	rest := have[len(p.elements):]
	return (len(rest) > 0 || !p.below) &&
		(!p.folders || strings.HasPrefix(rest[0], "//"))
}

// MatchRepository is Match for every address of a repository: it also compares the
// addresses of pattern and id without scheme, user, port, the ".git" of the repository and
// the case of letters. A rule about one address of a repository applies to all.
//
// Otherwise a project evades a rule of the machine by another address. policy.sources allows, so
// it compares exactly.
func MatchRepository(text, id string) bool {
	if Match(text, id) {
		return true
	}
	base := Base(text)
	return Match(address(base)+text[len(base):], address(id))
}

// address returns an id, or the beginning of one, in the form host/path//folder/vN, in
// lower case. Registries and addresses without a path to compare stay as they are; a file
// URL keeps its scheme.
func address(id string) string {
	id = strings.ToLower(id)
	scheme, rest, isURL := strings.Cut(id, "://")
	head := ""
	switch i := strings.IndexAny(id, ":/"); {
	case isURL && scheme == "file":
		head = "file://"
	case isURL && rest == "",
		!isURL && i >= 0 && id[i] == ':' && !strings.Contains(id[:i], "@"):
		return id // a scheme alone; registry:, file:
	case isURL:
		authority, path, found := strings.Cut(rest, "/")
		_, host, has := strings.Cut(authority, "@")
		if !has {
			host = authority
		}
		host, _, _ = strings.Cut(host, ":")
		if rest = host; found {
			rest += "/" + path
		}
	case i >= 0 && id[i] == ':': // git@host:path
		rest = id[strings.IndexByte(id, '@')+1:i] + "/" + strings.TrimLeft(id[i+1:], "/")
	case i < 0 && strings.Contains(id, "@"):
		rest = id[strings.IndexByte(id, '@')+1:]
	default:
		rest = id
	}
	repo, folder, found := strings.Cut(rest, "//")
	if repo = bare(repo); found {
		repo += "//" + folder
	}
	return head + repo
}

// bare removes the ".git" of a repository, which can be before a slash or a major version.
func bare(repo string) string {
	end := len(repo)
	if strings.HasSuffix(repo, "/") {
		end--
	} else if i := strings.LastIndexByte(repo, '/'); i > 0 && major(repo[i+1:]) {
		end = i
	}
	name := repo[:end]
	for strings.HasSuffix(name, ".git") && !strings.HasSuffix(name, "/.git") {
		name = strings.TrimSuffix(name, ".git")
	}
	return name + repo[end:]
}

func major(s string) bool {
	return len(s) > 1 &&
		s[0] == 'v' &&
		strings.Trim(s[1:], "0123456789") == ""
}

// Check returns an error if the form of a pattern is not valid.
func Check(text string) error {
	_, err := parse(text)
	return err
}

// Base returns the part of a pattern before a final "/*" or ":*", "" for "*".
func Base(text string) string {
	text = strings.TrimSuffix(text, "*")
	return strings.TrimSuffix(text, "*") // "**", which many tools use for "any depth"
}

func parse(text string) (p pattern, err error) {
	base := Base(text)
	switch {
	case text == "":
		return p, errors.New("it is empty")
	case base == "":
		return pattern{all: true}, nil
	case strings.ContainsAny(base, `*?[]{}\`):
		return p, fmt.Errorf("%q has a wildcard that is not at its end: only * alone and a final /* are wildcards", text)
	}
	if p.below = base != text; p.below {
		if !strings.HasSuffix(base, "/") && !strings.HasSuffix(base, ":") {
			return p, fmt.Errorf("%q has a wildcard inside an element: only * alone and a final /* are wildcards", text)
		}
	}
	if p.elements = elements(base); len(p.elements) == 0 {
		return p, fmt.Errorf("%q has no element", text)
	}
	last := len(p.elements) - 1
	if p.folders = p.elements[last] == "//"; !p.folders {
		return p, nil
	}
	if p.elements = p.elements[:last]; !p.below || last == 0 {
		return p, fmt.Errorf("%q ends with //", text)
	}
	return p, nil
}

// elements divides an id, or the beginning of one, into the scheme or the address
// before ":", the names of the path, and the names of the subdirectory, of which
// the first keeps its "//": a repository a/b differs from the folder b of a
// repository a.
func elements(id string) []string {
	var out []string
	rest := id
	if scheme, path, ok := strings.Cut(id, "://"); ok {
		out = append(out, scheme+":")
		rest = path
	} else if i := strings.IndexAny(id, ":/"); i >= 0 && id[i] == ':' {
		// "registry:" and "file:" are schemes; "git@host:" is an address.
		head := id[:i+1]
		if strings.Contains(head, "@") {
			head = id[:i]
		}
		out = append(out, head)
		rest = id[i+1:]
	}
	repo, folder, found := strings.Cut(rest, "//")
	out = append(out, names(repo)...)
	if !found {
		return out
	}
	below := names(folder)
	if len(below) == 0 {
		return append(out, "//")
	}
	below[0] = "//" + below[0]
	return append(out, below...)
}

func names(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" })
}
