package lock

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

// example reads one of the files that docs/reference/format shows.
func example(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "docs", "reference", "format", "examples", "packages", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func manifest(t testing.TB, text string) *ProjectFile {
	t.Helper()
	m, fs := ParseProjectFile([]byte(text))
	if m == nil {
		t.Fatalf("%v in\n%s", fs, text)
	}
	return m
}

const fingerprint = "b600306cfa76723fdec395e53a9b3d9fdb78b1e2d7a23c32fcbcd2dc6d0c4092"

func TestManifest(t *testing.T) {
	m, fs := ParseProjectFile(example(t, "rye.yaml"))
	if m == nil || len(fs) > 0 {
		t.Fatal(fs)
	}
	want := &ProjectFile{
		ID: idOf("github.com/acme/support-agents"),
		Require: map[ID]string{
			idOf("github.com/acme/core-bundle"):         "v1.8.2",
			idOf("git.acme.io/sec/redact//bundles/pii"): "v0.3.0",
			idOf("github.com/lab/experiments"):          "3f2c9d1e0a6b8c7d5e4f3a2b1c0d9e8f7a6b5c4d",
		},
		Use:       map[ID][]string{idOf("github.com/acme/core-bundle"): {"directive:triage/*", "tool:gh/issue"}},
		Prefer:    map[string]ID{"tool:gh/issue": idOf("github.com/acme/core-bundle")},
		Replace:   map[ID]Replacement{idOf("github.com/lab/experiments"): {Path: "../experiments"}},
		Exclude:   map[ID][]string{idOf("github.com/acme/core-bundle"): {"v1.8.1"}},
		Workspace: []string{"./bundles/*"},
		Trust:     map[string]TrustRule{"github.com/acme/*": {Signers: []string{"ed25519:" + fingerprint}, Threshold: 1}},
		Policy: Policy{Sources: []string{"github.com/acme", "git.acme.io", "github.com/lab"}, MinAge: 72 * time.Hour,
			CapsDeny: []string{"rye.execute.tool.rye.bash.*"}},
		Vendor: true,
	}
	at := m.at
	m.at = nil
	if !reflect.DeepEqual(m, want) {
		t.Errorf("%+v\nwant\n%+v", m, want)
	}
	m.at = at
	if p := m.Position("require", "github.com/lab/experiments"); p.Line == 0 || p.Column != 3 {
		t.Errorf("position %v", p)
	}
	if p := m.Position("require", "github.com/no/such"); p != at["require"] {
		t.Errorf("place of nothing: %v", p)
	}
}

func TestBadManifests(t *testing.T) {
	for _, tc := range []struct {
		text string
		want string // part of a finding: "line:column: CODE: message"
	}{
		{"", "1:1: PARSING_ERROR"},
		{"\xef\xbb\xbfrye: 1\n", "ENCODING"},
		{"rye: 1\nname: a\x00b\n", "ENCODING"},
		{"rye: 1\xff\n", "ENCODING"},
		{"- a\n", "a mapping is required"},
		{"name: github.com/a/b\n", `rye is missing: the file needs a line "rye: 1"`},
		{"rye: one\n", "rye must be the number"},
		{"rye: 0\n", "rye must be the number"},
		{"rye: 2\nrequires: x\n", "1:1: VERSION_MISMATCH: rye: the file has format 2, this rye reads format 1"},
		{"rye: 1\nrequires: {}\n", `2:1: VALIDATION_FAILED: unknown field "requires"`},
		{"rye: 1\nzzzzz: {}\n", "the fields here are rye, requires_rye, name"},
		{"rye: 1\nrye: 1\n", "duplicate key"},
		{"rye: 1\nname: &x github.com/a/b\n", "anchors"},
		{"rye: 1\nname: ./x\n", "not a path"},
		{"rye: 1\nname: 7\n", "name must be a string, not a number"},
		{"rye: 1\nname: a/b\n", "must be a bundle id"},
		{"rye: 1\nname: \"\"\n", "must be a bundle id"},
		{"rye: 1\nrequire: [a]\n", "require must be a mapping"},
		{"rye: 1\nrequire:\n  core: v1.0.0\n", `3:3: USAGE: require.core: reading bundle id "core"`},
		{"rye: 1\nrequire:\n  github.com/a/b:\n", "needs a version"},
		{"rye: 1\nrequire:\n  github.com/a/b: 1.2\n", `require["github.com/a/b"] must be a string, not a number`},
		{"rye: 1\nrequire:\n  github.com/a/b: 1234567\n", "must be a string, not a number"},
		{"rye: 1\nrequire:\n  github.com/a/b: 1.2.3\n", "3:3: VERSION_MISMATCH: require[\"github.com/a/b\"]: reading version \"1.2.3\": write v1.2.3"},
		{"rye: 1\nrequire:\n  github.com/a/b: main\n", "not vMAJOR"},
		{"rye: 1\nrequire:\n  github.com/a/b: v2.0.0\n", "has the id github.com/a/b/v2"},
		{"rye: 1\nrequire:\n  ./x: v1.0.0\n", "only the version local"},
		{"rye: 1\nrequire:\n  registry:h.io/a/x: abcdef0123\n", "not vMAJOR"},
		{"rye: 1\nrequire:\n  github.com/a/b: v1.0.0\n  https://github.com/a/b.git: v1.0.0\n", "which is listed already"},
		{"rye: 1\nrequire:\n  github.com/a/b: v1.0.0\n  github.com/A/b: v1.0.0\n", "differ by case only"},
		{"rye: 1\nuse:\n  github.com/a/b: tool:x\n", "must be a list"},
		{"rye: 1\nuse:\n  github.com/a/b: []\n", "names no item"},
		{"rye: 1\nuse:\n  github.com/a/b: [x]\n", "want kind:id"},
		{"rye: 1\nuse:\n  github.com/a/b: [\"tool:../x\"]\n", "segment"},
		{"rye: 1\nuse:\n  github.com/a/b: [\"tool:*/../x\"]\n", "pattern"},
		{"rye: 1\nuse:\n  github.com/a/b: [tool:x, tool:x]\n", "is listed twice"},
		{"rye: 1\nuse:\n  github.com/a/b: [7]\n", "[0] must be a string, not a number"},
		{"rye: 1\nprefer: {x: github.com/a/b}\n", "no kind given"},
		{"rye: 1\nprefer: {\"tool:x\": core}\n", "bundle id"},
		{"rye: 1\nreplace: {github.com/a/b: core}\n", "bundle id"},
		{"rye: 1\nreplace: {github.com/a/b: github.com/a/b}\n", "cannot replace itself"},
		{"rye: 1\nreplace: {github.com/a/b: github.com/c/d@main}\n", "not vMAJOR"},
		{"rye: 1\nexclude: {github.com/a/b: [1.0.0]}\n", "write v1.0.0"},
		{"rye: 1\nworkspace: [../x]\n", "not a directory below this one"},
		{"rye: 1\nworkspace: [./a/../../x]\n", "not a directory below this one"},
		{"rye: 1\nworkspace: ./x\n", "must be a list"},
		{"rye: 1\ntrust: {github.com/a/*: [x]}\n", `trust["github.com/a/*"] must be a mapping, not a list`},
		{"rye: 1\ntrust: {github.com/a/*: {signer: x}}\n", `unknown field "trust[\"github.com/a/*\"].signer"`},
		{"rye: 1\ntrust: {github.com/a/*: {signers: [ed25519:4f3a]}}\n", "reading signer"},
		{"rye: 1\ntrust: {github.com/a/*: {signers: [\"" + fingerprint + "\"]}}\n", "want ed25519:"},
		{"rye: 1\ntrust: {github.com/a/*: {signers: [ed25519:" + fingerprint + "], threshold: 2}}\n", "threshold must be a whole number from 1 to 1, not 2"},
		{"rye: 1\ntrust: {github.com/a/*: {signers: [ed25519:" + fingerprint + "], threshold: 0}}\n", "threshold must be"},
		{"rye: 1\npolicy: {min-age: soon}\n", "not a duration"},
		{"rye: 1\npolicy: {min-age: -1h}\n", "not a duration"},
		{"rye: 1\npolicy: {min_age: 1h}\n", `unknown field "policy.min_age"`},
		{"rye: 1\npolicy: {sources: []}\n", "sources allows nothing"},
		{"rye: 1\npolicy: {hosts: []}\n", "hosts allows nothing"},
		{"rye: 1\npolicy: {sources: x}\n", "sources must be a list"},
		{"rye: 1\npolicy: {sources: [github.com/*/x]}\n", "wildcard that is not at its end"},
		{"rye: 1\npolicy: {sources: [\"https://github.com/acme\"]}\n", "written github.com/acme"},
		{"rye: 1\npolicy: {caps-deny: [\"rye.[\"]}\n", "is not a pattern"},
		{"rye: 1\npolicy: {hosts: [\"https://acme.io\"]}\n", "is not a host"},
		{"rye: 1\npolicy: {hosts: [API.acme.io]}\n", "is not a host"},
		{"rye: 1\npolicy: {offline: 1}\n", "offline must be true or false"},
		{"rye: 1\nrequire: {\"git@h.io:x\": v1.0.0, h.io/x: v1.0.0}\n", "are one bundle: keep one address"},
		{"rye: 1\nvendor: yes\n", "vendor must be true or false"},
		{"rye: 1\n# \u202e hidden\n", "HIDDEN_CHARS"},
		{strings.Repeat("[", 10000), "PARSING_ERROR"},
		{strings.Repeat("#", MaxProjectFile+1), "TOO_LARGE"},
	} {
		m, fs := ParseProjectFile([]byte(tc.text))
		var all []string
		for _, f := range fs {
			all = append(all, strings.TrimPrefix(f.String(), "line "))
		}
		if m != nil || !strings.Contains(strings.Join(all, "\n"), tc.want) {
			t.Errorf("%.60q: %v %q, want %q", tc.text, m, all, tc.want)
		}
	}
}

// TestAllFindings wants every mistake of a file, in its order.
func TestAllFindings(t *testing.T) {
	_, fs := ParseProjectFile([]byte("rye: 1\nrequire:\n  core: v1.0.0\n  github.com/a/b: 1\nuse: []\nvendor: 7\npolicy: {x: 1}\n"))
	if len(fs) != 5 {
		t.Fatalf("%d findings: %v", len(fs), fs)
	}
	for i, line := range []int{3, 4, 5, 6, 7} {
		if fs[i].Line != line || fs[i].Severity != diag.SeverityError {
			t.Errorf("finding %d: %s", i, fs[i])
		}
	}
}

// TestLabel reads what rye init writes: the name of a folder.
func TestLabel(t *testing.T) {
	for name, id := range map[string]string{"my-project_1.x": "", "github.com/a/b": "github.com/a/b", "-": "", "https://github.com/a/b.git": "github.com/a/b", "registry:h.io/a/x": "registry:h.io/a/x"} {
		if m := manifest(t, "rye: 1\nname: \""+name+"\"\n"); m.ID.String() != id || m.Name() == "" {
			t.Errorf("%s: %q %q", name, m.Name(), m.ID)
		}
	}
}

func TestEmptySections(t *testing.T) {
	m := manifest(t, "rye: 1\r\nrequire:\r\nuse: {}\r\nworkspace: []\r\npolicy:\r\nexclude:\r\n")
	if len(m.Require) != 0 || m.Hash() != manifest(t, "rye: 1\n").Hash() {
		t.Errorf("%+v", m)
	}
}

// TestManifestHash changes one fact after the other: each has a hash of its
// own, order and spelling have none.
func TestManifestHash(t *testing.T) {
	base := "rye: 1\nrequire: {github.com/a/b: v1.0.0, github.com/c/d: v1.0.0}\nexclude: {github.com/a/b: [v1.1.0, v1.2.0]}\n"
	same := "# other\nexclude:\n  https://github.com/a/b.git:\n  - v1.2.0\n  - \"v1.1.0\"\nrequire:\n  github.com/c/d: v1.0.0\n  github.com/a/b: 'v1.0.0'\nrye: 1\nvendor: true\n"
	if manifest(t, base).Hash() != manifest(t, same).Hash() {
		t.Error("order or spelling change the hash")
	}
	hashes := map[string]string{manifest(t, base).Settings(): base}
	for _, more := range []string{
		"name: github.com/x/y\n", "prefer: {tool:x: github.com/a/b}\n", "prefer: {tool:y: github.com/a/b}\n", "replace: {github.com/a/b: ./x}\n",
		"replace: {github.com/a/b: github.com/x/y}\n", "replace: {github.com/a/b: github.com/x/y@v1.0.0}\n", "workspace: [./x]\n", "workspace: [./y]\n",
		"trust: {github.com/a/*: {signers: [ed25519:" + fingerprint + "]}}\n",
		"policy: {sources: [github.com/x]}\n", "policy: {caps-deny: [x]}\n", "policy: {min-age: 1h}\n", "policy: {min-age: 2d}\n",
		"policy: {hosts: [x]}\n", "policy: {require-signed: true}\n", "policy: {offline: true}\n",
	} {
		h := manifest(t, base+more).Settings()
		if other, taken := hashes[h]; taken {
			t.Errorf("%q and %q share a hash", more, other)
		}
		hashes[h] = more
	}
	if manifest(t, base).Settings() != manifest(t, strings.Replace(base, "a/b: v1.0.0", "a/b: v1.0.1", 1)).Settings() {
		t.Error("require is part of the settings")
	}
	if manifest(t, base).Hash() == manifest(t, strings.Replace(base, "a/b: v1.0.0", "a/b: v1.0.1", 1)).Hash() {
		t.Error("the hash ignores require")
	}
	if got, want := manifest(t, "rye: 1\n").Hash(), "h1:"; !strings.HasPrefix(got, want) || CheckSum(got) != nil {
		t.Errorf("%s is not a hash", got)
	}
}

// TestManifestVectors holds the vectors of docs/reference/format/manifest.md.
func TestManifestVectors(t *testing.T) {
	page := string(docPage(t, "manifest.md"))
	for _, text := range []string{"rye: 1", "{rye: 1, name: github.com/x/y, require: {github.com/a/b: v1.0.0}, exclude: {github.com/a/b: [v1.1.0]}}"} {
		m := manifest(t, text)
		for _, want := range []string{"`" + text + "`", "`" + m.Hash() + "`"} {
			if !strings.Contains(page, want) {
				t.Errorf("docs/reference/format/manifest.md lacks %s", want)
			}
		}
		if m.Hash() != m.Settings() && !strings.Contains(page, "`"+m.Settings()+"`") {
			t.Errorf("docs/reference/format/manifest.md lacks %s", m.Settings())
		}
	}
	for _, key := range SectionNames() {
		if !strings.Contains(page, "\n| `"+key+"` |") {
			t.Errorf("docs/reference/format/manifest.md does not describe %s", key)
		}
	}
}

func TestPolicyAndTrust(t *testing.T) {
	m := manifest(t, "rye: 1\npolicy: {sources: [github.com/acme, \"registry:\"]}\ntrust:\n  github.com/acme/*: {signers: [ed25519:"+fingerprint+"]}\n  github.com/acme/x//**: {signers: [ed25519:"+fingerprint+"]}\n")
	for id, want := range map[string]bool{"github.com/acme/x": true, "github.com/other/x": false, "registry:h.io/a/x": true, "./x": true, "git@github.com:acme/x": false} {
		if got := m.Policy.AllowsSource(mustID(t, id)); got != want {
			t.Errorf("source %s: %v", id, got)
		}
	}
	for id, want := range map[string]int{"github.com/acme/x": 1, "github.com/acme/x//a/b": 1, "github.com/other/x": 0} {
		if got := len(m.TrustRules(id)); got < want || want == 0 && got > 0 {
			t.Errorf("trust rules of %s: %d", id, got)
		}
	}
}

func TestReplacement(t *testing.T) {
	for in, want := range map[string]Replacement{
		"../x":                       {Path: "../x"},
		"./a@b":                      {Path: "./a@b"},
		"github.com/a/b":             {ID: idOf("github.com/a/b")},
		"github.com/a/b@v1.0.0":      {ID: idOf("github.com/a/b"), Version: "v1.0.0"},
		"git@github.com:a/b@v1.0.0":  {ID: idOf("git@github.com:a/b"), Version: "v1.0.0"},
		"git@github.com:a/b":         {ID: idOf("git@github.com:a/b")},
		"github.com/a/b@0123456789a": {ID: idOf("github.com/a/b"), Version: "0123456789a"},
	} {
		got, err := ParseReplacement(in)
		if err != nil || got != want || got.String() != in {
			t.Errorf("%s: %+v %v", in, got, err)
		}
	}
}

// FuzzParseManifest tests that a manifest or an error is returned, and that the
// hash of a manifest depends only on its values.
func FuzzParseManifest(f *testing.F) {
	f.Add(example(f, "rye.yaml"))
	f.Add([]byte("rye: 1\nrequire: {github.com/a/b: v1.0.0}\nexclude: {github.com/a/b: []}\n"))
	f.Add([]byte("{rye: 1, use: {./x: ['tool:a/*']}, vendor: true}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, fs := ParseProjectFile(b)
		if (m == nil) != diag.Failed(fs) {
			t.Fatalf("%v with %v", m, fs)
		}
		if m == nil {
			return
		}
		again, _ := ParseProjectFile(append([]byte("# more\n"), b...))
		if again != nil && again.Hash() != m.Hash() {
			t.Fatal("a comment changes the hash")
		}
	})
}

// docPage reads a page of docs/reference/format.
func docPage(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "docs", "reference", "format", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
