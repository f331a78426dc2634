package policy

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
)

func profile(t *testing.T, text string) Profile {
	t.Helper()
	doc, findings := yamlx.Parse([]byte(text))
	if diag.Failed(findings) {
		t.Fatal(findings)
	}
	r := tree.NewReader(doc, diag.ValidationFailed)
	p := ReadProfile(r)
	if diag.Failed(r.Findings()) {
		t.Fatalf("%s: %v", text, r.Findings())
	}
	return p
}

func text(t *testing.T, p Profile) string {
	t.Helper()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTighten(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"{}", "{}", `{}`},
		{"{net: any}", "{}", `{"net":"any"}`},
		{"{net: loopback}", "{net: any}", `{"net":"loopback"}`},
		{"{net: loopback}", "{net: hosts, hosts: [a.b]}", `{"net":"none"}`},
		{"{net: hosts, hosts: [a.b, c.d]}", "{net: any}", `{"net":"hosts","hosts":["a.b","c.d"]}`},
		{"{net: hosts, hosts: [a.b, c.d]}", `{hosts: ["*.b", "d.e"]}`, `{"net":"hosts","hosts":["a.b"]}`},
		{"{net: hosts, hosts: [a.b]}", "{net: hosts, hosts: [c.d]}", `{"net":"none"}`},
		{`{net: hosts, hosts: ["*"]}`, `{hosts: ["a.b:8443", "10.0.0.1", "1.1.1.1"]}`, `{"net":"hosts","hosts":["1.1.1.1","a.b:8443"]}`},
		{`{hosts: ["*.b"]}`, `{hosts: ["b", "x.b:80"]}`, `{"hosts":[]}`},
		{`{fs: {read: ["{project}"]}}`, `{fs: {read: ["{project}/a", "/etc"]}}`, `{"fs":{"read":["{project}/a"]}}`},
		{`{fs: {read: ["{project}"], write: ["{project}"]}}`, `{fs: {read: ["{project}/a"]}}`, `{"fs":{"read":["{project}/a"],"write":["{project}/a"]}}`},
		{`{fs: {read: [], write: ["{tmp}"]}}`, `{fs: {read: ["/"]}}`, `{"fs":{"read":["{tmp}"],"write":["{tmp}"]}}`},
		{`{fs: {read: ["{project}/ab"]}}`, `{fs: {read: ["{project}/a"]}}`, `{"fs":{"read":[]}}`},
		{`{exec: any}`, `{exec: [git, gh]}`, `{"exec":["gh","git"]}`},
		{`{exec: [git]}`, `{exec: [gh]}`, `{"exec":"none"}`},
		{`{broker: true}`, `{broker: false}`, `{"broker":false}`},
		{`{limits: {memory_mb: 64, processes: 4}}`, `{limits: {memory_mb: 32, cpu_seconds: 2}}`, `{"limits":{"cpu_seconds":2,"memory_mb":32,"processes":4}}`},
	} {
		if got := text(t, Tighten(profile(t, c.a), profile(t, c.b))); got != c.want {
			t.Errorf("Tighten(%s, %s) = %s, want %s", c.a, c.b, got, c.want)
		}
	}
}

// randomProfile returns a profile of a few values, so that two often have some in
// common.
func randomProfile(r *rand.Rand) Profile {
	some := func(values ...string) *[]string {
		if r.Intn(4) == 0 {
			return nil
		}
		out := []string{}
		for range r.Intn(4) {
			out = append(out, values[r.Intn(len(values))])
		}
		return &out
	}
	paths := []string{"/", "/etc", "/etc/ssl", "{project}", "{project}/a", "{project}/a/b", "{project}/ab", "{tmp}", "{cache}", "~/x", "~"}
	p := Profile{Read: some(paths...), Write: some(paths...), Exec: some("any", "git", "gh", "go")}
	p.Net = []string{"", NetNone, NetLoopback, NetHosts, NetAny}[r.Intn(5)]
	if hosts := some("*", "*:*", "*:80", "a.b", "*.b", "*.a.b", "x.a.b:80", "x.a.b:*", "10.0.0.1", "1.1.1.1", "[2001:db8::1]:80"); hosts != nil {
		p.Hosts = *hosts
	} else if p.Net == NetHosts {
		p.Hosts = []string{"a.b"}
	}
	if n := r.Intn(3); n > 0 {
		b := n == 1
		p.Broker = &b
	}
	for _, limit := range p.Limits.All() {
		if r.Intn(2) == 0 {
			*limit.Value = limit.Low + int64(r.Intn(3))
		}
	}
	return p.Normal()
}

