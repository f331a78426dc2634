package lock

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
)

func mustID(t testing.TB, s string) ID {
	t.Helper()
	id, err := ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestParseID(t *testing.T) {
	for _, tc := range []struct {
		in, canonical string
		kind          IDKind
		subdir, major string
		url           string
	}{
		{"github.com/acme/core-bundle", "github.com/acme/core-bundle", HostID, "", "", "https://github.com/acme/core-bundle"},
		{"GitHub.com/Acme/Core.git", "github.com/Acme/Core", HostID, "", "", "https://github.com/Acme/Core"},
		{"github.com/acme/x/", "github.com/acme/x", HostID, "", "", "https://github.com/acme/x"},
		{"github.com/acme/.github", "github.com/acme/.github", HostID, "", "", "https://github.com/acme/.github"},
		{"git.sr.ht/~ann/x", "git.sr.ht/~ann/x", HostID, "", "", "https://git.sr.ht/~ann/x"},
		{"git.acme.io/sec/redact//bundles/pii", "git.acme.io/sec/redact//bundles/pii", HostID, "bundles/pii", "", "https://git.acme.io/sec/redact"},
		{"git.acme.io/sec/redact//bundles/pii/v3", "git.acme.io/sec/redact//bundles/pii/v3", HostID, "bundles/pii", "v3", "https://git.acme.io/sec/redact"},
		{"github.com/acme/x/v2", "github.com/acme/x/v2", HostID, "", "v2", "https://github.com/acme/x"},
		{"github.com/v2", "github.com/v2", HostID, "", "", "https://github.com/v2"},
		{"https://github.com/acme/x.git", "github.com/acme/x", HostID, "", "", "https://github.com/acme/x"},
		{"https://github.com:443/acme/x", "github.com/acme/x", HostID, "", "", "https://github.com/acme/x"},
		{"HTTPS://git.acme.io:8443/x.git//sub/v2", "https://git.acme.io:8443/x.git//sub/v2", URLID, "sub", "v2", "https://git.acme.io:8443/x.git"},
		{"http://localhost:8080/x", "http://localhost:8080/x", URLID, "", "", "http://localhost:8080/x"},
		{"ssh://git@Git.acme.io:22/x/y", "ssh://git@git.acme.io/x/y", URLID, "", "", "ssh://git@git.acme.io/x/y"},
		{"git@github.com:acme/x.git", "git@github.com:acme/x", URLID, "", "", "git@github.com:acme/x"},
		{"git@github.com:acme/x.git.git/", "git@github.com:acme/x", URLID, "", "", "git@github.com:acme/x"},
		{"git@github.com:acme/x.git//sub/v2", "git@github.com:acme/x//sub/v2", URLID, "sub", "v2", "git@github.com:acme/x"},
		{"ssh://git@git.acme.io/acme/x.git", "ssh://git@git.acme.io/acme/x", URLID, "", "", "ssh://git@git.acme.io/acme/x"},
		{"git@github.com:acme/x//sub", "git@github.com:acme/x//sub", URLID, "sub", "", "git@github.com:acme/x"},
		{"file:///srv/git/x.git", "file:///srv/git/x.git", URLID, "", "", "file:///srv/git/x.git"},
		{"./bundles/x", "./bundles/x", PathID, "", "", ""},
		{"./bundles//x/../y/", "./bundles/y", PathID, "", "", ""},
		{"./a/../../b", "../b", PathID, "", "", ""},
		{"../core", "../core", PathID, "", "", ""},
		{"./", ".", PathID, "", "", ""},
		{"/srv/x", "/srv/x", PathID, "", "", ""},
		{"./my tools/ä", "./my tools/ä", PathID, "", "", ""},
		{"registry:rye.acme.io/acme/tools", "registry:rye.acme.io/acme/tools", RegistryID, "", "", ""},
		{"registry:localhost:7480/github~acme/tools/", "registry:localhost:7480/github~acme/tools", RegistryID, "", "", ""},
		{"registry:rye.acme.io/acme.io/tools/v2", "registry:rye.acme.io/acme.io/tools/v2", RegistryID, "", "v2", ""},
	} {
		id, err := ParseID(tc.in)
		if err != nil {
			t.Errorf("%s: %v", tc.in, err)
			continue
		}
		if id.String() != tc.canonical || id.Kind != tc.kind || id.Subdir != tc.subdir || id.Major != tc.major || id.URL() != tc.url {
			t.Errorf("%s: %+v, %s, %s", tc.in, id, id, id.URL())
		}
		if again := mustID(t, id.String()); again != id {
			t.Errorf("%s: %+v becomes %+v", tc.in, id, again)
		}
	}
}

func TestBadIDs(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "empty",
		strings.Repeat("a", 600):             "longer than 512",
		"core-bundle":                        "names no host",
		"localhost/x":                        "names no host",
		"acme/tools":                         "names no host",
		"github.com":                         "no path below",
		"github.com/":                        "no path below",
		"github.com/.git":                    "empty element",
		"github.com/acme/.GIT/x":             ".git directory",
		"github.com/acme/x//.Git":            ".git directory",
		"github.com//acme":                   "no path below",
		"github.com/acme//v2":                "after one /",
		"github.com/acme/x//":                "empty element",
		"github.com/acme/x//a//b":            "empty element",
		"github.com/acme/x/v1":               "not a major version",
		"github.com/acme/x/v0":               "not a major version",
		"github.com/acme/x/v02":              "not a major version",
		"github.com/acme/v2.git":             "cannot be a major version",
		"github.com/acme/../x":               `".."`,
		"github.com/acme/-x":                 "begins with -",
		"-github.com/acme":                   "separated by points",
		"github..com/acme":                   "separated by points",
		"git_hub.com/acme":                   "separated by points",
		"github.com/acme/x y":                "not allowed in an id",
		"github.com/acme/x\x00":              "not allowed in an id",
		"github.com/acmé/x":                  "not allowed in an id",
		"github.com/acme/x\u202e":            "not allowed in an id",
		"github.com/acme/a+b":                "more than letters",
		"github.com/acme/x@v1":               "more than letters",
		"github.com/acme/con":                "some systems",
		"github.com/acme/x//.git/hooks":      ".git directory",
		"github.com:8443/acme/x":             "a port or a scheme needs a URL",
		"host:path":                          "a port or a scheme needs a URL",
		"~/bundles/x":                        "home directory",
		`C:\bundles\x`:                       "local path begins",
		"C:/bundles/x":                       "local path begins",
		`.\x`:                                "local path begins",
		`./a\b`:                              "uses /",
		"./a\u202eb":                         "invisible",
		"./a\nb":                             "invisible",
		"ext::sh -c id":                      "not allowed in an id",
		"ext::sh":                            "a port or a scheme",
		"ftp://host.example/x":               "the scheme is not",
		"javascript://x/y":                   "the scheme is not",
		"https://user:secret@host.example/x": "no credentials",
		"https://token@host.example/x":       "no credentials",
		"ssh://git:pw@host.example/x":        "plain name",
		"ssh://-oProxyCommand=x@host/x":      "plain name",
		"ssh://-oProxyCommand/x":             "separated by points",
		"-oProxy@host.example:x":             "plain name",
		"https://host.example/x?a=b":         `"?"`,
		"https://host.example/x#a":           `"#"`,
		"https://host.example/%2e%2e/x":      `"%"`,
		"https://host.example:99999/x":       "port",
		"https://host.example:080/x":         "port",
		"https://[::1]/x":                    "separated by points",
		"file://server/share":                "three slashes",
		"https://host.example":               "no path below",
		"http://host.example":                "empty element",
		"registry:":                          "registry:HOST/NAMESPACE/NAME",
		"registry:acme/tools":                "registry:HOST/NAMESPACE/NAME",
		"registry:h.io/acme/tools/x":         "registry:HOST/NAMESPACE/NAME",
		"registry:acme/x/y":                  "the host of the registry is missing",
		"registry:h.io:0/acme/x":             "the port",
		"registry:Acme":                      "lower-case letters",
		"registry:h.io/../b":                 `".."`,
		"registry:h.io//b":                   "empty element",
	} {
		id, err := ParseID(in)
		if err == nil {
			t.Errorf("%q is read as %+v", in, id)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want it to say %q", in, err, want)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, tc := range []struct{ id, version, want string }{
		{"github.com/a/x", "v1.2.3", ""},
		{"github.com/a/x", "v0.0.0-20260102030405-0123456789ab", ""},
		{"github.com/a/x", "v1.2.3-rc.1", ""},
		{"github.com/a/x/v2", "v2.0.1", ""},
		{"./x", "local", ""},
		{"./x", "v1.0.0", "a directory has only the version local"},
		{"github.com/a/x", "local", "not vMAJOR"},
		{"github.com/a/x", "1.2.3", "write v1.2.3"},
		{"github.com/a/x", "v1.2", "write v1.2.0"},
		{"github.com/a/x", "v1.2.3+meta", "a + part"},
		{"github.com/a/x", "v2.0.0", "has the id github.com/a/x/v2"},
		{"github.com/a/x/v2", "v1.0.0", "the id names v2"},
		{"github.com/a/x", "latest", "not vMAJOR"},
		{"github.com/a/x", "", "empty"},
		{"github.com/a/x", "v1.2.3 ", "not vMAJOR"},
		{"github.com/a/x", "v01.2.3", "not vMAJOR"},
	} {
		err := mustID(t, tc.id).CheckVersion(tc.version)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s %q: %v, want %q", tc.id, tc.version, err, tc.want)
		}
	}
	pseudo := PseudoVersion(mustID(t, "github.com/a/x/v2"), "", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), strings.Repeat("0123456789abcdef", 3)[:40])
	if pseudo != "v2.0.0-20260102030405-0123456789ab" || !IsPseudo(pseudo) || PseudoCommit(pseudo) != "0123456789ab" || PseudoCommit("v1.0.0") != "" {
		t.Errorf("pseudo-version %s", pseudo)
	}
	if MaxVersion("v1.10.0", "v1.9.0") != "v1.10.0" || MaxVersion("v1.0.0-rc.1", "v1.0.0") != "v1.0.0" {
		t.Error("versions are ordered wrongly")
	}
}

