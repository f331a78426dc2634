package httpstep

import (
	"net/url"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

func TestRedactor(t *testing.T) {
	conf := &config{url: "${BASE:-x}/p", public: []string{"REGION"}}
	r := newRedactor(Call{
		Public: []string{"RYE_PROJECT", "VERSION"},
		Env:    map[string]string{"PATH": "/usr/bin", "RYE_PROJECT": "/project", "VERSION": "2023-06-01", "KEY": `se"cret/key`, "COPY": "copied-key", "BASE": "https://api.test", "TINY": "abc", "REGION": "eu-north"},
	}, conf)
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
	err := r.Err(diag.New(diag.Network, "asking copied-key").WithReason("x"))
	if strings.Contains(err.Error(), "copied-key") {
		t.Error(err)
	}
}
