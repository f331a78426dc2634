package web

import (
	"bytes"
	"encoding/binary"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// markdown renders a page as Markdown, its links absolute.
func markdown(text, from string) (string, error) {
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return "", err
	}
	absolute(doc, from)
	conv := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(),
		table.NewTablePlugin(),
	))
	out, err := conv.ConvertNode(doc)
	return strings.TrimSpace(string(out)) + "\n", err
}

// absolute makes every link absolute, relative to the page's own base if it has
// one, and removes links that are not URLs: scripts, and embedded images.
func absolute(doc *html.Node, from string) {
	at, err := url.Parse(from)
	if err != nil {
		return
	}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "base" {
			ref, err := at.Parse(attribute(n, "href"))
			if err == nil {
				at = ref
			}
			break
		}
	}
	for n := range doc.Descendants() {
		for i, a := range n.Attr {
			if a.Key == "href" || a.Key == "src" {
				n.Attr[i].Val = linkTo(at, a.Val)
			}
		}
	}
}

func linkTo(at *url.URL, to string) string {
	u, err := at.Parse(strings.TrimSpace(to))
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "mailto", "ftp", "tel":
		return u.String()
	}
	return ""
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// htmlText returns the text of a page, a line for each block. It builds no tree,
// so it has no limit of depth.
func htmlText(page string) string {
	var w textWriter
	z := html.NewTokenizer(strings.NewReader(page))
	hidden := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return w.done()
		case html.TextToken:
			if hidden == "" {
				w.text(string(z.Text()))
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			if tag := string(name); hidden == "" && invisible(tag) {
				hidden = tag
			} else {
				w.tag(tag)
			}
		case html.SelfClosingTagToken:
			name, _ := z.TagName()
			w.tag(string(name))
		case html.EndTagToken:
			name, _ := z.TagName()
			if tag := string(name); tag == hidden {
				hidden = ""
			} else {
				w.tag(tag)
			}
		}
	}
}

func invisible(tag string) bool {
	switch tag {
	case "script", "style", "noscript", "template", "head", "title", "svg", "iframe", "object":
		return true
	}
	return false
}

// textWriter joins words with single blanks and blocks with line breaks.
type textWriter struct {
	b     strings.Builder
	blank bool // write a blank before the next word
	lines int  // line breaks to write before the next word
}

func (w *textWriter) tag(name string) {
	switch name {
	case "br", "li", "tr", "dt", "dd", "option":
		w.lines = max(w.lines, 1)
	case "p", "div", "section", "article", "header", "footer", "nav", "main", "aside", "ul", "ol", "dl", "table", "pre", "blockquote", "form",
		"h1", "h2", "h3", "h4", "h5", "h6", "hr", "figure":
		w.lines = 2
	case "td", "th":
		w.blank = true
	}
}

func (w *textWriter) text(s string) {
	for i, word := range strings.FieldsFunc(s, unicode.IsSpace) {
		if i > 0 || unicode.IsSpace(rune(s[0])) {
			w.blank = true
		}
		switch {
		case w.b.Len() == 0:
		case w.lines > 0:
			w.b.WriteString("\n\n"[:min(w.lines, 2)])
		case w.blank:
			w.b.WriteByte(' ')
		}
		w.blank = false
		w.lines = 0
		w.b.WriteString(word)
	}
	if s != "" && unicode.IsSpace(rune(s[len(s)-1])) {
		w.blank = true
	}
}

func (w *textWriter) done() string {
	if w.b.Len() == 0 {
		return ""
	}
	return w.b.String() + "\n"
}

// plainText returns the text of a piece of HTML as one line.
func plainText(piece string) string {
	return strings.Join(strings.Fields(htmlText(piece)), " ")
}

// htmlTitle returns the title of a page, "" if it has none.
func htmlTitle(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	for range 2000 { // the title is in the head
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken:
			if name, _ := z.TagName(); string(name) == "title" {
				if z.Next() == html.TextToken {
					return strings.Join(strings.Fields(string(z.Text())), " ")
				}
				return ""
			}
		}
	}
	return ""
}

// decode decodes the text of a response: by its byte order mark, by the
// character set of its header or its page, else as UTF-8. supported is false for
// other sets.
func decode(b []byte, charset string, page bool) (text string, supported bool) {
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		b = b[3:]
		charset = "utf-8"
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		b = b[2:]
		charset = "utf-16le"
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		b = b[2:]
		charset = "utf-16be"
	case charset == "" && page:
		charset = metaCharset(b[:min(len(b), 2048)])
	}
	switch charset {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return string(bytes.ToValidUTF8(b, []byte("\uFFFD"))), true
	case "iso-8859-1", "latin1", "iso_8859-1", "windows-1252", "cp1252":
		return windows1252(b), true
	case "utf-16", "utf-16le":
		return fromUTF16(b, binary.LittleEndian), true
	case "utf-16be":
		return fromUTF16(b, binary.BigEndian), true
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD"))), false
}

// metaCharset finds charset=NAME in the head of a page.
func metaCharset(b []byte) string {
	_, rest, ok := strings.Cut(strings.ToLower(string(b)), "charset=")
	if !ok {
		return ""
	}
	rest = strings.TrimLeft(rest, `"' `)
	if end := strings.IndexAny(rest, `"'/> ;`); end >= 0 {
		return rest[:end]
	}
	return ""
}

// windows1252 decodes Latin 1 as browsers do.
func windows1252(b []byte) string {
	high := []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")
	out := make([]rune, len(b))
	for i, c := range b {
		out[i] = rune(c)
		if c >= 0x80 && c < 0xa0 {
			out[i] = high[c-0x80]
		}
	}
	return string(out)
}

func fromUTF16(b []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}
