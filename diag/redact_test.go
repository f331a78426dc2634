package diag

import (
	"errors"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"ada@example.com":           "ada@example.com",
		"https://h/x":               "https://h/x",
		"https://TOKEN@h/x":         "https://***@h/x",
		"HTTPS://a:TOKEN@h/x":       "HTTPS://***@h/x",
		"https://a:TO@KEN@h":        "https://***@h",
		"https:/TOKEN@h/x":          "https:/***@h/x",
		"file:///a@v1.0.0":          "file:///a@v1.0.0",
		"ssh://git@h/x":             "ssh://git@h/x",
		"ssh://git:TOKEN@h/x":       "ssh://***@h/x",
		"git@h:acme/x":              "git@h:acme/x",
		`"TOKEN@h.example/x"`:       `"***@h.example/x"`,
		`"git@h.example/x"`:         `"git@h.example/x"`,
		"https://h/x@v1.0.0":        "https://h/x@v1.0.0",
		"a https://T@h, http://U@i": "a https://***@h, http://***@i",
		`"github.com/a/b@v1.0.0"`:   `"github.com/a/b@v1.0.0"`,
		"tool:a/b@https://TOKEN@h":  "tool:a/b@https://***@h",
	} {
		if got := Redact(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// Each part of an error is redacted, also of one that was made without New.
func TestErrorsAreRedacted(t *testing.T) {
	const url = "https://TOKEN@h/x"
	e := New(Network, "asking %s: %w", url, errors.New("get "+url)).WithDetail("url", url).WithDetail("all", []string{url})
	e.Findings = []Finding{Errorf(Network, 0, 0, "asking %s", url).WithReason("x", "url", url)}
	f := NewFailure(e)
	if strings.Contains(e.Error()+f.Message, "TOKEN") || f.Details["url"] != "https://***@h/x" || f.Details["all"].([]string)[0] != "https://***@h/x" {
		t.Errorf("%v, %+v", e, f)
	}
	if strings.Contains(e.Findings[0].Message, "TOKEN") || e.Findings[0].Facts["url"] != "https://***@h/x" {
		t.Errorf("%+v", e.Findings[0])
	}
	made := &Error{Code: Network, Message: "asking " + url}
	if strings.Contains(made.Error()+NewFailure(made).Message, "TOKEN") {
		t.Errorf("%v", made)
	}
}
