package exec

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/links"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/policy"
)

// A program that may write a directory in which the read-only project is, or one in it, reads it.
func TestReadOnlyGrants(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home/work/app/sub", "home/other"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	home := filepath.Join(base, "home")
	profile := policy.Profile{
		Read: &[]string{}, Write: &[]string{"{project}", "{project}/sub", "~/work", "~/work/app/sub", "~/other"}, Sockets: &[]string{"{project}/sub", "~/other"},
	}
	for readOnly, want := range map[bool][]string{false: {"work/app", "work/app/sub", "work", "work/app/sub", "other"}, true: {"other"}} {
		loc := locations{seen: links.Seen{}, project: filepath.Join(home, "work", "app"), home: home, readOnly: readOnly}
		g := loc.grants(profile)
		for i, path := range want {
			want[i] = filepath.Join(home, filepath.FromSlash(path))
		}
		if !slices.Equal(g.write, want) {
			t.Errorf("read-only %t: writes %v, want %v", readOnly, g.write, want)
		}
		if readOnly && (len(g.read) != 4 || !slices.Equal(g.sockets, want)) {
			t.Errorf("reads %v, connects to %v", g.read, g.sockets)
		}
	}
}

func profileJSON(t *testing.T, p policy.Profile) string {
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestConfinement(t *testing.T) {
	const limits = `,"limits":{"cpu_seconds":30,"memory_mb":512,"processes":64,"open_files":256,"file_size_mb":256,"disk_mb":1024,"files":65536}}`
	for name, c := range map[string]struct {
		keys string
		held *policy.Profile
		want string
	}{
		"nothing stated": {want: `{"fs":{"read":["{project}","{tmp}"],"write":["{project}","{tmp}"]},"net":"none","exec":"any","broker":false` + limits},
		"T0":             {keys: "risk: T0", want: `{"fs":{"read":["{project}"],"write":[]},"net":"none","exec":"none","broker":false` + limits},
		"T2":             {keys: "risk: write", want: `{"fs":{"read":["{project}","{tmp}"],"write":["{project}","{tmp}"]},"net":"none","exec":"none","broker":false` + limits},
		"read only":      {keys: "sandbox: {fs: {read: ['{project}'], write: []}}", want: `{"fs":{"read":["{project}"],"write":[]},"net":"none","exec":"any","broker":false` + limits},
		"network":        {keys: "sandbox: {net: hosts, hosts: [a.example]}", want: `{"fs":{"read":["{project}","{tmp}"],"write":["{project}","{tmp}"]},"net":"hosts","hosts":["a.example"],"exec":"any","broker":false` + limits},
		"a caller narrows": {keys: "sandbox: {net: any}", held: &policy.Profile{Net: policy.NetHosts, Hosts: []string{"b.example"}, Write: &[]string{"{project}/out"}},
			want: `{"fs":{"read":["{project}","{tmp}"],"write":["{project}/out"]},"net":"hosts","hosts":["b.example"],"exec":"any","broker":false` + limits},
		"a caller adds nothing": {held: &policy.Profile{Net: policy.NetAny}, want: `{"fs":{"read":["{project}","{tmp}"],"write":["{project}","{tmp}"]},"net":"none","exec":"any","broker":false` + limits},
		"one limit":             {keys: "sandbox: {limits: {cpu_seconds: 5}}", want: `{"fs":{"read":["{project}","{tmp}"],"write":["{project}","{tmp}"]},"net":"none","exec":"any","broker":false` + strings.Replace(limits, "30", "5", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			h := testkit.New(t)
			held := policy.Person()
			if c.held != nil {
				held = held.With(policy.Grant{Caps: policy.Set{"rye.*"}, Profile: c.held, Source: "test"})
			}
			h.Put(h.Project, "tools/t.yaml", direct("config: {command: prog}", c.keys))
			e := executor(h, nil)
			chain, err := e.Chain(t.Context(), tool("t"))
			if err != nil {
				t.Fatal(err)
			}
			p, err := e.Plan(t.Context(), chain, Call{Held: held}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := profileJSON(t, p.Sandbox.Profile); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestConfinementRefused(t *testing.T) {
	for keys, want := range map[string]string{
		"risk: T2\nsandbox: {net: any}":                   "sandbox.net: any, where the class permits hosts",
		"risk: T2\nsandbox: {exec: any}":                  "sandbox.exec: any, where the class permits a list of programs",
		"risk: T1\nsandbox: {fs: {write: ['{project}']}}": "sandbox.fs.write: {project}, where the class permits {cache}, {tmp}",
		"sandbox: {fs: {write: [/srv]}}":                  "sandbox.fs.write: /srv, where the class permits",
	} {
		h := testkit.New(t)
		p, err := plan(h, executor(h, nil), direct("config: {command: prog}", keys), nil)
		if diag.CodeOf(err) != diag.PolicyDenied || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q\n%+v", keys, err, want, p)
		}
	}
	h := testkit.New(t)
	p, err := plan(h, executor(h, nil), direct("config: {command: prog}", "risk: critical\nsandbox: {fs: {write: [/srv]}}"), nil)
	if err != nil || !p.Sandbox.Unconfined {
		t.Errorf("T4: %v", err)
	}
}

// TestMergeNeverWidens: with a ceiling more, no key permits more, and the result is
// within every ceiling.
func TestMergeNeverWidens(t *testing.T) {
	if testing.Short() {
		t.Skip("merges thousands of random policies")
	}
	r := rand.New(rand.NewPCG(13, 1))
	pick := func(all ...string) *[]string {
		if r.IntN(3) == 0 {
			return nil
		}
		out := slices.DeleteFunc(all, func(string) bool { return r.IntN(2) == 0 })
		return &out
	}
	random := func() policy.Profile {
		p := policy.Profile{
			Read: pick("{project}", "{project}/a", "{tmp}", "~/x", "/opt/y"), Write: pick("{project}", "{project}/a/b", "{tmp}", "{cache}"),
			Net: []string{"", policy.NetNone, policy.NetLoopback, policy.NetHosts, policy.NetAny}[r.IntN(5)], Exec: pick("git", "gh"),
		}
		if p.Net == policy.NetHosts {
			p.Hosts = []string{"a.example", "*.b.example"}[:1+r.IntN(2)]
		}
		if r.IntN(4) == 0 {
			p.Exec = &[]string{policy.ExecAny}
		}
		p.Limits.CPUSeconds = int64(r.IntN(3) * 20)
		return p.Normal()
	}
	for i := range 20_000 {
		stated, one, two, def := random(), random(), random(), random()
		both := merge(stated, policy.Tighten(one, two), def)
		for name, ceiling := range map[string]policy.Profile{"first": one, "second": two, "one ceiling less": merge(stated, one, def)} {
			if more := both.Exceeds(ceiling); len(more) > 0 {
				t.Fatalf("case %d, %s: %+v\nstated %s\nresult %s", i, name, more, profileJSON(t, stated), profileJSON(t, both))
			}
		}
		if more := both.Exceeds(policy.Profile{Net: stated.Net, Exec: stated.Exec, Limits: stated.Limits}); len(more) > 0 {
			t.Fatalf("case %d: more than stated: %+v", i, more)
		}
	}
}

func TestGrants(t *testing.T) {
	base := real(t.TempDir())
	dirs := func(names ...string) {
		for _, name := range names {
			if err := os.MkdirAll(filepath.Join(base, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	dirs("project/in", "project/keys", "home/.ssh", "home/.config/gh", "home/.config/rye", "other")
	link := func(to, at string) {
		if err := os.Symlink(filepath.Join(base, to), filepath.Join(base, at)); err != nil {
			t.Fatal(err)
		}
	}
	link("home/.ssh", "project/out")
	link("home/.ssh", "other/ssh")
	link("project/in", "project/inner")
	at := func(names ...string) []string {
		var out []string
		for _, name := range names {
			out = append(out, filepath.Join(base, name))
		}
		return out
	}
	loc := locations{seen: links.Seen{}, project: at("project")[0], home: at("home")[0], cache: at("cache")[0], private: []policy.Private{
		{Path: at("home/.ssh")[0], What: "ssh"}, {Path: at("home/.config/rye")[0], What: "rye's settings", Readable: true},
		{Path: at("home")[0], What: "your home directory"}, {Path: at("project/keys")[0], What: "rye's keys"},
	}}
	for path, want := range map[string]struct {
		read, write string // relative to base, or what a note contains
	}{
		"{project}":        {"project", "project"},
		"{project}/in":     {"project/in", "project/in"},
		"{project}/inner":  {"project/in", "project/in"},
		"{project}/out":    {"!leads out of the project", "!leads out of the project"},
		"{project}/none":   {"!does not exist", "!does not exist"},
		"{project}/keys":   {"!no program gets rye's keys", "!no program gets rye's keys"},
		"~/.config/gh":     {"home/.config/gh", "home/.config/gh"},
		"~/.config/rye":    {"home/.config/rye", "!no program gets rye's settings"},
		"~/.config":        {"home/.config", "home/.config"},
		"~/.ssh":           {"!no program gets ssh", "!no program gets ssh"},
		"~":                {"!contains your home directory", "!contains your home directory"},
		base:               {"!contains your home directory", "!contains your home directory"},
		at("other/ssh")[0]: {"!no program gets ssh", "!no program gets ssh"},
		at("other")[0]:     {"other", "other"},
	} {
		for write, want := range map[bool]string{false: want.read, true: want.write} {
			list := &[]string{path}
			p := policy.Profile{Read: list}
			if write {
				p = policy.Profile{Write: list}
			}
			g := loc.grants(p)
			got := slices.Concat(g.read, g.write)
			if note, refused := strings.CutPrefix(want, "!"); refused {
				if len(got) > 0 || len(g.notes) != 1 || !strings.Contains(g.notes[0], note) {
					t.Errorf("%s (write %t): %v %v, want the note %q", path, write, got, g.notes, note)
				}
			} else if !slices.Equal(got, at(want)) || len(g.notes) > 0 {
				t.Errorf("%s (write %t): %v %v, want %s", path, write, got, g.notes, want)
			}
		}
	}
	g := loc.grants(policy.Profile{Read: &[]string{"{project}", "{tmp}", "{cache}"}})
	if !g.tmp || g.cache != loc.cache || !slices.Equal(g.hidden, at("project/keys")) {
		t.Errorf("%+v", g)
	}
	loc.home = ""
	if g := loc.grants(policy.Profile{Read: &[]string{"~/x"}}); len(g.read) > 0 {
		t.Errorf("without a home: %v", g.read)
	}
}

func TestPrograms(t *testing.T) {
	base := real(t.TempDir())
	write := func(name, text string) string {
		at := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return at
	}
	real3 := write("opt/py/bin/python3.9", "ELF")
	shim := write("opt/py/shims/python", "#!"+real3+" -x\n")
	venv := filepath.Join(base, "project/.venv/bin/python")
	write("project/.venv/bin/pip", "")
	if err := os.Symlink(real3, venv); err != nil {
		t.Fatal(err)
	}
	if got := hops(venv); !slices.Equal(got, []string{venv, real3}) {
		t.Errorf("%q", got)
	}
	if got := hops(shim); !slices.Equal(got, []string{shim, real3}) {
		t.Errorf("%q", got)
	}
	loc := locations{seen: links.Seen{}, project: filepath.Join(base, "project"), home: filepath.Join(base, "home")}
	local := write("home/bin/tool", "")
	write("home/lib/x", "")
	for program, want := range map[string][]string{
		venv:                              {"project/.venv"},
		real3:                             {"opt/py"},
		local:                             {"home/bin", "home/lib"},
		filepath.Join(base, "other/tool"): {"other/tool"},
	} {
		for i, name := range want {
			want[i] = filepath.Join(base, name)
		}
		if got := loc.prefix(program); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
	var g grants
	g.programs([]string{real3}, []string{fmt.Sprintf("PATH=%s", filepath.Dir(local))}, policy.Profile{Exec: &[]string{"none-such", "tool"}}, loc)
	if g.execAny || !slices.Contains(g.exec, local) || len(g.notes) != 1 || !strings.Contains(g.notes[0], "none-such: it is not installed") {
		t.Errorf("%+v", g)
	}
}
