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

		"https://h/x?access_token=TOKEN":          "https://h/x?***",
		"get https://h/x?private_token=TOKEN: no": "get https://h/x?***: no",
		"https://h/x?TOKEN":                       "https://h/x?***",
		`"https://h/x?k=TO KEN&b": a`:             `"https://h/x?***": a`,
		"'https://h/x?k=TOKEN'":                   "'https://h/x?***'",
		"(https://h/x?k=TOKEN)":                   "(https://h/x?***)",
		`"h.example/x?key=TOKEN"`:                 `"h.example/x?***"`,
		"git@h:x?token=TOKEN":                     "git@h:x?***",
		"https://h/x?mail=TOKEN@h":                "https://h/x?***",
		"https://u:TO?KEN@h/x":                    "https://***@h/x",
		"https://T@h/x?k=TOKEN and http://T@i":    "https://***@h/x?*** and http://***@i",
		"is it a@b? yes = no":                     "is it a@b? yes = no",
		"https://ada:TO/KEN@h/x":                  "https://***@h/x",
		"https://ada:TO/KEN@h":                    "https://***@h",
		"https://ada:12/KEN@h.example/x":          "https://***@h.example/x",
		"https://TO/KEN@h.example/x":              "https://***@h.example/x",
		"https://ada:TO/KEN@h/x@v1.0.0":           "https://***@h/x@v1.0.0",
		"https:///TOKEN@h/x":                      "https:///***@h/x",
		"https:///TO/KEN@h":                       "https:///***@h",
		"http:TOKEN@h/x":                          "http:***@h/x",
		`"https:\\\\TOKEN@h/x"`:                   `"https:\\\\***@h/x"`,
		`"https://ada:TO KEN@h/x": why`:           `"https://***@h/x": why`,
		"https://h:8443/x@v1.0.0: a":              "https://h:8443/x@v1.0.0: a",
		"https://h/@name/x":                       "https://h/@name/x",
		"https://h/x@main":                        "https://h/x@main",
		"https://[::1]/x":                         "https://[::1]/x",
		"file:///srv/a@b/c":                       "file:///srv/a@b/c",
		"ssh://git@h/x?k=TOKEN":                   "ssh://git@h/x?***",
		`C:\a@b`:                                  `C:\a@b`,
	} {
		if got := Redact(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// FuzzRedact checks that an address in any text leaks no credentials and that a second
// call changes nothing.
func FuzzRedact(f *testing.F) {
	for _, s := range []string{"", "a ", "get \"", "(", "https://x@y ", "a@b?c=d ", "file:///a@", "?k="} {
		f.Add(s, "/pw")
	}
	f.Fuzz(func(t *testing.T, before, password string) {
		once := Redact(before + password)
		if twice := Redact(once); twice != once {
			t.Errorf("%q became %q, then %q", before+password, once, twice)
		}
		if strings.ContainsAny(password, "\"'`<>\\ \t\r\n") || strings.ContainsAny(before, "\"'`") {
			return
		}
		for _, address := range []string{"https://ada:S3CRET" + password + "@host.example/x", "https://host.example/x?key=S3CRET" + password} {
			if got := Redact(before + " " + address); strings.Contains(got, "S3CRET") {
				t.Errorf("%q became %q", before+" "+address, got)
			}
		}
	})
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
