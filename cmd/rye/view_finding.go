package main

import (
	"github.com/ryeos/rye/diag"
)

// finding prints one finding: place, code, message, and below it what to do.
func (u *ui) finding(f diag.Finding) {
	style := red
	if f.Severity == diag.SeverityWarning {
		style = yellow
	}
	place := f.Place()
	if place != "" {
		place += ": "
	}
	u.Out("%s%s: %s", place, u.Style(style, string(f.Code)), f.Message)
}

// hints prints, once for each, what to do about the findings.
func (u *ui) hints(fs []diag.Finding) {
	seen := map[string]bool{}
	for _, f := range fs {
		fix := f.Fix
		if row, ok := diag.Lookup(f.Code); fix == "" && ok {
			fix = row.Hint
		}
		if fix != "" && !seen[fix] && f.Severity == diag.SeverityError {
			seen[fix] = true
			u.tell("%s %s", u.errStyle(cyan, "rye: hint:"), fix)
		}
	}
}

// report ends a command that shows findings: data and the human form always,
// the hints and the exit status when err says that something is wrong.
func (u *ui) report(err error, data any, fs []diag.Finding, human func()) error {
	if err == nil {
		return u.Show(data, human)
	}
	if !u.json {
		human()
		u.hints(fs)
	}
	return shown(err, data)
}
