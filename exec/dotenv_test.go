package exec

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/proc"
)

func TestParseDotenv(t *testing.T) {
	good := map[string]map[string]string{
		"":                           {},
		"# A=1\n\n  \n":              {},
		"A=1":                        {"A": "1"},
		"A = 1 \r\nexport B=x=y":     {"A": "1", "B": "x=y"},
		"A='x # y'\nB=\"\"\nC=a b":   {"A": "x # y", "B": "", "C": "a b"},
		"A=1\nA=2":                   {"A": "2"},
		"A=${HOME}":                  {"A": "${HOME}"},
		"PYTHONUTF8=1\nLC_ALL=C\nB=": {"PYTHONUTF8": "1", "LC_ALL": "C", "B": ""},
	}
	for text, want := range good {
		if got, fs := parseDotenv([]byte(text)); len(fs) > 0 || !maps.Equal(got, want) {
			t.Errorf("%q gives %q, %v; want %q", text, got, fs, want)
		}
	}
	for _, line := range []string{"A", "=1", "1A=1", "A B=1", "A='x", "A=\"", "PATH=/x", "PYTHONPATH=x", "LD_PRELOAD=x", "BASH_ENV=x",
		"NODE_OPTIONS=--require ./x", "GIT_SSH_COMMAND=x", "HOME=.", "XDG_CONFIG_HOME=.", "RYE_SELF=x", "RYE_PROJECT=x", "A=\x00",
		"AWS_CONFIG_FILE=x", "KUBECONFIG=x", "OPENSSL_CONF=x", "DOTNET_STARTUP_HOOKS=x", "npm_config_script_shell=x", "SSH_ASKPASS=x", "R_PROFILE_USER=x", "Ä=1"} {
		got, fs := parseDotenv([]byte("OK=1\n" + line + "\nALSO=2"))
		if len(fs) != 1 || fs[0].Line != 2 || len(got) != 2 {
			t.Errorf("%q gives %q and %v, want one finding in line 2", line, got, fs)
		}
	}
}

func FuzzParseDotenv(f *testing.F) {
	for _, s := range []string{"A=1\nB='x'\n", "export A=\"\"", "LD_PRELOAD=x", "=\n#\n'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := parseDotenv([]byte(text))
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if proc.IsLoaderVar(name) || badName(name) != "" || strings.ContainsAny(got[name], "\x00\n") {
				t.Errorf("%q sets %q to %q", text, name, got[name])
			}
		}
	})
}
