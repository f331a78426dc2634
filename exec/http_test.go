package exec

import (
	"net/url"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

func TestSplitURL(t *testing.T) {
	for in, want := range map[string]urlShape{
		"https://h/p?q#f":             {scheme: "https:", authority: "h", path: "/p", query: "q"},
		"https://h":                   {scheme: "https:", authority: "h"},
		"https://h?q":                 {scheme: "https:", authority: "h", query: "q"},
		"https://{host}:8/{a}/b?{c}":  {scheme: "https:", authority: "{host}:8", path: "/{a}/b", query: "{c}"},
		"${BASE}/p":                   {base: "${BASE}", path: "/p"},
		"${BASE:-https://h/x?y}/p?q":  {base: "${BASE:-https://h/x?y}", path: "/p", query: "q"},
		"${BASE}":                     {base: "${BASE}"},
		"https://h/${A:-x/y?z}/p":     {scheme: "https:", authority: "h", path: "/${A:-x/y?z}/p"},
		"https://${H:-a/b}/p":         {scheme: "https:", authority: "${H:-a/b}", path: "/p"},
		"http://127.0.0.1:80/p?a=b?c": {scheme: "http:", authority: "127.0.0.1:80", path: "/p", query: "a=b?c"},
	} {
		if got, msg := splitURL(in); got != want || msg != "" {
			t.Errorf("%q: %+v %s, want %+v", in, got, msg, want)
		}
	}
	for _, in := range []string{"", "h", "ftp://h", "//h", "https:///p", "https://?q", "${BASE", "${BASE}.evil.test/p", "${BASE}{x}", "{url}", "javascript:x"} {
		if got, msg := splitURL(in); msg == "" {
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
		fill := &filler{env: map[string]string{"KEY": b}, vars: map[string]string{"a": a}, params: map[string]any{"a": a}, tool: "t"}
		u, err := fill.url(&httpConfig{url: "https://api.test/x/{a}/y/v${KEY}?q={a}", query: map[string]any{"r": "{a}"}})
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
	f := &filler{
		env: map[string]string{"KEY": "k{a}"}, absent: []string{"gone"}, tool: "t",
		params: map[string]any{"a": "${KEY}", "n": int64(3), "m": map[string]any{"x": "{n}"}},
		vars:   map[string]string{"a": "${KEY}", "n": "3", "m": `{"x":"{n}"}`},
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
	if text := paramText(got); text != want {
		t.Errorf("%s\nwant %s", text, want)
	}
	if _, err := f.mapping("body", map[string]any{"x": "a {gone}"}); diag.CodeOf(err) != diag.ValidationFailed {
		t.Errorf("a parameter that is not given, within a text: %v", err)
	}
}

func TestRedactor(t *testing.T) {
	chain := &Chain{Elements: []*resolve.Item{{Ref: tool("t"), Meta: metaEnv(map[string]any{"VERSION": "2023-06-01", "COPY": "${KEY}"})}}}
	r := newRedactor(NativeCall{
		Chain: chain, Config: map[string]any{"url": "${BASE:-x}/p"},
		Env: map[string]string{"PATH": "/usr/bin", "RYE_PROJECT": "/project", "VERSION": "2023-06-01", "KEY": `se"cret/key`, "COPY": "copied-key", "BASE": "https://api.test", "TINY": "abc"},
	})
	for in, want := range map[string]string{
		`a se"cret/key b`:                     "a [redacted] b",
		`{"k":"se\"cret/key"}`:                `{"k":"[redacted]"}`,
		"k=" + url.QueryEscape(`se"cret/key`): "k=[redacted]",
		"c2UiY3JldC9rZXk=":                    "[redacted]",
		"copied-key":                          "[redacted]",
		"2023-06-01 /usr/bin /project https://api.test abc": "2023-06-01 /usr/bin /project https://api.test abc",
	} {
		if got := r.text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if got := string(r.bytes([]byte(in))); got != want {
			t.Errorf("%q: bytes %q, want %q", in, got, want)
		}
	}
	err := r.err(diag.New(diag.Network, "asking copied-key").WithHint("copied-key"))
	if strings.Contains(err.Error()+err.(*diag.Error).Hint, "copied-key") {
		t.Error(err)
	}
}

func metaEnv(env map[string]any) item.Metadata {
	return item.Metadata{EnvConfig: map[string]any{"env": env}}
}

// A dry run refuses what a run would, and shows no value of a variable.
func TestHTTPPlan(t *testing.T) {
	h := testkit.New(t)
	e := executor(h, func(p *Params) { p.Environ = append(p.Environ, "KEY=top-secret-key") })
	h.Put(h.Project, "tools/t.yaml", yaml("http", HTTPClient, "env_config: {pass: [KEY]}", `config: {url: "https://api.test/{id}", auth: {type: bearer, token: "${KEY}"}}`))
	c, err := e.Chain(t.Context(), tool("t"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Plan(t.Context(), c, map[string]any{"id": "1"})
	if err != nil || p.Native == nil {
		t.Fatalf("%+v, %v", p, err)
	}
	if text := paramText(p.Native.Config); strings.Contains(text, "top-secret-key") || !strings.Contains(text, "${KEY}") {
		t.Error(text)
	}
}
