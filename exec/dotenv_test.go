package exec

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/proc"
)

// every takes all variables, so that the second check is tested by itself.
func every(string) bool { return true }

func TestDotenvNames(t *testing.T) {
	chain := []*envConfig{{pass: []string{"SERVICE_KEY"}}, {}}
	for _, c := range []struct {
		names dotenvNames
		takes string
	}{
		{dotenvNames{declared: true}, "SERVICE_KEY"},
		{dotenvNames{named: []string{"TOKEN"}}, "TOKEN"},
		{dotenvNames{named: []string{"APP_*"}}, "APP_KEY"},
		{dotenvNames{named: []string{}}, ""},
	} {
		takes := c.names.among(chain)
		var got []string
		for _, name := range []string{"SERVICE_KEY", "service_key", "TOKEN", "TOKEN2", "APP_KEY", "APP_", "APP", "XAPP_KEY", "CC", ""} {
			if takes(name) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != c.takes {
			t.Errorf("%+v takes %q, want %q", c.names, got, c.takes)
		}
	}
	for _, bad := range []string{"", "*", "_*", "A*", "A_*B", "PATH", "LD_*", "GIT_*", "RYE_SELF", "CC", "XDG_*", "NPM_CONFIG_*", "Ä", "1A"} {
		if err := checkDotenvName(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	for _, good := range []string{"TOKEN", "APP_*", "MY_APP_*", "lower"} {
		if err := checkDotenvName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

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
		if got, fs := parseDotenv([]byte(text), every); len(fs) > 0 || !maps.Equal(got, want) {
			t.Errorf("%q gives %q, %v; want %q", text, got, fs, want)
		}
	}
	for _, line := range []string{"A", "=1", "1A=1", "A B=1", "A='x", "A=\"", "PATH=/x", "PYTHONPATH=x", "LD_PRELOAD=x", "BASH_ENV=x",
		"NODE_OPTIONS=--require ./x", "GIT_SSH_COMMAND=x", "HOME=.", "XDG_CONFIG_HOME=.", "RYE_SELF=x", "RYE_PROJECT=x", "A=\x00",
		"AWS_CONFIG_FILE=x", "KUBECONFIG=x", "OPENSSL_CONF=x", "DOTNET_STARTUP_HOOKS=x", "npm_config_script_shell=x", "SSH_ASKPASS=x", "R_PROFILE_USER=x", "Ä=1"} {
		got, fs := parseDotenv([]byte("OK=1\n"+line+"\nALSO=2"), every)
		if len(fs) != 1 || fs[0].Line != 2 || len(got) != 2 {
			t.Errorf("%q gives %q and %v, want one finding in line 2", line, got, fs)
		}
	}
}

// The names are written out here: a name that is removed from the table by
// mistake must fail.
func TestDotenvSetsNoProgram(t *testing.T) {
	vars := strings.Fields(`
		HOME TMPDIR TEMP TMP USERPROFILE APPDATA LOCALAPPDATA PROGRAMDATA SYSTEMROOT COMSPEC PATHEXT
		EDITOR VISUAL PAGER MANPAGER LESSOPEN LESSCLOSE BROWSER SHELL SSH_ASKPASS SUDO_ASKPASS
		AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE KUBECONFIG GNUPGHOME DOCKER_CONFIG CURL_HOME
		PHPRC PHP_INI_SCAN_DIR TCLLIBPATH GUILE_LOAD_PATH GTK_MODULES QT_PLUGIN_PATH MAKEFLAGS TAR_OPTIONS GOFLAGS RUSTC_WRAPPER
		CARGO_HOME CC CXX COMPILER_PATH JAVA_HOME JDK_HOME RUSTC RUSTUP_HOME`)
	prefixes := strings.Fields(`
		XDG_ OPENSSL_ DOTNET_ COR_PROFILER CORECLR_PROFILER R_PROFILE R_ENVIRON R_LIBS R_HOME ERL_ ELIXIR_ JULIA_
		NPM_CONFIG_ NODE_REPL_ KRB5_`)
	names := slices.Clone(vars)
	for _, prefix := range prefixes {
		names = append(names, prefix, prefix+"X")
	}
	for _, name := range names {
		for _, spelling := range []string{name, strings.ToLower(name)} {
			if got, fs := parseDotenv([]byte(spelling+"=x"), every); len(got) != 0 || len(fs) != 1 {
				t.Errorf("%s is set: %v", spelling, got)
			}
		}
	}
	if !slices.Equal(programVars(), vars) || !slices.Equal(programPrefixes(), prefixes) {
		t.Error("the table has other names than this test")
	}
}

func FuzzParseDotenv(f *testing.F) {
	for _, s := range []string{"A=1\nB='x'\n", "export A=\"\"", "LD_PRELOAD=x", "=\n#\n'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := parseDotenv([]byte(text), every)
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if proc.IsLoaderVar(name) || badName(name) != "" || strings.ContainsAny(got[name], "\x00\n") {
				t.Errorf("%q sets %q to %q", text, name, got[name])
			}
		}
	})
}