func TestNewest(t *testing.T) {
	id := mustID(t, "github.com/a/x")
	versions := []string{"v1.0.0", "v1.1.0", "v1.2.0-rc.1", "v1.2.0-rc.2", "v1.3.0", "v1.4.0-beta", "v2.0.0", "nonsense", "v1.9.0-alpha.0.20260102030405-0123456789ab"}
	for _, tc := range []struct {
		current, want string
		excluded      []string
	}{
		{"v1.0.0", "v1.3.0", nil},
		{"v1.0.0", "v1.1.0", []string{"v1.3.0"}},
		{"v1.2.0-rc.1", "v1.2.0-rc.2", []string{"v1.3.0"}},
		{"v1.5.0", "v1.5.0", nil},
		{"v1.4.0-alpha", "v1.4.0-beta", nil},
		{"v0.0.0-20260102030405-0123456789ab", "v1.3.0", nil},
		// A tag shaped like a pseudo-version is newer, and not a release.
		{"v1.9.0-alpha", "v1.9.0-alpha", nil},
	} {
		if got := Newest(id, tc.current, versions, tc.excluded); got != tc.want {
			t.Errorf("%s without %v: %s, want %s", tc.current, tc.excluded, got, tc.want)
		}
	}
	if got := NextVersion(id, "v1.0.0", versions, []string{"v1.1.0"}); got != "v1.3.0" {
		t.Errorf("next: %q", got)
	}
	if got := NextVersion(id, "v1.3.0", versions, nil); got != "" {
		t.Errorf("next of the last: %q", got)
	}
}

