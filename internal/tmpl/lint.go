package tmpl

import (
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/suggest"
)

// Names returns the {name} templates of a command, sorted.
func Names() []string {
	return []string{
		"anchor_path", "applet", "params_json", "project_path", "runtime_lib", "system_space", "tool_dir", "tool_parent", "tool_path", "user_space",
	}
}

// Lint returns errors for text that Expand refuses, and warnings for text that
// looks like a template and is not one. The findings have no position.
func Lint(s string) []diag.Finding {
	return lint(s, lintName)
}

// LintArg is Lint for an element of an argument vector, which may be a parameter.
func LintArg(arg string) []diag.Finding {
	if _, kind := wholeParam(arg); kind != literal {
		return nil
	}
	return Lint(arg)
}

// LintInput is Lint for the text of the standard input, which may be one parameter.
func LintInput(s string) []diag.Finding {
	if _, kind := wholeParam(s); kind == param {
		return nil
	}
	return Lint(s)
}

// LintEnv is Lint for the value of an environment variable, in which Expand fills
// in variables only.
func LintEnv(s string) []diag.Finding {
	return lint(s, func(t token) (diag.Finding, bool) {
		if t.kind != name || !slices.Contains(Names(), t.name) {
			return diag.Finding{}, false
		}
		return diag.Warnf(diag.ConfigError, 0, 0, "%q is not a template here: the value of a variable may use ${VAR} only", clip(t.raw)), true
	})
}

// lint returns the findings of s. other decides on {name} and ${name}.
func lint(s string, other func(token) (diag.Finding, bool)) []diag.Finding {
	var fs []diag.Finding
	for s != "" {
		switch t := cut(&s); t.kind {
		case broken:
			fs = append(fs, diag.Errorf(
				diag.ConfigError,
				0,
				0,
				"%q: %s",
				clip(t.raw),
				t.why,
			))
		case param, params:
			fs = append(fs, diag.Errorf(
				diag.ConfigError,
				0,
				0,
				"%q: %s",
				clip(t.raw),
				whereParams,
			))
		case name, lower:
			if f, bad := other(t); bad {
				fs = append(fs, f)
			}
		}
	}
	return fs
}

func lintName(t token) (diag.Finding, bool) {
	known := slices.Contains(Names(), t.name)
	switch {
	case t.kind == name && !known:
		// A program can use braces itself, as awk does: only a warning.
		f := diag.Warnf(diag.ConfigError, 0, 0, "%q is not a template and stays as it is; a parameter is {param:NAME} as a whole argument", clip(t.raw))
		if near := suggest.Nearest(t.name, Names()); near != "" {
			return f.WithReason("nearest", "nearest", "{"+near+"}"), true
		}
		return f, true
	case t.kind == lower && known:
		return diag.Warnf(diag.ConfigError, 0, 0, "%q is not a template and stays as it is: variables have upper-case names", clip(t.raw)).
			WithReason("nearest", "nearest", "{"+t.name+"}"), true
	}
	return diag.Finding{}, false
}

// clip shortens a template for a message.
func clip(s string) string {
	return cuttext.Short(s, 40)
}
