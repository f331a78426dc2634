package server

import (
	"html"
	"strings"
	"testing"

	"github.com/ryeos/rye/registry/wire"
)

// TestTextsAreBounded shows texts of many links, which are much longer as HTML.
func TestTextsAreBounded(t *testing.T) {
	links, quotes := strings.Repeat("<http://a.b>\n", 1000), strings.Repeat(`"`, maxShownText)
	var x archiveTexts
	for range 4 {
		x.add(wire.File{Path: "links.md", Data: []byte(links)})
		x.add(wire.File{Path: ".ai/tools/quotes.py", Data: []byte(quotes)})
	}
	bytes := 0
	for _, s := range x.shown {
		bytes += max(len(s.HTML), len(html.EscapeString(s.Text)))
	}
	if bytes > maxRendered || bytes < maxRendered/2 || len(x.shown)+x.more != 8 {
		t.Errorf("%d bytes of %d texts are shown, %d are not", bytes, len(x.shown), x.more)
	}
	x.add(wire.File{Path: "README.md", Data: []byte("short")})
	if last := x.shown[len(x.shown)-1]; last.Path != "README.md" {
		t.Errorf("a short text after them is not shown: %s is the last one", last.Path)
	}
}
