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

// A rule about the signers of a repository applies under each of its addresses, whichever
// address the rule names; an allowed source is one address.
func TestMatchesTrust(t *testing.T) {
	of := map[string][]string{
		"github.com": {
			"github.com/acme/x", "https://GitHub.com/acme/x.git", "github.com/Acme/x/", "https://github.com:443/acme/x", "git@github.com:acme/x", "git@github.com:acme/x.git",
			"leo@github.com:acme/x", "ssh://git@github.com:2222/acme/x", "ssh://git@github.com/acme/x.git", "ssh://github.com/acme/x", "http://github.com/acme/x",
			"http://github.com/acme/x.git", "http://github.com/acme/x.git.git", "git://github.com/acme/x.git", "https://github.com:8443/acme/x.git",
		},
		"localhost": {"http://localhost:8080/acme/x", "http://localhost:8080/acme/x.git", "https://localhost/acme/x", "HTTP://LOCALHOST/acme/x/", "git@localhost:acme/x"},
		"":          {"file:///srv/acme/x", "file:///srv/acme/x.git", "FILE:///srv/acme/x/", "file:///srv/Acme/X.git"},
	}
	for _, spellings := range of {
		for _, a := range spellings {
			for _, b := range spellings {
				id := mustID(t, b)
				for _, pattern := range []string{mustID(t, a).String(), "*", "**"} {
					for _, id := range []ID{id, {Kind: id.Kind, Repo: id.Repo, Major: "v2"}, {Kind: id.Kind, Repo: id.Repo, Subdir: "a", Major: "v2"}} {
						if !matchesTrust(pattern, id.String()) {
							t.Errorf("%s escapes the rule about %s", id, pattern)
						}
					}
				}
			}
		}
	}
	for _, id := range []string{"github.com/acme/x", "github.com/Acme/x//a", "git@github.com:acme/x", "ssh://git@github.com:2222/acme/x/v2", "http://github.com/acme/x"} {
		if want := id == "github.com/acme/x"; (Policy{Sources: []string{"github.com/acme"}}).AllowsSource(mustID(t, id)) != want {
			t.Errorf("%s as a source: want %t", id, want)
		}
	}
	for pattern, ids := range map[string][]string{
		"github.com/acme":            {"github.com/acmes/x", "git@evil.test:github.com/acme/x", "file:///github.com/acme/x", "./github.com/acme"},
		"git@github.com:acme/x":      {"github.com/acme/xx", "github.com/acme", "git@github.comx:acme/x", "registry:github.com/acme/x"},
		"git@github.com:acme/*":      {"github.com/acmes/x"},
		"http://localhost:8080/x/*":  {"http://localhost:8080/x.git", "http://localhost:8080/xx/y"},
		"http://localhost:8080/x//*": {"http://localhost:8080/x.git", "http://localhost:8080/x/y"},
		"registry:h.io/acme/x":       {"h.io/acme/x"},
		"file:///srv/x":              {"srv.io/x", "file:///srv/x2.git"},
	} {
		for _, id := range ids {
			if matchesTrust(pattern, mustID(t, id).String()) {
				t.Errorf("%s is under the rule about %s", id, pattern)
			}
		}
	}
	for pattern, id := range map[string]string{
		"git@github.com:acme/*": "github.com/acme/x", "ssh://git@github.com/acme/": "http://github.com/acme/x.git", "git@github.com": "github.com/acme/x",
		"http://localhost:8080/x.git//*": "http://localhost:8080/x//a", "http://localhost:8080/x//a": "http://localhost:8080/x.git//a/v2",
	} {
		if !matchesTrust(pattern, mustID(t, id).String()) {
			t.Errorf("%s escapes the rule about %s", id, pattern)
		}
	}
}
