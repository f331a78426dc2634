package cli

import (
	"cmp"
	"fmt"
	"path"
	"slices"
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
	label := string(f.Code)
	if onlyWarns(f) {
		label = "warning"
	}
	u.Out("%s%s: %s", place, u.Style(style, label), f.Message)
}

// onlyWarns reports whether a finding is a warning with the code of a failure, which is not shown: nothing
// failed.
func onlyWarns(f diag.Finding) bool {
	if f.Severity != diag.SeverityWarning {
		return false
	}
	code := string(f.Code)
	return strings.HasSuffix(code, "_ERROR") || strings.HasSuffix(code, "_FAILED")
}

// hints prints each hint of the errors once, with the files that it is about if there
// are several files in the list.
func (u *UI) hints(fs []diag.Finding) {
	var order []string
	places := map[string][]string{}
	var files []string
	for _, f := range fs {
		if f.Severity != diag.SeverityError {
			continue
		}
		fix := fixOf(f)
		if _, known := places[fix]; !known {
			order = append(order, fix)
		}
		if !slices.Contains(places[fix], f.Path) {
			places[fix] = append(places[fix], f.Path)
		}
		if !slices.Contains(files, f.Path) && len(files) < 2 {
			files = append(files, f.Path)
		}
	}
	for _, fix := range order {
		if fix != "" {
			u.PrintErr(
				"%s %s",
				u.ErrStyle(Cyan, "rye: hint:"),
				hintFor(fix, places[fix], len(files) > 1),
			)
		}
	}
}

// maxHintPaths is the number of files that a hint names.
const maxHintPaths = 3

// hintFor returns a hint about files. With name it states which ones, unless the hint
// has them already.
func hintFor(fix string, paths []string, name bool) string {
	if len(paths) == 1 && paths[0] == "" {
		return fix
	}
	shown := paths[:min(len(paths), maxHintPaths)]
	out := fix
	if len(shown) == len(paths) {
		out = named(fix, strings.Join(shown, " "))
	}
	if !name || out != fix || strings.Contains(fix, idIn(shown[0])) {
		return out
	}
	list := strings.Join(shown, ", ")
	if more := len(paths) - len(shown); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return out + " (" + list + ")"
}

// idIn returns the part of a path that is the id if it is the path of an item: a hint
// may name the item by it.
func idIn(p string) string {
	id := strings.TrimSuffix(p, path.Ext(p))
	parts := strings.SplitN(id, "/", 3)
	if len(parts) == 3 && parts[0] == ".ai" {
		return parts[2]
	}
	return cmp.Or(id, p)
}

// nameFixes puts the path of each finding into its fix, for lists that group nothing.
func nameFixes(fs []diag.Finding) {
	for i, f := range fs {
		if f.Path != "" {
			fs[i].Fix = named(f.Fix, f.Path)
		}
	}
}

// named puts paths in the place of the words REF and PATH of a hint.
func named(hint, paths string) string {
	words := strings.Split(hint, " ")
	for i, w := range words {
		bare := strings.TrimRight(w, "`;,.")
		if bare == "REF" || bare == "PATH" {
			words[i] = paths + w[len(bare):]
		}
	}
	return strings.Join(words, " ")
}

// Report ends a command that shows findings. It prints data or the human form, and
// the hints if err is not nil.
func (u *UI) Report(err error, data any, fs []diag.Finding, human func()) error {
	FillFixes(fs)
	if u.AsJSON {
		nameFixes(fs)
	}
	if err == nil {
		return u.Show(data, human)
	}
	if !u.AsJSON {
		human()
		u.hints(fs)
	}
	return Shown(err, data)
}
