package httpfill

import (
	"net/url"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Shape is a URL as an item writes it, cut at the places that are filled in
// in different ways.
type Shape struct {
	Base      string // ${VAR} at the very beginning, which stands as it is
	Scheme    string // "https:" without a base
	Authority string // host and port without a base
	path      string // from its slash
	query     string // behind the question mark
}

// Split cuts a URL, and says what is wrong with its form.
func Split(s string) (u Shape, msg string) {
	rest, _, _ := strings.Cut(s, "#")
	if strings.HasPrefix(rest, "${") {
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			return u, "has a variable that does not end with }"
		}
		u.Base, rest = rest[:end+1], rest[end+1:]
		if rest != "" && rest[0] != '/' && rest[0] != '?' {
			return u, "must go on with / or ? behind its base"
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
		u.Authority, rest = after[:end], after[end:]
		if u.Authority == "" {
			return u, "names no host"
		}
	}
	if i := strings.IndexByte(outsideBraces(rest), '?'); i >= 0 {
		rest, u.query = rest[:i], rest[i+1:]
	}
	u.path = rest
	return u, ""
}

// outsideBraces blanks what stands in braces, so that a default may hold any
// character.
func outsideBraces(s string) string {
	b, in := []byte(s), false
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

// BaseVariable is the name of the variable that a URL begins with, or "".
func BaseVariable(raw string) string {
	shape, msg := Split(raw)
	if msg != "" || shape.Base == "" {
		return ""
	}
	name, _, _ := strings.Cut(strings.Trim(shape.Base, "${}"), ":-")
	return name
}

// URL fills a URL in, part by part, and adds the values of query.
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
		return nil, diag.New(diag.ValidationFailed, "filling in url of %s: what comes out is no URL of a host", f.For).
			WithHint("check the parameters and %s", shown(shape.Base))
	}
	u.RawQuery = strings.Trim(u.RawQuery+"&"+more, "&")
	return u, nil
}

func shown(base string) string {
	if base == "" {
		return "the url of the item"
	}
	return base
}

// head fills in the base, or the host.
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

// path fills in segments. No value may become an empty one, or one of dots,
// which would leave the place where the item put it.
func (f *Filler) path(s string) (string, error) {
	var out []string
	for i, segment := range strings.Split(s, "/") {
		filled, err := f.expand("url", segment, url.PathEscape)
		if err != nil {
			return "", err
		}
		if filled != segment && i > 0 && dots(filled) {
			return "", diag.New(diag.ValidationFailed, "filling in url of %s: %q would be a part of the path that is empty or of dots", f.For, segment)
		}
		out = append(out, filled)
	}
	return strings.Join(out, "/"), nil
}

func dots(segment string) bool {
	return segment == "" || segment == "." || segment == ".."
}

// query fills in what stands behind the question mark, then the mapping.
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
