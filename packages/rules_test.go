package packages

import (
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/trust"
)

// rulesOf reads a policy file for each text.
func rulesOf(t *testing.T, texts ...string) Rules {
	t.Helper()
	var out Rules
	for i, text := range texts {
		m, fs := lock.ParsePolicy([]byte("rye: 1\n" + text))
		if m == nil {
			t.Fatalf("%s: %v", text, fs)
		}
		out = append(out, RuleFile{string(rune('a'+i)) + ".yaml", m})
	}
	return out
}

// No file loosens another: what any of them refuses is refused, and the refusal
// names it and its line.
func TestRulesTighten(t *testing.T) {
	b := lock.Bundle{ID: idOf("github.com/acme/tools"), Version: "v1.0.0", Sum: "h1:x", Caps: []string{"net:api.acme.io", "rye.execute.tool.gh.*"}}
	for _, c := range []struct {
		machine, project string
		want             diag.Code
		names            string
	}{
		{"", "", "", ""},
		{"policy: {sources: [github.com/acme]}", "policy: {sources: [github.com]}", "", ""},
		{"policy: {sources: [github.com/acme]}", "policy: {sources: [git.acme.io]}", diag.PolicyDenied, "policy.sources of b.yaml:2"},
		{"policy: {sources: [git.acme.io]}", "policy: {sources: [github.com/acme]}", diag.PolicyDenied, "policy.sources of a.yaml:2"},
		{"policy: {sources: [github.com/acme-evil, github.com/ac]}", "", diag.PolicyDenied, "policy.sources of a.yaml:2"},
		{"policy:\n  min-age: 1h\n  caps-deny: [\"rye.execute.tool.gh.issue\"]", "policy: {caps-deny: [rye.sign.*]}", diag.PolicyDenied, "policy.caps-deny of a.yaml:4"},
		{"policy: {caps-deny: [\"net:*.acme.io\"]}", "", diag.PolicyDenied, "net:api.acme.io"},
		{"policy: {caps-deny: [\"net:acme.io\"]}", "", "", ""},
		{"policy: {hosts: [\"*.acme.io\"]}", "policy: {hosts: [api.acme.io]}", "", ""},
		{"policy: {hosts: [\"*.acme.io\"]}", "policy: {hosts: [acme.io]}", diag.PolicyDenied, "the host api.acme.io, which policy.hosts of b.yaml:2"},
		{"policy: {require-signed: true}", "", "", ""},
	} {
		err := rulesOf(t, c.machine, c.project).Refuse(b)
		if diag.CodeOf(err) != c.want || err != nil && !strings.Contains(err.Error(), c.names) {
			t.Errorf("%q, %q: %v, want %q with %q", c.machine, c.project, err, c.want, c.names)
		}
	}
}

func TestRulesFolder(t *testing.T) {
	rs := rulesOf(t, "policy: {require-signed: true}")
	for _, c := range []struct {
		id, replace string
		ok          bool
	}{
		{"./tools", "", true}, {"../tools", "", false}, {"/srv/tools", "", false},
		{"github.com/acme/tools", "./tools", true}, {"github.com/acme/tools", "../tools", false}, {"github.com/acme/tools", "github.com/acme/fork", true},
	} {
		b := lock.Bundle{ID: idOf(c.id), Version: "v1.0.0"}
		if c.replace != "" {
			var err error
			if b.Replace, err = lock.ParseReplacement(c.replace); err != nil {
				t.Fatal(err)
			}
		}
		err := rs.Refuse(b)
		if (err == nil) != c.ok || err != nil && diag.CodeOf(err) != diag.PolicyDenied {
			t.Errorf("%s replaced by %q: %v", c.id, c.replace, err)
		}
	}
}

// Thresholds of several files all hold, each over its own keys.
func TestRulesSigners(t *testing.T) {
	key := func(c string) string { return "ed25519:" + strings.Repeat(c, 64) }
	rs := rulesOf(t,
		"trust:\n  github.com/acme/*: {signers: ["+key("a")+", "+key("b")+", "+key("c")+"], threshold: 2}",
		"trust:\n  github.com/**: {signers: ["+key("a")+", "+key("d")+"]}")
	for _, c := range []struct {
		signers string
		names   string
	}{
		{"ab", ""}, {"acd", ""}, {"bcd", ""}, {"a", "a.yaml:3 demands 2 of 3"}, {"bc", "b.yaml:3 demands 1 of 2"}, {"ad", "a.yaml:3"}, {"", "a.yaml:3"}, {"aa", "a.yaml:3"},
	} {
		var signers []string
		for _, s := range strings.Split(c.signers, "") {
			signers = append(signers, key(s))
		}
		m := lock.Module{ID: idOf("github.com/acme/tools"), Version: "v1.0.0"}
		err := CheckSigners(m, rs.SignerRules(&trust.Store{}, m, ""), signers)
		if (err == nil) != (c.names == "") || err != nil && (diag.CodeOf(err) != diag.Threshold || !strings.Contains(err.Error(), c.names)) {
			t.Errorf("%q: %v, want %q", c.signers, err, c.names)
		}
	}
	if !rs.DemandsSigners("github.com/x/y") || rs.DemandsSigners("git.acme.io/x") {
		t.Error("which bundles rules speak of")
	}
	if got := rs.About("github.com/x/y"); len(got) != 1 || got[0].Where() != "b.yaml:3" {
		t.Errorf("about: %v", got)
	}
}

func TestRulesAge(t *testing.T) {
	r, least := rulesOf(t, "policy: {min-age: 2d}", "policy: {min-age: 72h}", "policy: {min-age: 1h}").MinAge()
	if least != 72*time.Hour || r.String() != "policy.min-age of b.yaml:2" {
		t.Errorf("%s %s", least, r)
	}
	if _, on := rulesOf(t, "", "policy: {offline: false}").Offline(); on {
		t.Error("offline")
	}
}

func FuzzPolicy(f *testing.F) {
	for _, s := range []string{"rye: 1\n", "rye: 1\npolicy: {sources: [x], min-age: 3d}\n", "rye: 1\ntrust: {x: {signers: []}}\n", "rye: 2\n", "rye: 1\nrequire: {}\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, fs := lock.ParsePolicy(b)
		if (m == nil) != diag.Failed(fs) {
			t.Fatalf("%q: %v", b, fs)
		}
		if m == nil {
			return
		}
		if len(m.Require)+len(m.Replace)+len(m.Prefer)+len(m.Use)+len(m.Workspace) > 0 || m.Name() != "" || m.Vendor {
			t.Fatalf("%q has more than rules", b)
		}
		for _, r := range (Rules{{"p", m}}).List() {
			if r.Value == "" || r.Line == 0 {
				t.Fatalf("%q: a rule without a value or a position: %+v", b, r)
			}
		}
	})
}
