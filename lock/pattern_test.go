package lock

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
)

// A pattern that can match no id of a release is an error, with the spelling that
// the author may have meant.
func TestCheckIDPattern(t *testing.T) {
	for _, ok := range []string{
		"*", "**", "github.com", "github.com/*", "github.com/acme", "github.com/acme/", "github.com/acme/**", "github.com/acme/a", "github.com/acme/a/v2",
		"github.com/acme/a/*", "github.com/acme/a//*", "github.com/acme/a//sub", "git@h.io", "git@h.io:*", "git@h.io:team/*", "ssh://git@h.io/x",
		"ssh://*", "file:", "file://*", "file:///srv/**", "http://localhost:8080/x", "registry:", "registry:*", "registry:acme.io", "registry:localhost:80/ns/*",
	} {
		if err := checkIDPattern(ok); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for bad, part := range map[string]string{
		"acme":                     "github.com/acme",
		"registry":                 "equal to it or below it",
		"GitHub.com/acme":          "written github.com/acme",
		"GITHUB.com":               "write github.com",
		"https://github.com/acme":  "written github.com/acme",
		"github.com/acme/x.git":    "written github.com/acme/x",
		"github.com/acme/v1":       "not a major version",
		"./tools":                  "a folder has no release",
		"github.com/*/tools":       "wildcard",
		"github.com/acme-*":        "wildcard",
		"":                         "empty",
		"github.com/acme//":        "ends with //",
		"https://github.com:99999": "equal to it",
	} {
		err := checkIDPattern(bad)
		if diag.CodeOf(err) != diag.ConfigError || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v, want %q", bad, err, part)
		}
	}
	if err := CheckTrustPattern("acme"); err != nil {
		t.Errorf("the name in a manifest: %v", err)
	}
}

// A rule about the signers of a repository applies under each of its addresses;
// an allowed source is one address.
func TestMatchesTrust(t *testing.T) {
	for _, id := range []string{"github.com/acme/x", "github.com/Acme/x//a", "git@github.com:acme/x", "ssh://git@github.com:2222/acme/x/v2", "http://github.com/acme/x"} {
		if !matchesTrust("github.com/acme", mustID(t, id).String()) {
			t.Errorf("%s escapes the rule", id)
		}
		if want := id == "github.com/acme/x"; (Policy{Sources: []string{"github.com/acme"}}).AllowsSource(mustID(t, id)) != want {
			t.Errorf("%s as a source: want %t", id, want)
		}
	}
	for _, id := range []string{"github.com/acmes/x", "git@evil.test:github.com/acme/x", "file:///github.com/acme/x", "./github.com/acme"} {
		if matchesTrust("github.com/acme", mustID(t, id).String()) {
			t.Errorf("%s is under the rule", id)
		}
	}
}