func TestDir(t *testing.T) {
	seen := map[string]string{}
	for in, want := range map[string]string{
		"github.com/Acme/X v1.0.0":                   "github.com/!acme/!x@v1.0.0",
		"github.com/acme/x v1.0.0":                   "github.com/acme/x@v1.0.0",
		"github.com/acme/x/v2 v2.0.0":                "github.com/acme/x/v2@v2.0.0",
		"github.com/acme/x//a/b v1.0.0":              "github.com/acme/x/+/a/b@v1.0.0",
		"github.com/acme/x/a/b v1.0.0":               "github.com/acme/x/a/b@v1.0.0",
		"ssh://git@github.com/acme/x v1.0.0-RC":      "+ssh/git@github.com/acme/x@v1.0.0-!r!c",
		"git@github.com:acme/x v1.0.0":               "+scp/git@github.com/acme/x@v1.0.0",
		"http://127.0.0.1:8080/acme/x.git v1.0.0":    "+http/127.0.0.1+8080/acme/x.git@v1.0.0",
		"file:///srv/x v1.0.0":                       "+file/srv/x@v1.0.0",
		"registry:h.io/acme/x v1.0.0":                "+registry/h.io/acme/x@v1.0.0",
		"registry:localhost:80/acme/x/v2 v2.0.0":     "+registry/localhost+80/acme/x/v2@v2.0.0",
		"http://127.0.0.1/8080/acme/x.git//a v1.0.0": "+http/127.0.0.1/8080/acme/x.git/+/a@v1.0.0",
	} {
		name, version, _ := strings.Cut(in, " ")
		got, err := mustID(t, name).Dir(version)
		if err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", in, got, err, want)
		}
		if other := seen[strings.ToLower(got)]; other != "" {
			t.Errorf("%s and %s share a folder", in, other)
		}
		seen[strings.ToLower(got)] = in
		if strings.HasPrefix(in, "github.com") && !strings.Contains(in, "//") {
			path, _ := module.EscapePath(name)
			if v, _ := module.EscapeVersion(version); path+"@"+v != got {
				t.Errorf("%s: %q, x/mod writes %s@%s", in, got, path, v)
			}
		}
	}
	if _, err := mustID(t, "./x").Dir("local"); err == nil {
		t.Error("a folder is installed")
	}
	if _, err := mustID(t, "github.com/a/x").Dir("../../etc"); err == nil {
		t.Error("a version that is a path is installed")
	}
}

