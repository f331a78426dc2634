package cli

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hinttable"
)

// hintTable has every hint for people, by code and reason.
//
//go:embed hints.txt
var hintTable string

// Hint returns the advice to a person about an error, or "".
func Hint(e *diag.Error) string {
	if diskFull(e) {
		return "the disk is full: free space, then run the command again; `rye cache gc` removes what can be fetched again"
	}
	hint := lookUp(e.Code, e.Reason, e.Details)
	if hint != "" && e.Reason != "" {
		return hint
	}
	// An error with one finding is that finding.
	if len(e.Findings) == 1 {
		if hint := FindingHint(e.Findings[0]); hint != "" {
			return named(hint, cmp.Or(e.Findings[0].Path, "REF"))
		}
	}
	return lookUp(e.Code, "", e.Details)
}

// diskFull reports whether the system refused to write because no space is left.
func diskFull(err error) bool {
	const windowsDiskFull = syscall.Errno(112) // ERROR_DISK_FULL
	return errors.Is(err, syscall.ENOSPC) || runtime.GOOS == "windows" && errors.Is(err, windowsDiskFull)
}

// FindingHint returns the advice to a person about a finding, or "". A finding
// without a reason has no hint of its own: lists of findings show the default
// of their code once.
func FindingHint(f diag.Finding) string {
	if f.Fix != "" || f.Reason == "" {
		return f.Fix
	}
	// The view replaces REF once it has grouped the findings with the same hint.
	facts := map[string]any{"path": f.Path, "ref": "REF"}
	for k, v := range f.Facts {
		facts[k] = v
	}
	return lookUp(f.Code, f.Reason, facts)
}

// FillFixes sets the fix of each finding from its hint, for the JSON form.
func FillFixes(fs []diag.Finding) {
	for i := range fs {
		fs[i].Fix = FindingHint(fs[i])
	}
}

// CodeHint returns the default hint of a code, or "". Defaults name no facts.
func CodeHint(c diag.Code) string {
	return lookUp(c, "", nil)
}

func lookUp(code diag.Code, reason string, facts map[string]any) string {
	return expand(hinttable.Lookup(hintTable, string(code), reason), facts)
}

// expand fills in the facts of a hint. It returns "" if one is missing. The brace after
// a dollar sign is one of the text.
func expand(text string, facts map[string]any) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if strings.HasSuffix(before, "$") {
			b.WriteByte('{')
			text = rest
			continue
		}
		name, after, closed := strings.Cut(rest, "}")
		value, ok := facts[name]
		if name == "install_server" {
			value = InstallServer(
				fmt.Sprint(facts["version"]),
				fmt.Sprint(facts["rye"]),
			)
			ok = true
		}
		if !closed || !ok || fmt.Sprint(value) == "" {
			return ""
		}
		if list, isList := value.([]string); isList {
			value = strings.Join(list, ", ")
		}
		if s, isText := value.(string); isText && isArgument(name) {
			value = shellWord(s)
		}
		fmt.Fprint(&b, value)
		text = after
	}
}

// isArgument reports whether a fact is used as an argument of the command that a hint names.
func isArgument(fact string) bool {
	switch fact {
	case "path", "file", "dir", "directory", "name", "id", "ref":
		return true
	}
	return false
}

// shellWord returns a text as one word of a POSIX shell: users copy commands from
// hints, and a project chooses the names of its directories.
func shellWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./~-*\\") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
