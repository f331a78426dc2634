package applet

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/jsonx"
)

// finder finds results in an answer, as a backend's configuration says: in
// JSON by paths, in a page by classes.
type finder struct {
	page    bool
	list    string // path of the list, or class of each result
	title   place
	url     place
	snippet place
}

// place is where one part of a result stands.
type place struct {
	path      string // in JSON
	class     string // in a page; "" is the result itself
	attribute string // "" is the text
	query     string // the parameter of the address that holds what is meant
}

// finder reads format, results and fields.
func (a args) finder() finder {
	f := finder{list: a.str("results", ""), page: a.str("format", "json") == "html"}
	if s := a.str("format", "json"); s != "json" && s != "html" {
		a.bad("format", "must be json or html, not %q", s)
	}
	fields := args{in: a.mapping("fields"), prefix: a.prefix + "fields.", findings: a.findings}.check([]string{"title", "url", "snippet"})
	f.title, f.url, f.snippet = fields.place("title"), fields.place("url"), fields.place("snippet")
	if !fields.has("url") {
		fields.bad("url", "is required")
	}
	return f
}

func (a args) place(key string) place {
	m, isMap := a.in[key].(map[string]any)
	if !isMap {
		return place{path: a.str(key, "")}
	}
	s := args{in: m, prefix: a.prefix + key + ".", findings: a.findings}.check([]string{"class", "attribute", "query"})
	return place{class: s.str("class", ""), attribute: s.str("attribute", ""), query: s.str("query", "")}
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
		return nil, fmt.Errorf("it is %s and no JSON: %s", kind, fs[0].Message)
	}
	return f.inJSON(v)
}

func (f finder) inJSON(v any) ([]searchHit, error) {
	at, ok := follow(v, f.list)
	if !ok {
		if _, isObject := v.(map[string]any); isObject {
			return nil, nil // services leave the list out when there is nothing
		}
		return nil, fmt.Errorf("there is nothing at %q", f.list)
	}
	list, ok := at.([]any)
	if !ok {
		return nil, fmt.Errorf("at %q stands %s, not a list", f.list, typeName(at))
	}
	var out []searchHit
	for _, one := range list {
		text := func(p place) string {
			v, _ := follow(one, p.path)
			s, _ := v.(string)
			return s
		}
		out = append(out, searchHit{Title: text(f.title), URL: text(f.url), Snippet: text(f.snippet)})
	}
	return out, nil
}

// follow walks a dotted path through a JSON value; "" is the value itself.
func follow(v any, path string) (any, bool) {
	if path == "" {
		return v, true
	}
	for key := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
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

// in returns the text of a place within one result.
func (p place) in(n *html.Node) string {
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
	return n.Type == html.ElementNode && class != "" && slices.Contains(strings.Fields(attribute(n, "class")), class)
}

// nodeText is text that is text: it is escaped, since results hold HTML.
func nodeText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return html.EscapeString(strings.Join(strings.Fields(b.String()), " "))
}
