package proc

import (
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Base returns the entries of environ (KEY=VALUE) that every program receives: PATH,
// HOME, LANG, LC_*, TERM, TMPDIR and TZ; on Windows also SystemRoot, SystemDrive, windir,
// ComSpec, PATHEXT, USERPROFILE, TEMP and TMP.
func Base(environ []string) []string {
	allowed := baseNames()
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, ok := strings.Cut(kv, "=")
		name = foldName(name)
		return !ok || !slices.Contains(allowed, name) && !strings.HasPrefix(name, "LC_")
	})
}

// Merge joins layers of KEY=VALUE, sorted by name. A later layer overrides an earlier
// one. Entries without a name are dropped.
func Merge(layers ...[]string) []string {
	last := map[string]string{}
	for _, layer := range layers {
		for _, kv := range layer {
			if name, ok := nameOf(kv); ok {
				last[foldName(name)] = kv
			}
		}
	}
	out := make([]string, 0, len(last))
	for _, kv := range last {
		out = append(out, kv)
	}
	slices.Sort(out)
	return out
}

// Environ returns a map as KEY=VALUE, sorted.
func Environ(vars map[string]string) []string {
	out := make([]string, 0, len(vars))
	for k, v := range vars {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// Lookup returns the value that a program with the environment env sees.
func Lookup(env []string, name string) (string, bool) {
	name = foldName(name)
	for _, kv := range slices.Backward(env) {
		if n, ok := nameOf(kv); ok && foldName(n) == name {
			return kv[len(n)+1:], true
		}
	}
	return "", false
}

// IsLoaderVar reports whether a variable changes the code that a program loads or
// runs. An unsigned file such as .env may not set it. The variables are:
//   - of the dynamic loader: LD_*, DYLD_*, GCONV_PATH, GLIBC_TUNABLES
//   - code paths and startup files of interpreters: PYTHON*, PERL*, RUBY*,
//     NODE_OPTIONS, NODE_PATH, LUA_*, the options of the JVM, CLASSPATH, GEM_*,
//     BUNDLE_*
//   - of shells: BASH_ENV, ENV, BASH_FUNC_*, SHELLOPTS, BASHOPTS, PROMPT_COMMAND,
//     PS4, IFS, ZDOTDIR
//   - GIT_*, which name programs, and PATH
//   - of Windows: PATHEXT, COMSPEC, SYSTEMROOT, WINDIR, PSMODULEPATH
func IsLoaderVar(name string) bool {
	name = foldName(name)
	switch name {
	case "GCONV_PATH", "GLIBC_TUNABLES", "NODE_OPTIONS", "NODE_PATH", "CLASSPATH",
		"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS",
		"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "PS4", "IFS", "ZDOTDIR", "PATH",
		"PATHEXT", "COMSPEC", "SYSTEMROOT", "WINDIR", "PSMODULEPATH":
		return true
	}
	for _, prefix := range []string{"LD_", "DYLD_", "PYTHON", "PERL", "RUBY", "LUA_", "GEM_", "BUNDLE_", "BASH_FUNC_", "GIT_"} {
		if strings.HasPrefix(name, prefix) && !harmless(name) {
			return true
		}
	}
	return false
}

// harmless reports whether a setting of an interpreter loads no code. Tools set
// these often.
func harmless(name string) bool {
	switch name {
	case "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUTF8", "PERL_UNICODE":
		return true
	}
	return false
}

// nameOf returns the name of KEY=VALUE. Windows keeps entries such as "=C:=C:\x".
func nameOf(kv string) (string, bool) {
	if kv == "" {
		return "", false
	}
	i := strings.IndexByte(kv[1:], '=') + 1
	return kv[:i], i > 0
}

// checked returns env with one entry per name.
func checked(env []string) ([]string, error) {
	for _, kv := range env {
		name, ok := nameOf(kv)
		if !ok {
			return nil, diag.New(diag.ExecutionFailed, "preparing environment: an entry has no name")
		}
		if strings.IndexByte(kv, 0) >= 0 { // the value may be a secret
			return nil, diag.New(diag.ExecutionFailed, "preparing environment: variable %q contains NUL", name)
		}
	}
	return Merge(env), nil
}