func TestTightenIsAMeet(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range rounds(5_000) {
		a, b, c := randomProfile(r), randomProfile(r), randomProfile(r)
		ab := Tighten(a, b)
		if ba := Tighten(b, a); !reflect.DeepEqual(ab, ba) {
			t.Fatalf("order changes the result of\n%s\n%s:\n%s\n%s", text(t, a), text(t, b), text(t, ab), text(t, ba))
		}
		if left, right := Tighten(ab, c), Tighten(a, Tighten(b, c)); !reflect.DeepEqual(left, right) {
			t.Fatalf("grouping changes the result of\n%s\n%s\n%s:\n%s\n%s", text(t, a), text(t, b), text(t, c), text(t, left), text(t, right))
		}
		if aa := Tighten(a, a); !reflect.DeepEqual(aa, a) {
			t.Fatalf("repetition changes\n%s to\n%s", text(t, a), text(t, aa))
		}
		if again := Tighten(ab, a); !reflect.DeepEqual(again, ab) {
			t.Fatalf("repetition changes\n%s to\n%s", text(t, ab), text(t, again))
		}
		for _, of := range []Profile{a, b} {
			if more := ab.Exceeds(of); more != nil {
				t.Fatalf("%s exceeds\n%s: %v", text(t, ab), text(t, of), more)
			}
		}
		var read Profile
		if err := json.Unmarshal([]byte(text(t, ab)), &read); err != nil || !reflect.DeepEqual(read, ab) {
			t.Fatalf("%s is read as\n%s, %v", text(t, ab), text(t, read), err)
		}
	}
}

func TestExceeds(t *testing.T) {
	ceiling := profile(t, `{fs: {read: ["{project}"], write: ["{project}/out"]}, net: hosts, hosts: ["*.b"], exec: [git], broker: false, limits: {memory_mb: 64}}`)
	want := profile(t, `{fs: {read: ["{project}/x", "~/k"], write: ["{project}"]}, net: any, exec: any, broker: true, limits: {memory_mb: 65, processes: 9}}`)
	var keys []string
	for _, e := range want.Exceeds(ceiling) {
		keys = append(keys, e.Key)
	}
	if got := strings.Join(keys, " "); got != "broker exec fs.read fs.write limits.memory_mb net" {
		t.Error(got)
	}
	if more := profile(t, `{net: hosts, hosts: [x.b, x.c]}`).Exceeds(ceiling); len(more) != 1 || !slices.Equal(more[0].Wants.([]string), []string{"x.c"}) {
		t.Error(more)
	}
	if more := profile(t, "{}").Exceeds(ceiling); more != nil {
		t.Error("absent keys exceed a ceiling:", more)
	}
}

