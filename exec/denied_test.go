package exec

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/policy"
)

func TestDenials(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing confines a program there, so it has no denials")
	}
	base := real(t.TempDir())
	home := filepath.Join(base, "home")
	for _, dir := range []string{"project/out", "home/.config/gh", "bin"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	gh := filepath.Join(base, "bin/gh")
	for file, mode := range map[string]os.FileMode{gh: 0o755, filepath.Join(base, "project/run.sh"): 0o755, filepath.Join(home, ".config/gh/hosts"): 0o644} {
		if err := os.WriteFile(file, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	project := filepath.Join(base, "project")
	c := &Confinement{
		Profile: policy.Profile{Net: policy.NetNone},
		grants:  grants{project: project, home: home, read: []string{project, filepath.Join(base, "bin")}, write: []string{project + "/out"}, exec: []string{filepath.Join(base, "project/run.sh")}},
	}
	for line, want := range map[string]denial{
		"curl: (6) Could not resolve host: api.example.com":                                      {"net", "api.example.com"},
		"Error: getaddrinfo ENOTFOUND registry.npmjs.org":                                        {"net", "registry.npmjs.org"},
		"urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>": {"net", ""},
		"dial tcp: lookup proxy.golang.org: no such host":                                        {"net", "proxy.golang.org"},
		"t.sh: line 2: " + project + "/new.txt: Read-only file system":                           {"fs.write", "{project}"},
		"t.sh: line 2: new.txt: Read-only file system":                                           {"fs.write", "{project}"},
		"OSError: [Errno 30] Read-only file system: 'sub/new.txt'":                               {"fs.write", "{project}/sub"},
		"Error: EROFS: read-only file system, open '" + project + "/a/b.txt'":                    {"fs.write", "{project}/a"},
		"cat: " + home + "/.config/gh/hosts: No such file or directory":                          {"fs.read", "~/.config/gh/hosts"},
		"PermissionError: [Errno 13] Permission denied: '" + home + "/.config/gh/hosts'":         {"fs.read", "~/.config/gh/hosts"},
		project + "/run.sh: " + gh + ": bad interpreter: Permission denied":                      {"exec", "gh"},
		"t.sh: line 2: " + gh + ": Permission denied":                                            {"exec", "gh"},
		"cat: " + home + "/none: No such file or directory":                                      {},
		"everything is fine": {},
		"t.sh: " + project + "/out/x: Read-only file system":                                          {},
		"FileNotFoundError: [Errno 2] No such file or directory: '" + project + "/missing/file.json'": {},
		"t.sh: line 2: out/.envrc: Read-only file system":                                             {"protected", "{project}/out/.envrc"},
		"PermissionError: [Errno 13] Permission denied: 'out/.envrc'":                                 {"protected", "{project}/out/.envrc"},
		"touch: cannot touch 'new.txt': Permission denied":                                            {"fs.write", "{project}"},
		"t.sh: line 2: out/new.txt: Permission denied":                                                {},
	} {
		got := c.denials([]byte(line+"\n"), nil)
		switch {
		case want.Key == "" && len(got) > 0:
			t.Errorf("%s: %v", line, got)
		case want.Key != "" && (len(got) == 0 || got[0] != want):
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
	split := &Sandbox{Missing: []string{sandbox.MissingEntries}}
	if got := c.denials([]byte("t.sh: line 2: out/new.txt: Permission denied\n"), split); len(got) != 1 || got[0] != (denial{"fs.create", "{project}/out"}) {
		t.Errorf("a new entry: %v", got)
	}
	if got := c.denials([]byte("t.sh: line 2: out/none/new.txt: Permission denied\n"), split); len(got) != 0 {
		t.Errorf("below a directory that does not exist: %v", got)
	}
	c.Profile.Net = policy.NetHosts
	got := c.denials(nil, &Sandbox{Connections: []sandbox.Connection{{Host: "a.example", Allowed: true}, {Host: "b.example"}}})
	if len(got) != 1 || got[0] != (denial{"hosts", "b.example"}) {
		t.Errorf("%v", got)
	}
	if got := (&Confinement{Unconfined: true}).denials([]byte("Could not resolve host: a.example"), nil); got != nil {
		t.Errorf("without a sandbox: %v", got)
	}
}
