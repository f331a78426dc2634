package setup_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/setup"
	"github.com/ryeos/rye/threads/models"
)

// Programs with a login come first, then keys, then servers; a page is not a service.
func TestDetect(t *testing.T) {
	home := t.TempDir()
	login := filepath.Join(home, "login.json")
	if err := os.WriteFile(login, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	serve := func(path, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path || r.Header.Get("Authorization") != "" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			fmt.Fprint(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	ollama := serve("/api/tags", `{"models":[{"name":"qwen3:8b"},{"name":"gemma"}]}`)
	list := serve("/v1/models", `{"object":"list","data":[{"id":"m"}]}`)
	page := serve("/v1/models", "<!doctype html>")
	none := serve("/api/tags", `{"models":[]}`)
	p := setup.Params{
		Providers: []setup.Provider{
			{ID: "x/ollama", Name: "ollama", Address: ollama, Models: []string{"llama3.2"}},
			{ID: "x/ollama_chat", Name: "ollama_chat", Address: ollama, Models: []string{"gemma"}},
			{ID: "mine/lm", Name: "mine/lm", Address: list, Models: []string{"m"}, Own: true},
			{ID: "x/open", Name: "open", Keys: []string{"OPEN_KEY"}, HasKeys: true},
			{ID: "x/closed", Name: "closed", Keys: []string{"CLOSED_KEY"}},
			{ID: "x/closed_too", Name: "closed_too", Keys: []string{"CLOSED_KEY"}},
			{ID: "x/claude", Name: "claude", Program: "claude", Logins: []string{login}},
			{ID: "x/codex", Name: "codex", Program: "codex", Logins: []string{login + "-missing"}},
		},
		URLs: []string{page, none, list, "http://127.0.0.1:1"}, Rules: &models.Rules{}, Within: time.Minute,
	}
	got := setup.Detect(t.Context(), p)
	var names []string
	for _, c := range got.Choices {
		names = append(names, string(c.Kind)+" "+c.Name+" "+c.Provider)
	}
	slices.Sort(names[2:]) // servers are in the order of their ports
	want := []string{"program claude x/claude", "key open x/open", "server mine/lm mine/lm", "server ollama "}
	if !slices.Equal(names, want) {
		t.Errorf("choices %q, want %q", names, want)
	}
	if c, ok := got.ByName("ollama"); !ok || c.URL != ollama || !slices.Equal(c.Items, []string{"x/ollama_chat", "x/ollama"}) || !slices.Equal(c.Models, []string{"qwen3:8b", "gemma"}) {
		t.Errorf("ollama: %+v", c)
	}
	for _, text := range []string{"CLOSED_KEY is not set", "codex is installed, without a login", "no service of models answers at 127.0.0.1:1", "has no models"} {
		if !strings.Contains(strings.Join(got.Tried, "; "), text) {
			t.Errorf("tried %q, without %q", got.Tried, text)
		}
	}
	if len(got.Tried) != 5 {
		t.Errorf("tried %q", got.Tried)
	}
	p.Offline = true
	if got := setup.Detect(t.Context(), p); len(got.Choices) != 2 {
		t.Errorf("offline: %+v", got.Choices)
	}
}

// A server that does not answer costs no more than the time for all.
func TestDetectWaits(t *testing.T) {
	gone := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-gone }))
	defer s.Close()
	defer close(gone)
	got := setup.Detect(t.Context(), setup.Params{URLs: []string{s.URL}, Rules: &models.Rules{}, Within: time.Millisecond})
	if len(got.Choices) != 0 || len(got.Tried) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestNames(t *testing.T) {
	for address, want := range map[string]string{"https://llm.acme.example/v1": "KEY_OF_LLM_ACME_EXAMPLE", "http://127.0.0.1:8080": "KEY_OF_127_0_0_1", "llm.example:443": "KEY_OF_LLM_EXAMPLE"} {
		if got := setup.KeyVariable(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	home := t.TempDir()
	none := func(string) string { return "" }
	for program, want := range map[string][2]string{
		"/bin/bash":     {"bash", filepath.Join(home, ".local", "share", "bash-completion", "completions", "rye")},
		"/usr/bin/fish": {"fish", filepath.Join(home, ".config", "fish", "completions", "rye.fish")},
		"/bin/zsh":      {"zsh", ""},
		"/bin/tcsh":     {"", ""},
		"":              {"", ""},
	} {
		shell, file := setup.CompletionFile(program, home, none)
		if shell != want[0] || file != want[1] {
			t.Errorf("%s: %s %s", program, shell, file)
		}
	}
	if _, file := setup.CompletionFile("bash", "", none); file != "" {
		t.Errorf("without a home: %s", file)
	}
}

// A person names a service that was found, a provider item, or a tier by its model.
func TestChoose(t *testing.T) {
	found := &setup.Found{Choices: []setup.Choice{{Name: "ollama", URL: "http://127.0.0.1:11434"}, {Name: "lm", Provider: "mine/lm", Models: []string{"m"}}}}
	for _, c := range []struct{ name, model, provider, url string }{
		{"ollama", "other", "", "http://127.0.0.1:11434"},
		{"mine/lm", "m", "mine/lm", ""},
		{"lm", "", "mine/lm", ""},
		{"lm", "other", "lm", ""},
		{"anthropic", "", "anthropic", ""},
	} {
		if got := found.Named(c.name, c.model); got.Provider != c.provider || got.URL != c.url {
			t.Errorf("%s with %q: %+v", c.name, c.model, got)
		}
	}
	for answer, want := range map[string]bool{"http://127.0.0.1:1": true, "llm.example": true, "localhost:8080": true, "anthropic": false, "mine/lm": false} {
		if setup.IsAddress(answer) != want {
			t.Errorf("%s: not %v", answer, want)
		}
	}
	tiers := map[string]string{"fast": "small", "general": "big", "high": "big"}
	for model, want := range map[string]string{"big": "general", "small": "fast", "high": "high", "other": "", "max": "", "": ""} {
		tier, err := setup.Tier("tool:x/y", tiers, model)
		if tier != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", model, tier, err)
		}
	}
	if _, err := setup.Tier("tool:x/y", tiers, "other"); !strings.HasSuffix(err.Error(), "those are small, big") {
		t.Error(err)
	}
}
