package exec

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/testing/testkit"
)

// A dry run shows no value of a variable.
func TestHTTPPlan(t *testing.T) {
	h := testkit.New(t)
	e := executor(h, func(p *Params) { p.Environ = append(p.Environ, "KEY=top-secret-key") })
	h.Put(h.Project, "tools/t.yaml", yaml("http", HTTPClient, "env_config: {pass: [KEY]}", `config: {url: "https://api.test/{id}", auth: {type: bearer, token: "${KEY}"}}`))
	c, err := e.Chain(t.Context(), tool("t"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Plan(t.Context(), c, Call{}, map[string]any{"id": "1"})
	if err != nil || p.Native == nil {
		t.Fatalf("%+v, %v", p, err)
	}
	if text := httpfill.Text(p.Native.Config); strings.Contains(text, "top-secret-key") || !strings.Contains(text, "${KEY}") {
		t.Error(text)
	}
}

// A value that an item writes out is public; one that it copies from a variable
// is not.
func TestPublicNames(t *testing.T) {
	h := testkit.New(t)
	e := executor(h, nil)
	env := "env_config: {env: {VERSION: 2023-06-01, COPY: \"${PATH}\"}}"
	h.Put(h.Project, "tools/t.yaml", yaml("http", HTTPClient, env, `config: {url: "https://api.test/"}`))
	c, err := e.Chain(t.Context(), tool("t"))
	if err != nil {
		t.Fatal(err)
	}
	envs, err := readEnvConfigs(c)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(publicNames(envs), " "); got != "RYE_SELF RYE_PROJECT RYE_THREAD_ID VERSION" {
		t.Errorf("public: %s", got)
	}
}
