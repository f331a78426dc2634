package tmpl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Lint reports what Expand would refuse (errors) and what it would leave as it
// is although it looks like a template (warnings). Places count in s.
func Lint(s string, known []string) []diag.Finding {
	var fs []diag.Finding
	at := diag.Pos{Line: 1, Column: 1}
	for s != "" {
		t := cut(&s)
		if f, bad := judge(t, known); bad {
			f.Line, f.Column = at.Line, at.Column
			fs = append(fs, f)
		}
		at = after(at, t.raw)
	}
	return fs
}

// LintArgv is Lint for an argument vector, where an element may be a
// parameter. Places count in the element, whose number the message tells.
func LintArgv(args, known []string) []diag.Finding {
	var fs []diag.Finding
	for i, arg := range args {
		if _, ok := wholeParam(arg); ok {
			continue
		}
		for _, f := range Lint(arg, known) {
			f.Message = fmt.Sprintf("argument %d: %s", i+1, f.Message)
			fs = append(fs, f)
		}
	}
	return fs
}

func judge(t token, known []string) (diag.Finding, bool) {
	what := fmt.Sprintf("%q", clip(t.raw))
	switch t.kind {
	case broken:
		return diag.Errorf(diag.ConfigError, 0, 0, "%s: %s", what, t.why), true
	case param:
		f := diag.Errorf(diag.ConfigError, 0, 0, "%s: %s", what, whereParams)
		f.Fix = "make it an argument of its own, or read it from stdin"
		return f, true
	case name:
		if slices.Contains(known, t.name) {
			break
		}
		f := diag.Warnf(diag.ConfigError, 0, 0, "%s is not a known name and stays as it is", what)
		f.Fix = "known names: " + strings.Join(known, ", ")
		return f, true
	case lower:
		if !slices.Contains(known, t.name) {
			break
		}
		f := diag.Warnf(diag.ConfigError, 0, 0, "%s stays as it is: variables have upper-case names", what)
		f.Fix = "write {" + t.name + "}"
		return f, true
	}
	return diag.Finding{}, false
}

// after returns the place behind raw.
func after(at diag.Pos, raw string) diag.Pos {
	i := strings.LastIndexByte(raw, '\n')
	if i < 0 {
		return diag.Pos{Line: at.Line, Column: at.Column + len(raw)}
	}
	return diag.Pos{Line: at.Line + strings.Count(raw, "\n"), Column: len(raw) - i}
}
