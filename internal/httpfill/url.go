package httpfill

import (
	"net/url"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Shape is the URL template of an item, divided into the parts that are escaped
// differently.
type Shape struct {
	Base      string // ${VAR} at the beginning, which is not escaped
	Scheme    string // "https:" without a base
	Authority string // host and port without a base
	path      string // from its slash
	query     string // after the question mark
}

// Split divides a URL template. problem is not "" if its form is wrong.
func Split(s string) (u Shape, problem string) {
	rest, _, _ := strings.Cut(s, "#")
	if strings.HasPrefix(rest, "${") {
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			return u, "has a variable without }"
		}
		u.Base = rest[:end+1]
		rest = rest[end+1:]
		if rest != "" && rest[0] != '/' && rest[0] != '?' {
			return u, "must continue with / or ? after its variable"
		}
	} else {
		scheme, after, ok := strings.Cut(rest, "://")
		if !ok || scheme != "http" && scheme != "https" {
			return u, "must begin with https://, http:// or a ${VAR}"
		}
		u.Scheme = scheme + ":"
		end := strings.IndexAny(outsideBraces(after), "/?")
		if end < 0 {
			end = len(after)
		}
		u.Authority = after[:end]
		rest = after[end:]
		if u.Authority == "" {
			return u, "has no host"
		}
	}
	if i := strings.IndexByte(outsideBraces(rest), '?'); i >= 0 {
		u.query = rest[i+1:]
		rest = rest[:i]
	}
	u.path = rest
	return u, ""
}

// outsideBraces replaces the text in braces, so that a default may contain any
// character.
func outsideBraces(s string) string {
	b := []byte(s)
	in := false
	for i, c := range b {
		switch {
		case c == '{':
			in = true
		case c == '}':
			in = false
		}
		if in {
			b[i] = '{'
		}
	}
	return string(b)
}

// BaseVariable returns the name of the variable at the beginning of a URL, or "".
func BaseVariable(raw string) string {
	shape, msg := Split(raw)
	if msg != "" || shape.Base == "" {
		return ""
	}
	name, _, _ := strings.Cut(strings.Trim(shape.Base, "${}"), ":-")
	return name
}

// URL expands a URL, part by part, and adds the values of query.
func (f *Filler) URL(raw string, query map[string]any) (*url.URL, error) {
	shape, msg := Split(raw)
	if msg != "" {
		return nil, diag.New(diag.ConfigError, "filling in url of %s: it %s", f.For, msg)
	}
	head, err := f.head(shape)
	if err != nil {
		return nil, err
	}
	path, err := f.path(shape.path)
	if err != nil {
		return nil, err
	}
	more, err := f.query(shape.query, query)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(head + path)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, diag.New(diag.ValidationFailed, "filling in url of %s: the result is not a URL with a host", f.For)
	}
	u.RawQuery = strings.Trim(u.RawQuery+"&"+more, "&")
	return u, nil
}

// head expands the base, or the host.
func (f *Filler) head(shape Shape) (string, error) {
	if shape.Base == "" {
		host, err := f.expand("url", shape.Authority, url.PathEscape)
		return shape.Scheme + "//" + host, err
	}
	base, err := f.Plain("url", shape.Base)
	if err == nil && base == "" {
		return "", diag.New(diag.ConfigError, "filling in url of %s: %s is empty", f.For, shape.Base)
	}
	if strings.HasPrefix(shape.path, "/") {
		base = strings.TrimSuffix(base, "/")
	}
	return base, err
}

// path expands segments. No value may become an empty segment or one of dots:
// "..", for example, would leave the path that the item chose.
func (f *Filler) path(s string) (string, error) {
	var out []string
	for i, segment := range strings.Split(s, "/") {
		filled, err := f.expand("url", segment, url.PathEscape)
		if err != nil {
			return "", err
		}
		if filled != segment && i > 0 && dots(filled) {
			return "", diag.New(diag.ValidationFailed, "filling in url of %s: %q would become an empty segment or one of dots", f.For, segment)
		}
		out = append(out, filled)
	}
	return strings.Join(out, "/"), nil
}

func dots(segment string) bool {
	return segment == "" || segment == "." || segment == ".."
}

// query expands the text after the question mark, then the mapping.
func (f *Filler) query(s string, more map[string]any) (string, error) {
	out, err := f.expand("url", s, url.QueryEscape)
	if err != nil {
		return "", err
	}
	filled, err := f.mapping("query", more)
	if err != nil {
		return "", err
	}
	return strings.Trim(out+"&"+form(filled).Encode(), "&"), nil
}
