package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/testing/wiretest"
)

// runWith runs an applet with settings, in the file that exec writes for it.
func runWith(t *testing.T, conf obj, name string, in obj) (obj, int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "settings.json")
	b, err := json.Marshal(conf)
	if err == nil {
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	getenv := func(key string) string { return map[string]string{"RYE_SETTINGS": file}[key] }
	return wiretest.Applets(Applets()).RunJSON(t, t.Context(), wire.Params{Dir: t.TempDir(), Getenv: getenv}, name, string(data))
}

func answering(t *testing.T, contentType string, body []byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestSettingsAreNeeded(t *testing.T) {
	t.Parallel()
	fails(t, t.TempDir(), "webfetch", obj{"url": "https://x.test"}, "CONFIG_ERROR", "web/fetch", "config.reads")
	got, exit := runWith(t, obj{"web/search": obj{}}, "webfetch", obj{"url": "https://x.test"})
	wiretest.CheckFailure(t, got, exit, "CONFIG_ERROR", "config.reads")
	got, exit = runWith(t, obj{"web/fetch": obj{"schema_version": "1.0.0", "colour": "red", "redirects": "many", "hosts": []any{1}, "retry": obj{"jitter": 5}}}, "webfetch", obj{"url": "https://x.test"})
	wiretest.CheckFailure(t, got, exit, "CONFIG_ERROR", "colour", "redirects must be a whole number", "hosts[0] must be a string", "retry.jitter must be a number from 0 to 1")
}

func TestWebfetchHostile(t *testing.T) {
	t.Parallel()
	conf := obj{"web/fetch": obj{"allow_private": []any{"127.0.0.1"}, "max_bytes": 1 << 20}}
	for name, page := range map[string]string{
		"deep":          strings.Repeat("<div>", 100_000) + "deep text" + strings.Repeat("</div>", 100_000),
		"wide":          strings.Repeat("<i>x</i>", 50_000) + "deep text",
		"never closed":  "<html><body><p>deep text<table><tr><td><a href='x",
		"no html":       "deep text",
		"NUL":           "deep text\x00\x00",
		"invalid UTF-8": "deep text \xff\xfe",
		"comment":       "<!-- <p>no</p> --><p>deep text</p><!--",
	} {
		url := answering(t, "text/html", []byte(page))
		for _, format := range []string{"markdown", "text", "html"} {
			got, exit := runWith(t, conf, "webfetch", obj{"url": url, "format": format})
			if out, _ := got["output"].(string); exit != 0 || !strings.Contains(out, "deep text") {
				t.Errorf("%s as %s: exit %d, %.200v", name, format, exit, got)
			}
		}
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	got, err := markdown(`<base href="https://b.test/d/"><p><a href="x?a=1&amp;b">x</a> <a href="javascript:alert(1)">y</a> <img alt="p" src="data:image/png;base64,AAAA"></p>
<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table><pre><code class="language-go">a := 1
</code></pre><script>no()</script>`, "https://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[x](https://b.test/d/x?a=1&b)", "| A | B |", "```go\na := 1\n```"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\ndoes not hold %q", got, want)
		}
	}
	for _, bad := range []string{"javascript", "base64", "no()"} {
		if strings.Contains(got, bad) {
			t.Errorf("%s\nholds %q", got, bad)
		}
	}
}

func TestHTMLText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                   "",
		"a b\n c":                            "a b c\n",
		"<p>a</p><p>b</p>":                   "a\n\nb\n",
		"a<br>b<br/>c":                       "a\nb\nc\n",
		"<b>a</b>b <i>c</i>":                 "ab c\n",
		"<ul><li>a<li>b</ul>c":               "a\nb\n\nc\n",
		"<script>x</script>a<style>y</style": "a\n",
		"<title>t</title>a":                  "a\n",
		"<td>a<td>b":                         "a b\n",
		"&lt;p&gt; &amp;amp;":                "<p> &amp;\n",
		"<script>a</p>b":                     "",
	} {
		if got := htmlText(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, charset string
		page              bool
		want              string
		known             bool
	}{
		{"utf-8", "é", "utf-8", false, "é", true},
		{"BOM", "\xef\xbb\xbfé", "latin1", false, "é", true},
		{"invalid", "a\xffb", "", false, "a\uFFFDb", true},
		{"latin", "caf\xe9 \x80", "iso-8859-1", false, "café €", true},
		{"meta", "<meta charset='windows-1252'>\xe9", "", true, "<meta charset='windows-1252'>é", true},
		{"meta old", `<meta http-equiv=x content="text/html; charset=ISO-8859-1">` + "\xe9", "", true, `<meta http-equiv=x content="text/html; charset=ISO-8859-1">é`, true},
		{"no page", "charset=latin1 \xe9", "", false, "charset=latin1 \uFFFD", true},
		{"utf-16", "\xff\xfea\x00\xe9\x00", "", false, "aé", true},
		{"utf-16be", "\xfe\xff\x00a", "", false, "a", true},
		{"odd", "\xff\xfea\x00b", "", false, "a", true},
		{"unknown", "a", "shift_jis", false, "a", false},
	} {
		if got, known := decode([]byte(c.in), c.charset, c.page); got != c.want || known != c.known {
			t.Errorf("%s: %q %v, want %q %v", c.name, got, known, c.want, c.known)
		}
	}
}