func TestFill(t *testing.T) {
	def := profile(t, `{fs: {read: ["{project}"], write: ["{project}", "{tmp}"]}, net: none, exec: none, limits: {memory_mb: 512, processes: 64}}`)
	for in, want := range map[string]string{
		"{}":                       text(t, def),
		`{fs: {read: ["~/x"]}}`:    `{"fs":{"read":["{project}","{tmp}","~/x"],"write":["{project}","{tmp}"]},"net":"none","exec":"none","limits":{"memory_mb":512,"processes":64}}`,
		`{fs: {write: ["{tmp}"]}}`: `{"fs":{"read":["{project}","{tmp}"],"write":["{tmp}"]},"net":"none","exec":"none","limits":{"memory_mb":512,"processes":64}}`,
		`{fs: {read: [], write: []}, exec: any, limits: {processes: 2}}`: `{"fs":{"read":[],"write":[]},"net":"none","exec":"any","limits":{"memory_mb":512,"processes":2}}`,
	} {
		if got := text(t, profile(t, in).Fill(def)); got != want {
			t.Errorf("Fill of %s:\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestReadProfileRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`{fs: {read: ["a"]}}`:                `fs.read[0]: "a" is not absolute and does not begin with {project}, {tmp}, {cache} or ~/`,
		`{fs: {read: [""]}}`:                 `is not absolute`,
		`{fs: {read: ["{project}/*.md"]}}`:   `has a wildcard`,
		`{fs: {write: ["{project}/../x"]}}`:  `has ".."`,
		`{fs: {write: ["{home}/x"]}}`:        `is not absolute`,
		`{fs: {write: ["{project}x"]}}`:      `is not absolute`,
		`{fs: {write: ["{project}/{tmp}"]}}`: `has braces`,
		`{fs: {write: ["~root/x"]}}`:         `is not absolute`,
		`{fs: {write: ['C:x']}}`:             `is not absolute`,
		`{fs: {write: ['C:\x\..\y']}}`:       `has ".."`,
		"{fs: {write: [\"/a\\tb\"]}}":        `has a control character`,
		`{fs: {reed: []}}`:                   `unknown field "fs.reed"`,
		`{net: on}`:                          `net must be none, loopback, hosts or any`,
		`{net: hosts}`:                       `hosts is missing`,
		`{net: none, hosts: [a.b]}`:          `hosts is not used with net: none`,
		`{hosts: ["a.*"]}`:                   `hosts[0]: "a.*"`,
		`{hosts: ["https://a.b"]}`:           `hosts[0]`,
		`{hosts: ["a.b:0"]}`:                 `the port is not a number`,
		`{hosts: ["a.b:99999"]}`:             `the port is not a number`,
		`{hosts: ["127.1"]}`:                 `hosts[0]`,
		`{hosts: ["0x7f000001"]}`:            `hosts[0]`,
		`{hosts: ["fe80::1%eth0"]}`:          `hosts[0]`,
		`{exec: all}`:                        `exec must be any, none or a list`,
		`{exec: 3}`:                          `exec must be any, none or a list of program names, not a number`,
		`{exec: [/bin/sh]}`:                  `exec[0]: "/bin/sh" is not the name of a program`,
		`{exec: [any]}`:                      `written without a list`,
		`{limits: {memory_mb: 0}}`:           `limits.memory_mb must be a whole number from 8 to 1048576`,
		`{limits: {memory: 5}}`:              `unknown field "limits.memory"`,
		`{broker: "yes"}`:                    `broker must be true or false`,
		`{sandbox: {}}`:                      `unknown field "sandbox"`,
	} {
		doc, findings := yamlx.Parse([]byte(in))
		if diag.Failed(findings) {
			t.Fatal(in, findings)
		}
		r := tree.NewReader(doc, diag.ValidationFailed)
		ReadProfile(r)
		if err := diag.FromFindings("reading", r.Findings()); err == nil || !strings.Contains(err.Error()+diag.WithPath(r.Findings(), "x")[0].Message, want) {
			t.Errorf("%s: %v, want %q", in, r.Findings(), want)
		}
	}
}

func TestReadProfileAccepts(t *testing.T) {
	for in, want := range map[string]string{
		`{fs: {read: ["{project}/", "/a/./b//c", "~", "{tmp}/x"]}}`:                            `{"fs":{"read":["/a/b/c","{project}","{tmp}/x","~"]}}`,
		`{fs: {write: ['C:\a\b']}}`:                                                            `{"fs":{"write":["C:/a/b"]}}`,
		`{hosts: ["API.GitHub.com:443", "*.a.b:8443", "::1", "[::1]:80", "1.2.3.4", "*:443"]}`: `{"hosts":["*.a.b:8443","*:443","::1","[::1]:80"]}`,
		`{exec: []}`:  `{"exec":"none"}`,
		`{exec: any}`: `{"exec":"any"}`,
	} {
		if got := text(t, profile(t, in)); got != want {
			t.Errorf("%s is read as %s, want %s", in, got, want)
		}
	}
}

func TestHostPermitted(t *testing.T) {
	list := []string{"api.github.com", "*.githubusercontent.com:443", "10.0.0.1:8080", "x.y:*"}
	for _, c := range []struct {
		host string
		port uint16
		want bool
	}{
		{"api.github.com", 443, true}, {"API.github.com.", 443, true}, {"api.github.com", 80, false}, {"github.com", 443, false},
		{"raw.githubusercontent.com", 443, true}, {"a.b.githubusercontent.com", 443, true}, {"githubusercontent.com", 443, false},
		{"evilgithubusercontent.com", 443, false}, {"10.0.0.1", 8080, true}, {"::ffff:10.0.0.1", 8080, true}, {"10.0.0.2", 8080, false},
		{"x.y", 25, true}, {"", 443, false}, {"x.y/z", 443, false}, {"*.y", 443, false},
	} {
		if got := HostPermitted(list, c.host, c.port); got != c.want {
			t.Errorf("HostPermitted(%q, %d) = %v", c.host, c.port, got)
		}
	}
	for host, want := range map[string]bool{"example.com": true, "1.1.1.1": true, "127.0.0.1": false, "169.254.169.254": false, "192.168.1.1": false, "::1": false, "100.64.0.1": false, "0.0.0.0": false} {
		if got := HostPermitted([]string{"*"}, host, 8443); got != want {
			t.Errorf("* and %s: %v", host, got)
		}
	}
}
