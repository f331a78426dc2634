package web

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tree"
)

// finder extracts results from a response, as a backend's configuration
// describes: from JSON by paths, from a page by classes.
type finder struct {
	page    bool
	list    string // path of the list, or class of each result
	title   field
	url     field
	snippet field
}

// field is the position of one part of a result.
type field struct {
	path      string // in JSON
	class     string // in a page; "" is the result itself
	attribute string // "" is the text
	query     string // the query parameter of the URL that contains the value
}

// decodeFinder decodes format, results and fields.
func decodeFinder(a wire.Args) finder {
	format := a.String("format", "json")
	if format != "json" && format != "html" {
		a.Reject("format", "must be json or html, not %q", format)
	}
	fields := a.Object("fields", "title", "url", "snippet")
	if !fields.Has("url") {
		fields.Reject("url", "is required")
	}
	return finder{
		page:    format == "html",
		list:    a.String("results", ""),
		title:   decodeField(fields, "title"),
		url:     decodeField(fields, "url"),
		snippet: decodeField(fields, "snippet"),
	}
}

func decodeField(a wire.Args, key string) field {
	_, isMap := a.Value(key).(map[string]any)
	if !isMap {
		return field{path: a.String(key, "")}
	}
	o := a.Object(key, "class", "attribute", "query")
	return field{class: o.String("class", ""), attribute: o.String("attribute", ""), query: o.String("query", "")}
}

func (f finder) find(res *httpx.Response) ([]searchHit, error) {
	if res.Truncated {
		return nil, errors.New("it is longer than max_bytes")
	}
	kind, charset := mediaType(res)
	text, _ := decode(res.Body, charset, f.page)
	if f.page {
		return f.inPage(text)
	}
	v, fs := jsonx.ParseValue([]byte(text))
	if len(fs) > 0 && v == nil {
		return nil, fmt.Errorf("its type is %s and it is not JSON: %s", kind, fs[0].Message)
	}
	return f.inJSON(v)
}

func (f finder) inJSON(v any) ([]searchHit, error) {
	at, ok := wire.Lookup(v, f.list)
	if !ok {
		if _, isObject := v.(map[string]any); isObject {
			return nil, nil // services leave out an empty list
		}
		return nil, fmt.Errorf("it has no value at %q", f.list)
	}
	list, ok := at.([]any)
	if !ok {
		return nil, fmt.Errorf("its value at %q is %s, not a list", f.list, tree.TypeName(at))
	}
	var out []searchHit
	for _, one := range list {
		text := func(p field) string {
			v, _ := wire.Lookup(one, p.path)
			s, _ := v.(string)
			return s
		}
		out = append(out, searchHit{Title: text(f.title), URL: text(f.url), Snippet: text(f.snippet)})
	}
	return out, nil
}

func (f finder) inPage(text string) ([]searchHit, error) {
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	var out []searchHit
	for n := range doc.Descendants() {
		if hasClass(n, f.list) {
			out = append(out, searchHit{Title: f.title.in(n), URL: f.url.in(n), Snippet: f.snippet.in(n)})
		}
	}
	return out, nil
}

// in returns the text of the field within one result.
func (p field) in(n *html.Node) string {
	if p.class != "" {
		if n = firstWithClass(n, p.class); n == nil {
			return ""
		}
	}
	if p.attribute == "" {
		return nodeText(n)
	}
	s := attribute(n, p.attribute)
	if p.query != "" {
		u, err := url.Parse(s)
		if err != nil {
			return ""
		}
		if inner := u.Query().Get(p.query); inner != "" {
			return inner
		}
	}
	return s
}

func firstWithClass(n *html.Node, class string) *html.Node {
	for d := range n.Descendants() {
		if hasClass(d, class) {
			return d
		}
	}
	return nil
}

func hasClass(n *html.Node, class string) bool {
	return n.Type == html.ElementNode &&
		class != "" &&
		slices.Contains(strings.Fields(attribute(n, "class")), class)
}

// nodeText returns the text of a node, escaped: results are HTML.
func nodeText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return html.EscapeString(strings.Join(strings.Fields(b.String()), " "))
}
