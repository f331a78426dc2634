package exec

import (
	"net/url"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/testkit"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

func TestRedactor(t *testing.T) {
	chain := &Chain{Elements: []*resolve.Item{{Ref: tool("t"), Meta: metaEnv(map[string]any{"VERSION": "2023-06-01", "COPY": "${KEY}"})}}}
	r := newRedactor(NativeCall{
		Chain: chain, Config: map[string]any{"url": "${BASE:-x}/p", "public": []any{"REGION"}},
		Env: map[string]string{"PATH": "/usr/bin", "RYE_PROJECT": "/project", "VERSION": "2023-06-01", "KEY": `se"cret/key`, "COPY": "copied-key", "BASE": "https://api.test", "TINY": "abc", "REGION": "eu-north"},
	})
	for in, want := range map[string]string{
		`a se"cret/key b`:                     "a [redacted] b",
		`{"k":"se\"cret/key"}`:                `{"k":"[redacted]"}`,
		"k=" + url.QueryEscape(`se"cret/key`): "k=[redacted]",
		"c2UiY3JldC9rZXk=":                    "[redacted]",
		"copied-key":                          "[redacted]",
		"2023-06-01 /usr/bin /project https://api.test abc eu-north": "2023-06-01 /usr/bin /project https://api.test abc eu-north",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if got := string(r.Bytes([]byte(in))); got != want {
			t.Errorf("%q: bytes %q, want %q", in, got, want)
		}
	}
	err := r.Err(diag.New(diag.Network, "asking copied-key").WithHint("copied-key"))
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
	if text := httpfill.Text(p.Native.Config); strings.Contains(text, "top-secret-key") || !strings.Contains(text, "${KEY}") {
		t.Error(text)
	}
}
