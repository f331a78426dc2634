package models

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/provider"
)

// TestFaults states what a service does wrong in words that name what to do.
func TestFaults(t *testing.T) {
	const at = "POST /v1/chat/completions"
	list := `{"object":"list","data":[{"id":"one"},{"id":"two"}]}`
	page := "<!DOCTYPE html>\n<html><title>Welcome</title></html>"
	for _, c := range []struct {
		name    string
		answers map[string]string
		wish    Wish
		code    diag.Code
		reason  string
		text    string
	}{
		{"a model that does not exist", map[string]string{"GET /v1/models": list, at: `404 {"error":{"message":"The model 'three' does not exist"}}`}, Wish{Model: "three"}, diag.ProviderError, "service_model", `does not have the model "three"; it has one, two (status 404: The model 'three' does not exist)`},
		{"a model of Ollama", map[string]string{"GET /api/tags": `{"models":[{"name":"one"}]}`, "POST /api/chat": `404 {"error":"model \"three\" not found, try pulling it first"}`}, Wish{Model: "three", Dialect: provider.Ollama}, diag.ProviderError, "service_model", `it has one`},
		{"a wrong path", map[string]string{}, Wish{Model: "m", Dialect: provider.Chat}, diag.ProviderError, "service_path", "nothing at this path (status 404: Not Found); asked without an answer that helps: /v1/models (status 404), /models (status 404)"},
		{"a web page", map[string]string{"GET /v1/models": page, at: "404 " + page}, Wish{Model: "m", Dialect: provider.Chat}, diag.ProviderError, "service_page", "a web page"},
		{"a key", map[string]string{at: `401 {"error":{"message":"missing key"}}`}, Wish{Model: "m"}, diag.AuthRequired, "service_key_missing", "wants a key (status 401: missing key)"},
		{"a refused key", map[string]string{at: `403 {"error":{"message":"no access"}}`}, Wish{Model: "m", Key: "ACME_KEY"}, diag.AuthFailed, "service_key_refused", "refuses the key ACME_KEY (status 403: no access)"},
		{"no credit", map[string]string{at: `429 {"error":{"message":"You exceeded your current quota"}}`}, Wish{Model: "m"}, diag.ProviderError, "service_failed", "has no credit"},
		{"a limit", map[string]string{at: `429 {"error":{"message":"slow down"}}`}, Wish{Model: "m"}, diag.ProviderError, "service_failed", "accepts no more requests at the moment"},
		{"a model that is loaded", map[string]string{at: `503 {"error":{"message":"Loading model"}}`}, Wish{Model: "m"}, diag.ProviderError, "service_failed", "still loading the model"},
		{"another dialect", map[string]string{at: "data: {\"hello\":1}\n\n"}, Wish{Model: "m", Dialect: provider.Chat}, diag.ProviderError, "service_dialect", "not a complete answer in the dialect openai_chat"},
		{"an empty answer", map[string]string{at: ""}, Wish{Model: "m", Dialect: provider.Chat}, diag.ProviderError, "service_dialect", "answers with nothing"},
		{"a redirect", map[string]string{"GET /v1/models": "302 ", at: `302 {"message":"Found"}`}, Wish{Model: "m", Dialect: provider.Chat}, diag.ProviderError, "service_path", "it redirects this address"},
		{"an error that is not known", map[string]string{at: `418 {"error":{"message":"a teapot"}}`}, Wish{Model: "m"}, diag.ProviderError, "service_failed", "status 418: a teapot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &service{answers: c.answers}
			c.wish.ID = "mine/llm"
			c.wish.URL = start(t, s)
			_, _, _, err := add(t, c.wish, "sk-0123456789")
			if diag.CodeOf(err) != c.code || reason(err) != c.reason || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s %q: %v", diag.CodeOf(err), reason(err), err)
			}
		})
	}
}

// TestConnections names what is at an address that does not answer as it should.
func TestConnections(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()

	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() {
		for {
			c, err := other.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "SSH-2.0-OpenSSH\r\n")
			c.Close()
		}
	}()
	for name, c := range map[string]struct{ url, reason, text string }{
		"no server":   {"http://127.0.0.1:1", "service_refused", "no server accepts connections"},
		"http":        {"https://" + strings.TrimPrefix(plain.URL, "http://"), "service_http", "write http://"},
		"https":       {"http://" + strings.TrimPrefix(secure.URL, "https://"), "", "https"},
		"certificate": {secure.URL, "service_certificate", "does not know the authority"},
		"ssh":         {"http://" + other.Addr().String(), "service_https", "not HTTP"},
	} {
		_, _, _, err := add(t, Wish{ID: "mine/llm", URL: c.url, Model: "m", Dialect: provider.Chat}, "")
		if err == nil || c.reason != "" && reason(err) != c.reason || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %q %v", name, reason(err), err)
		}
	}
}

// TestOtherDialect finds the dialect of a service if the person named another.
func TestOtherDialect(t *testing.T) {
	s := &service{answers: map[string]string{"GET /v1/models": `{"data":[{"type":"model","id":"claude-x"}]}`}}
	w := Wish{ID: "mine/llm", URL: start(t, s), Model: "claude-x", Dialect: provider.Chat}
	if got := OtherDialect(t.Context(), shippedRules(t), w, ""); got != provider.Anthropic {
		t.Errorf("%q", got)
	}
	w.Dialect = provider.Anthropic
	if got := OtherDialect(t.Context(), shippedRules(t), w, ""); got != "" {
		t.Errorf("%q", got)
	}
}
