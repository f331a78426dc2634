package proc

import (
	"runtime"
	"slices"
	"testing"

	"github.com/ryeos/rye/diag"
)

// V43: only the allow-list of our environment reaches a program.
func TestV43Base(t *testing.T) {
	got := Base([]string{
		"PATH=/bin", "HOME=/h", "LANG=C", "LC_ALL=C", "LC_CTYPE=x=y", "TERM=xterm", "TMPDIR=/t", "TZ=UTC",
		"LD_PRELOAD=/evil.so", "PYTHONPATH=/evil", "NODE_OPTIONS=-r evil", "BASH_ENV=/evil", "DYLD_INSERT_LIBRARIES=x",
		"SECRET_KEY=1", "USER=u", "SSH_AUTH_SOCK=/s", "LCX=1", "PATHS=1", "PATH", "=", "",
	})
	want := []string{"PATH=/bin", "HOME=/h", "LANG=C", "LC_ALL=C", "LC_CTYPE=x=y", "TERM=xterm", "TMPDIR=/t", "TZ=UTC"}
	if !slices.Equal(got, want) {
		t.Errorf("Base = %q, want %q", got, want)
	}
}

// V43: what an unsigned .env may not set.
func TestV43LoaderVars(t *testing.T) {
	for _, name := range []string{
		"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "PYTHONPATH", "PYTHONSTARTUP",
		"PYTHONHOME", "PYTHONUSERBASE", "NODE_OPTIONS", "NODE_PATH", "BASH_ENV", "ENV", "PERL5LIB", "PERL5OPT", "PERLLIB", "RUBYOPT",
		"RUBYLIB", "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "GIT_DIR", "BASH_FUNC_ls%%", "SHELLOPTS", "PS4", "PATH", "JAVA_TOOL_OPTIONS",
		"GCONV_PATH", "GLIBC_TUNABLES", "IFS",
	} {
		if !IsLoaderVar(name) {
			t.Errorf("%s passes", name)
		}
	}
	for _, name := range []string{"", "API_KEY", "LD", "PYTHONUNBUFFERED", "MY_LD_PRELOAD", "HOME", "ENVIRONMENT", "GITHUB_TOKEN", "NODE_ENV", "DATABASE_URL"} {
		if IsLoaderVar(name) {
			t.Errorf("%s is refused", name)
		}
	}
	if got := IsLoaderVar("ld_preload"); got != (runtime.GOOS == "windows") {
		t.Errorf("ld_preload: %v", got)
	}
}

func TestMerge(t *testing.T) {
	got := Merge([]string{"B=1", "A=1", "A=2"}, nil, []string{"A=3", "C=", "", "=x", "novalue"}, Environ(map[string]string{"Z": "z=z", "B": "2"}))
	if want := []string{"A=3", "B=2", "C=", "Z=z=z"}; !slices.Equal(got, want) {
		t.Errorf("Merge = %q, want %q", got, want)
	}
	if got := Merge(); got == nil {
		t.Error("Merge() is nil, which os would take for our own environment")
	}
}

func TestLookup(t *testing.T) {
	env := []string{"A=1", "A=2", "B=", "X"}
	for name, want := range map[string]string{"A": "2", "B": ""} {
		if v, ok := Lookup(env, name); !ok || v != want {
			t.Errorf("Lookup(%s) = %q, %v", name, v, ok)
		}
	}
	for _, name := range []string{"X", "", "C"} {
		if v, ok := Lookup(env, name); ok {
			t.Errorf("Lookup(%q) = %q", name, v)
		}
	}
}

func TestCheckBatchArgs(t *testing.T) {
	for _, arg := range []string{"a&b", "%PATH%", `"`, "a|b", "x\ny", "^", "!x!"} {
		if err := checkBatchArgs(`C:\x\npm.CMD`, []string{"npm", "ok", arg}); diag.CodeOf(err) != diag.ExecutionFailed {
			t.Errorf("%q passes", arg)
		}
		if err := checkBatchArgs(`C:\x\npm.exe`, []string{"npm", arg}); err != nil {
			t.Error(err)
		}
	}
	if err := checkBatchArgs("x.bat", []string{"x", "plain", "--a=b c"}); err != nil {
		t.Error(err)
	}
}
