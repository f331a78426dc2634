package cli

import (
	"strings"

	"github.com/ryeos/rye/diag"
)

// Finding prints one finding: position, code and message, and its fix below.
func (u *UI) Finding(f diag.Finding) {
	style := Red
	if f.Severity == diag.SeverityWarning {
		style = Yellow
	}
	place := f.Location()
	if place != "" {
		place += ": "
	}
	u.Out("%s%s: %s", place, u.Style(style, string(f.Code)), f.Message)
}

// hints prints each hint of the errors once. A hint for one position names it.
func (u *UI) hints(fs []diag.Finding) {
	var order []string
	places := map[string][]string{}
	for _, f := range fs {
		if f.Severity != diag.SeverityError {
			continue
		}
		fix := fixOf(f)
		if _, known := places[fix]; !known {
			order = append(order, fix)
		}
		places[fix] = append(places[fix], f.Path)
	}
	for _, fix := range order {
		if at := places[fix]; len(at) == 1 && at[0] != "" {
			fix = named(fix, at[0])
		}
		if fix != "" {
			u.PrintErr("%s %s", u.ErrStyle(Cyan, "rye: hint:"), fix)
		}
	}
}

// named puts a path in the place of the words REF and PATH of a hint.
func named(hint, path string) string {
	words := strings.Split(hint, " ")
	for i, w := range words {
		bare := strings.TrimRight(w, "`;,.")
		if bare == "REF" || bare == "PATH" {
			words[i] = path + w[len(bare):]
		}
	}
	return strings.Join(words, " ")
}

// Report ends a command that shows findings. It prints data or the human form, and
// the hints if err is not nil.
func (u *UI) Report(err error, data any, fs []diag.Finding, human func()) error {
	FillFixes(fs)
	if err == nil {
		return u.Show(data, human)
	}
	if !u.AsJSON {
		human()
		u.hints(fs)
	}
	return Shown(err, data)
}