func TestTags(t *testing.T) {
	if got := mustID(t, "git.acme.io/sec/redact//bundles/pii").Tags("v0.3.0"); len(got) != 2 || got[0] != "bundles/pii/v0.3.0" || got[1] != "v0.3.0" {
		t.Errorf("tags %q", got)
	}
	if got := mustID(t, "git.acme.io/sec/redact").Tags("v0.3.0"); len(got) != 1 || got[0] != "v0.3.0" {
		t.Errorf("tags %q", got)
	}
}

// FuzzParseID holds that an id has one spelling and its folder stays below the
// one it is installed in.
func FuzzParseID(f *testing.F) {
	for _, s := range []string{"github.com/Acme/x.git//a/v2", "git@h.io:x", "ssh://a@b:2/c", "file:///C/x", "registry:h.io/a/b/v3", "./a/../b", "https://h.io/a/v2.git"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		if err != nil {
			return
		}
		again, err := ParseID(id.String())
		if err != nil || again != id {
			t.Fatalf("%q: %+v, then %+v %v", s, id, again, err)
		}
		if id.Kind == PathID {
			return
		}
		version := "v1.0.0"
		if id.Major != "" {
			version = id.Major + ".0.0"
		}
		dir, err := id.Dir(version)
		if err != nil || strings.HasPrefix(dir, "/") || strings.Contains("/"+dir+"/", "/../") || strings.ContainsAny(dir, `\:*?"<>|`) || dir != strings.ToLower(dir) {
			t.Fatalf("%q is installed in %q, %v", s, dir, err)
		}
	})
}

// idOf is mustID for constants.
func idOf(s string) ID {
	id, err := ParseID(s)
	if err != nil {
		panic(err)
	}
	return id
}