func TestFinder(t *testing.T) {
	t.Parallel()
	f := finder{list: "a.list", title: field{path: "t.0"}, url: field{path: "u"}, snippet: field{path: "s"}}
	hits, err := f.find(&httpx.Response{Body: []byte(`{"a":{"list":[{"t":["T"],"u":"U","s":5},{}, 7]}}`), Header: http.Header{}})
	if err != nil || len(hits) != 3 || hits[0] != (searchHit{"T", "U", ""}) || hits[2] != (searchHit{}) {
		t.Errorf("%+v, %v", hits, err)
	}
	for body, words := range map[string]string{
		`{"a":{"list":{}}}`: "a mapping, not a list",
		`[1]`:               "no value at",
		`<html>`:            "not JSON",
		``:                  "not JSON",
	} {
		if _, err := f.find(&httpx.Response{Body: []byte(body), Header: http.Header{}}); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", body, err, words)
		}
	}
	if hits, err := f.find(&httpx.Response{Body: []byte(`{"a":{}}`), Header: http.Header{}}); err != nil || len(hits) != 0 {
		t.Errorf("no results: %v %v", hits, err)
	}
	if _, err := f.find(&httpx.Response{Body: []byte(`{`), Truncated: true}); err == nil {
		t.Error("a truncated response was accepted")
	}
}

// The order of default decides, and a key that is not set passes a backend over.
func TestSearchChoice(t *testing.T) {
	t.Parallel()
	c, err := decodeSearch(obj{"default": []any{"keyed", "free"}, "backends": []any{
		obj{"id": "keyed", "url": "https://k.test/${ACCOUNT:-me}", "headers": obj{"k": "${KEY}"}, "fields": obj{"url": "u"}},
		obj{"id": "free", "url": "https://f.test", "fields": obj{"url": "u"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"": "free", "x": "keyed"} {
		if b, err := c.choose("", map[string]string{"KEY": key}); err != nil || b.id != want {
			t.Errorf("with key %q: %+v, %v", key, b, err)
		}
	}
	if _, err := c.choose("keyed", nil); err == nil || !strings.Contains(err.Error(), "KEY is not set") {
		t.Error(err)
	}
	for _, bad := range []obj{
		{"default": []any{"none"}, "backends": []any{}},
		{"backends": []any{obj{"id": "x", "url": "https://x.test", "fields": obj{"url": "u"}}}},
	} {
		if c, err := decodeSearch(bad); err != nil {
			t.Error(err)
		} else if _, err := c.choose("", nil); err == nil {
			t.Errorf("%v has a choice", bad)
		}
	}
	if _, err := decodeSearch(obj{"backends": []any{obj{"url": "ftp://x", "format": "xml", "fields": obj{"link": "u"}}}}); err == nil {
		t.Error("a backend without id, with a wrong url, format and field")
	}
}
