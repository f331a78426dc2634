package exec

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/resolve"
)

// maxDotenv is the largest .env that is read, in bytes.
const maxDotenv = 64 << 10

// dotenvNames are the variables that an element takes from the project's .env. The
// file is not signed, and no list has every variable that makes some program load
// code, so signed items name what may be taken.
//
// Names are listed, because a list of forbidden names alone always lacks some (COMPILER_PATH,
// CARGO_HOME). A listed name that is forbidden stops the run.
type dotenvNames struct {
	named    []string // NAME, or PREFIX_*
	declared bool     // dotenv: true, the names in pass of the chain
}

// readDotenvNames decodes env_config.dotenv: true, false or a list. It returns nil if
// .env is not read.
func readDotenvNames(r *tree.Reader) *dotenvNames {
	switch v := r.Value("dotenv").(type) {
	case nil:
		return nil
	case bool:
		if v {
			return &dotenvNames{declared: true}
		}
		return nil
	case []any:
		return &dotenvNames{named: r.Texts("dotenv", checkDotenvName)}
	}
	r.Reject("dotenv", "must be true, false or a list of names")
	return nil
}

// checkDotenvName refuses a name that .env may not set, and a prefix without a word
// before "_*".
func checkDotenvName(name string) error {
	whole, prefix := strings.CutSuffix(name, "_*")
	if msg := badName(whole); msg != "" {
		return fmt.Errorf("%q: write NAME or PREFIX_*; %s", name, msg)
	}
	if prefix {
		whole += "_"
	}
	if proc.IsLoaderVar(whole) || choosesPrograms(whole) {
		return fmt.Errorf("%q: these variables choose what code programs load or where they look, so an unsigned file may not set them", name)
	}
	return nil
}

// among returns which variables of .env an element of a chain takes.
func (d *dotenvNames) among(chain []*envConfig) func(name string) bool {
	names := d.named
	if d.declared {
		for _, ec := range chain {
			names = append(names, ec.pass...)
		}
	}
	return func(name string) bool {
		return slices.ContainsFunc(names, func(want string) bool {
			prefix, open := strings.CutSuffix(want, "*")
			return name == want || open && len(name) > len(prefix) && strings.HasPrefix(name, prefix)
		})
	}
}

// dotenv adds the variables of the project's .env that takes names. The file is not
// signed: its variables override no others, and none may choose the code that a
// program loads. A missing file adds nothing.
func (e *Executor) dotenv(
	el *resolve.Item,
	takes func(string) bool,
	vars map[string]string,
) error {
	if e.p.Project == "" {
		return nil
	}
	b, _, err := openat.Read(e.p.Project, ".env", maxDotenv)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return diag.New(diag.CodeOf(err), "reading .env for %s: %w", el.Ref, err)
	}
	add, fs := parseDotenv(b, takes)
	err = diag.FromFindings("reading .env for "+el.Ref.String(), diag.WithPath(fs, ".env"))
	if err != nil {
		return err
	}
	for name, value := range add {
		if _, taken := vars[name]; !taken {
			vars[name] = value
		}
	}
	return nil
}

// parseDotenv parses NAME=VALUE lines. It ignores blank lines, lines that begin
// with "#" and a leading "export". A value may be in single or double quotes and
// is not expanded. A later line replaces an earlier one with the same name. Lines of
// variables that takes does not name are ignored.
func parseDotenv(b []byte, takes func(string) bool) (map[string]string, []diag.Finding) {
	out := map[string]string{}
	fs := []diag.Finding(nil)
	n := 0
	for line := range bytes.Lines(b) {
		n++
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' {
			continue
		}
		text = strings.TrimPrefix(text, "export ")
		name, _, ok := strings.Cut(text, "=")
		if ok && !takes(strings.TrimSpace(name)) {
			continue
		}
		name, value, msg := dotenvLine(text)
		if msg != "" {
			fs = append(fs, diag.Errorf(diag.ConfigError, n, 1, "%s", msg))
			continue
		}
		out[name] = value
	}
	return out, fs
}

func dotenvLine(text string) (name, value, msg string) {
	name, value, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	value = strings.TrimSpace(value)
	switch {
	case !ok:
		return "", "", "a line is NAME=VALUE"
	case proc.IsLoaderVar(name), choosesPrograms(name):
		return "", "", name + " chooses what code programs load or where they look, so an unsigned file may not set it"
	}
	if msg := badName(name); msg != "" {
		return "", "", "variable " + name + ": " + msg
	}
	if len(value) > 0 && (value[0] == '"' || value[0] == '\'') {
		if len(value) < 2 || value[len(value)-1] != value[0] {
			return "", "", "the quote of " + name + " is not closed on its line"
		}
		value = value[1 : len(value)-1]
	}
	if strings.IndexByte(value, 0) >= 0 {
		return "", "", "the value of " + name + " contains NUL"
	}
	return name, value, ""
}

// choosesPrograms reports whether a variable names a program, or the directory of
// settings that can name programs or libraries.
func choosesPrograms(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(programVars(), name) ||
		slices.ContainsFunc(programPrefixes(), func(prefix string) bool {
			return strings.HasPrefix(name, prefix)
		})
}

// programVars returns the variables that choosesPrograms reports.
func programVars() []string {
	return []string{
		"HOME", "TMPDIR", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "SYSTEMROOT", "COMSPEC", "PATHEXT",
		"EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "BROWSER", "SHELL", "SSH_ASKPASS", "SUDO_ASKPASS",
		"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "KUBECONFIG", "GNUPGHOME", "DOCKER_CONFIG", "CURL_HOME",
		"PHPRC", "PHP_INI_SCAN_DIR", "TCLLIBPATH", "GUILE_LOAD_PATH", "GTK_MODULES", "QT_PLUGIN_PATH", "MAKEFLAGS", "TAR_OPTIONS", "GOFLAGS", "RUSTC_WRAPPER",
		"CARGO_HOME", "CC", "CXX", "COMPILER_PATH", "JAVA_HOME", "JDK_HOME", "RUSTC", "RUSTUP_HOME",
	}
}

// programPrefixes returns the beginnings of variables that choosesPrograms
// reports.
func programPrefixes() []string {
	return []string{"XDG_", "OPENSSL_", "DOTNET_", "COR_PROFILER", "CORECLR_PROFILER", "R_PROFILE", "R_ENVIRON", "R_LIBS", "R_HOME", "ERL_", "ELIXIR_", "JULIA_", "NPM_CONFIG_", "NODE_REPL_", "KRB5_"}
}
