package httpfill

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Shape{
		"https://h/p?q#f":             {Scheme: "https:", Authority: "h", path: "/p", query: "q"},
		"https://h":                   {Scheme: "https:", Authority: "h"},
		"https://h?q":                 {Scheme: "https:", Authority: "h", query: "q"},
		"https://{host}:8/{a}/b?{c}":  {Scheme: "https:", Authority: "{host}:8", path: "/{a}/b", query: "{c}"},
		"${BASE}/p":                   {Base: "${BASE}", path: "/p"},
		"${BASE:-https://h/x?y}/p?q":  {Base: "${BASE:-https://h/x?y}", path: "/p", query: "q"},
		"${BASE}":                     {Base: "${BASE}"},
		"https://h/${A:-x/y?z}/p":     {Scheme: "https:", Authority: "h", path: "/${A:-x/y?z}/p"},
		"https://${H:-a/b}/p":         {Scheme: "https:", Authority: "${H:-a/b}", path: "/p"},
		"http://127.0.0.1:80/p?a=b?c": {Scheme: "http:", Authority: "127.0.0.1:80", path: "/p", query: "a=b?c"},
	} {
		if got, msg := Split(in); got != want || msg != "" {
			t.Errorf("%q: %+v %s, want %+v", in, got, msg, want)
		}
	}
	for _, in := range []string{"", "h", "ftp://h", "//h", "https:///p", "https://?q", "${BASE", "${BASE}.evil.test/p", "${BASE}{x}", "{url}", "javascript:x"} {
		if got, msg := Split(in); msg == "" {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

// FuzzURL: whatever a parameter or variable holds, it stays in its place: the
// host, the number of segments and the names of the query are the item's.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"", "a", "..", "a/b", "?x=1", "#f", "@evil.test", "%2e%2e", "\r\nX: 1", "${KEY}", "{b}", "é", "\xff", "\x00", ":8080", "//evil.test", "\\", ".", "&admin=1", ";", "+"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		fill := &Filler{Env: map[string]string{"KEY": b}, Params: map[string]any{"a": a}, For: "t"}
		u, err := fill.URL("https://api.test/x/{a}/y/v${KEY}?q={a}", map[string]any{"r": "{a}"})
		if err != nil {
			if c := diag.CodeOf(err); c != diag.ValidationFailed {
				t.Fatalf("%v", err)
			}
			return
		}
		back, err := url.Parse(u.String())
		if err != nil {
			t.Fatalf("%q: %v", u, err)
		}
		parts := strings.Split(back.EscapedPath(), "/")
		if back.Host != "api.test" || back.User != nil || back.Fragment != "" || len(parts) != 5 || parts[1] != "x" || parts[3] != "y" {
			t.Fatalf("%q", u)
		}
		q, err := url.ParseQuery(back.RawQuery)
		if err != nil || len(q) != 2 || q.Get("q") != a || q.Get("r") != a {
			t.Fatalf("%q: %v, %v", u, q, err)
		}
		if got, err := url.PathUnescape(parts[2]); err != nil || got != a {
			t.Fatalf("%q: %q, %v", u, got, err)
		}
	})
}

func TestFillValues(t *testing.T) {
	t.Parallel()
	f := &Filler{
		Env: map[string]string{"KEY": "k{a}"}, Absent: []string{"gone"}, For: "t",
		Params: map[string]any{"a": "${KEY}", "n": int64(3), "m": map[string]any{"x": "{n}"}},
	}
	in := map[string]any{
		"whole": "{n}", "text": "n={n}", "env": "${KEY}", "param": "{a}", "object": "{m}", "dropped": "{gone}", "unknown": "{other}", "JSON": `{"not": "a name"}`,
		"list": []any{"{n}", "{gone}", int64(1), nil}, "number": int64(5),
	}
	got, err := f.mapping("body", in)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"JSON":"{\"not\": \"a name\"}","env":"k{a}","list":[3,1,null],"number":5,"object":{"x":"{n}"},"param":"${KEY}","text":"n=3","unknown":"{other}","whole":3}`
	if text := Text(got); text != want {
		t.Errorf("%s\nwant %s", text, want)
	}
	if _, err := f.mapping("body", map[string]any{"x": "a {gone}"}); diag.CodeOf(err) != diag.ValidationFailed {
		t.Errorf("a parameter that is not given, within a text: %v", err)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	v := map[string]any{"a": "${B}x${A}", "l": []any{"${A}", "${WITH:-default}", "${lower}", "${OPEN", int64(1)}, "m": map[string]any{"x": "$C ${C}"}}
	if got := strings.Join(Variables(v), " "); got != "A B C" {
		t.Errorf("%q", got)
	}
}

func TestBodyAndHeaders(t *testing.T) {
	t.Parallel()
	f := &Filler{Params: map[string]any{"q": "a&b=\"c\"", "l": []any{"x", int64(2)}}, Absent: []string{"gone"}, For: "t"}
	for _, c := range []struct {
		v                  any
		format, body, kind string
	}{
		{map[string]any{"q": "{q}"}, "json", `{"q":"a&b=\"c\""}`, "application/json"},
		{map[string]any{"q": "x {q}", "l": "{l}", "g": "{gone}"}, "form", "l=x&l=2&q=x+a%26b%3D%22c%22", "application/x-www-form-urlencoded"},
		{"say {q}", "text", `say a&b="c"`, "text/plain; charset=utf-8"},
		{"{l}", "json", `["x",2]`, "application/json"},
		{"{gone}", "json", "", ""},
	} {
		body, kind, err := f.Body(c.v, c.format)
		if err != nil || string(body) != c.body || kind != c.kind {
			t.Errorf("%v as %s: %q %q %v", c.v, c.format, body, kind, err)
		}
	}
	for _, bad := range []string{"a\nb", "a\r\nX: y", "a\x00b", "a\x7f"} {
		f.Params = map[string]any{"q": bad}
		f.texts = nil
		h := http.Header{}
		if err := f.Headers(map[string]any{"X-Q": "v {q}"}, h); diag.CodeOf(err) != diag.ValidationFailed || len(h) > 0 {
			t.Errorf("%q: %v %v", bad, h, err)
		}
	}
}
