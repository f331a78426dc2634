package models

import (
	"testing"

	"github.com/ryeos/rye/threads/provider"
)

// TestAddresses completes each form of an address in which people have it.
func TestAddresses(t *testing.T) {
	for _, c := range []struct{ url, dialect, want string }{
		{"http://127.0.0.1:8000", provider.Chat, "http://127.0.0.1:8000/v1/chat/completions"},
		{"http://127.0.0.1:8000/", provider.Chat, "http://127.0.0.1:8000/v1/chat/completions"},
		{"http://127.0.0.1:8000/v1", provider.Chat, "http://127.0.0.1:8000/v1/chat/completions"},
		{"http://127.0.0.1:8000/v1/", provider.Responses, "http://127.0.0.1:8000/v1/responses"},
		{"http://127.0.0.1:8000/v1//", provider.Anthropic, "http://127.0.0.1:8000/v1/messages"},
		{"http://127.0.0.1:8000/v1/chat/completions", "", "http://127.0.0.1:8000/v1/chat/completions"},
		{"http://127.0.0.1:8000/v1/chat/completions/", "", "http://127.0.0.1:8000/v1/chat/completions"},
		{"http://127.0.0.1:8000/v1/completions", provider.Chat, "http://127.0.0.1:8000/v1/chat/completions"},
		{"http://127.0.0.1:8000/v1/models", provider.Chat, "http://127.0.0.1:8000/v1/chat/completions"},
		{"http://127.0.0.1:8000/v1/responses", "", "http://127.0.0.1:8000/v1/responses"},
		{"http://127.0.0.1:8000/v1/messages", "", "http://127.0.0.1:8000/v1/messages"},
		{"http://127.0.0.1:11434/api/chat", "", "http://127.0.0.1:11434/api/chat"},
		{"http://127.0.0.1:11434/api", provider.Ollama, "http://127.0.0.1:11434/api/chat"},
		{"http://127.0.0.1:11434/v1", provider.Ollama, "http://127.0.0.1:11434/api/chat"},
		{"127.0.0.1:11434", provider.Ollama, "http://127.0.0.1:11434/api/chat"},
		{"localhost:8080", provider.Chat, "http://127.0.0.1:8080/v1/chat/completions"},
		{"http://localhost", provider.Chat, "http://127.0.0.1/v1/chat/completions"},
		{"http://[::1]:8080/v1", provider.Chat, "http://[::1]:8080/v1/chat/completions"},
		{"llm.acme.example", provider.Chat, "https://llm.acme.example/v1/chat/completions"},
		{"https://llm.acme.example/openai/v1", provider.Chat, "https://llm.acme.example/openai/v1/chat/completions"},
		{"https://llm.acme.example/api/paas/v4", provider.Chat, "https://llm.acme.example/api/paas/v4/chat/completions"},
		{"https://llm.acme.example/v1beta/openai", provider.Chat, "https://llm.acme.example/v1beta/openai/chat/completions"},
		{"https://llm.acme.example", provider.Gemini, "https://llm.acme.example/v1beta/models/{model}:streamGenerateContent?alt=sse"},
		{"https://llm.acme.example/v1", provider.Gemini, "https://llm.acme.example/v1/models/{model}:streamGenerateContent?alt=sse"},
		{"https://llm.acme.example/v1beta/models/g:streamGenerateContent?alt=sse", "", "https://llm.acme.example/v1beta/models/{model}:streamGenerateContent?alt=sse"},
		{"https://llm.acme.example/v1beta/models/g:generateContent", "", "https://llm.acme.example/v1beta/models/{model}:streamGenerateContent?alt=sse"},
	} {
		a, err := ParseAddress(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		dialect := c.dialect
		if dialect == "" {
			dialect = a.Dialect
		}
		if got := a.Endpoint(dialect, a.roots()[0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.url, got, c.want)
		}
	}
	for _, url := range []string{"", "ftp://x", "http://", "https://user:secret-0123@x.example", "https://x.example?key=1", "https://x.example/{model}", "https://x.example/${HOME}", "http://a b"} {
		a, err := ParseAddress(url)
		if err == nil {
			t.Errorf("%q is %v", url, a)
		}
	}
}

func TestPerMillion(t *testing.T) {
	for text, want := range map[string]string{
		`"0.0000005"`: "0.5", `0.00000025`: "0.25", `"0"`: "0", `"0.000003"`: "3", `"1.5e-7"`: "0.15", `"0.00000000000051"`: "0.000001",
		`"-1"`: "", `null`: "", `"free"`: "", `"2"`: "", `"1e99999999"`: "",
	} {
		if got := perMillion([]byte(text)); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}
