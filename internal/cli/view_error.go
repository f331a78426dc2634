package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
)

// reportError prints an error with its hint on stderr.
func (u *UI) reportError(e *diag.Error) {
	// It is the state after a clone, not a sign of manipulation.
	ordinary := e.Code == diag.BundleFileMissing && e.Reason == "not_installed"
	if heading := alarmHeading(ExitStatus(e.Code)); heading != "" && !ordinary {
		u.reportAlarm(e, heading)
	} else {
		u.PrintErr("%s %s", u.ErrStyle(Red, "rye: error:"), e.Message)
		u.reportFindings(e.Findings, Hint(e))
	}
	if hint := u.numbered(Hint(e)); hint != "" {
		u.PrintErr("%s %s", u.ErrStyle(Cyan, "rye: hint:"), hint)
	}
}

// numbered returns a hint whose commands have the numbers of threads and runs in place of their
// ids. Paths, and the JSON form, have the ids.
func (u *UI) numbered(hint string) string {
	if u.numbers == nil || !strings.Contains(hint, "rye ") {
		return hint
	}
	command := regexp.MustCompile(`\brye (threads|graph|approve|deny|test|run)( [a-z|-]+)* [A-Za-z0-9.-]+-[0-9a-hjkmnp-tv-z]{26}\b`)
	return command.ReplaceAllStringFunc(hint, func(match string) string {
		at := strings.LastIndexByte(match, ' ') + 1
		if n := u.Number(match[at:]); n > 0 {
			return match[:at] + strconv.FormatInt(n, 10)
		}
		return match
	})
}

// reportFindings lists the findings that the message does not contain, each with its hint
// unless that is the hint of the error, which follows them.
func (u *UI) reportFindings(fs []diag.Finding, whole string) {
	if len(fs) < 2 {
		return
	}
	for _, f := range fs {
		mark := ""
		text := f.String()
		if f.Severity == diag.SeverityWarning {
			mark = "warning: "
		}
		if place := f.Location(); onlyWarns(f) && place != "" {
			text = place + ": " + f.Message
		}
		u.PrintErr("  %s%s", mark, text)
		if hint := FindingHint(f); hint != "" && hint != whole {
			u.PrintErr("    %s", named(hint, cmp.Or(f.Path, "REF")))
		}
	}
}

// alarmHeading names the genre of a security failure, "" for other exits.
func alarmHeading(exit int) string {
	switch exit {
	case 5:
		return "INTEGRITY FAILURE"
	case 6:
		return "HISTORY ALARM"
	case 7:
		return "TRUST FAILURE"
	}
	return ""
}

// reportAlarm prints a security failure as a headed paragraph: the message,
// the facts with expected and found first, and what it may mean.
func (u *UI) reportAlarm(e *diag.Error, heading string) {
	heading += " " + string(e.Code)
	u.PrintErr("%s %s", u.ErrStyle(Red, "rye: error:"), u.ErrStyle(Bold, heading))
	u.PrintErr("")
	u.PrintErr("  %s", e.Message)
	u.reportFindings(e.Findings, Hint(e))
	facts := maps.Clone(e.Details)
	ref, ok := facts["ref"].(string)
	if ok && strings.Contains(e.Message, ref) {
		delete(facts, "ref") // it is there for the hint
	}
	u.reportFacts(facts)
	if text := Explanation(e.Code); text != "" {
		u.PrintErr("")
		u.PrintErr("  what it may mean:")
		for line := range strings.SplitSeq(text, "\n") {
			u.PrintErr("    %s", line)
		}
	}
	u.PrintErr("")
}

// reportFacts prints the details as aligned rows.
func (u *UI) reportFacts(details map[string]any) {
	maps.DeleteFunc(details, func(_ string, v any) bool {
		return v == ""
	}) // what is not there is no fact
	width := 0
	for k := range details {
		width = max(width, len(factName(k)))
	}
	for i, k := range slices.SortedFunc(maps.Keys(details), factOrder) {
		if i == 0 {
			u.PrintErr("")
		}
		u.PrintErr(
			"  %s  %s",
			fmt.Sprintf("%-*s", width, factName(k)),
			factValue(details[k]),
		)
	}
}

func factName(key string) string {
	return strings.ReplaceAll(key, "_", " ")
}

// factOrder puts what was expected and what was found first.
func factOrder(a, b string) int {
	rank := func(k string) int {
		return slices.Index([]string{"found", "expected"}, k)
	}
	return cmp.Or(
		-cmp.Compare(rank(a), rank(b)),
		cmp.Compare(a, b),
	)
}

// factValue renders one fact: plain values as they are, others as JSON.
func factValue(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case fmt.Stringer:
		return v.String()
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
