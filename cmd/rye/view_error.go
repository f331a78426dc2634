package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	rcli "github.com/ryeos/rye/internal/cli"
)

// reportError prints an error with its hint on stderr.
func (u *ui) reportError(e *diag.Error) {
	if heading := alarmHeading(rcli.ExitStatus(e.Code)); heading != "" {
		u.reportAlarm(e, heading)
	} else {
		u.tell("%s %s", u.errStyle(red, "rye: error:"), e.Message)
		u.reportFindings(e.Findings)
	}
	if hint := rcli.Hint(e); hint != "" {
		u.tell("%s %s", u.errStyle(cyan, "rye: hint:"), hint)
	}
}

// reportFindings lists findings when the message alone cannot tell them all.
func (u *ui) reportFindings(fs []diag.Finding) {
	if len(fs) < 2 {
		return
	}
	for _, f := range fs {
		mark := ""
		if f.Severity == diag.SeverityWarning {
			mark = "warning: "
		}
		u.tell("  %s%s", mark, f.String())
		if hint := rcli.FindingHint(f); hint != "" {
			u.tell("    %s", hint)
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

// reportAlarm prints a security failure as a headed paragraph: what is wrong,
// the facts with expected and found first, and what it may mean.
func (u *ui) reportAlarm(e *diag.Error, heading string) {
	u.tell("%s %s", u.errStyle(red, "rye: error:"), u.errStyle(bold, heading+" "+string(e.Code)))
	u.tell("")
	u.tell("  %s", e.Message)
	u.reportFindings(e.Findings)
	u.reportFacts(e.Details)
	if text := explanation(e.Code); text != "" {
		u.tell("")
		u.tell("  what it may mean:")
		for line := range strings.SplitSeq(text, "\n") {
			u.tell("    %s", line)
		}
	}
	u.tell("")
}

// reportFacts prints the details as aligned rows.
func (u *ui) reportFacts(all map[string]any) {
	details := maps.Clone(all)
	maps.DeleteFunc(details, func(_ string, v any) bool { return v == "" }) // what is not there is no fact
	width := 0
	for k := range details {
		width = max(width, len(factName(k)))
	}
	for i, k := range slices.SortedFunc(maps.Keys(details), factOrder) {
		if i == 0 {
			u.tell("")
		}
		u.tell("  %s  %s", fmt.Sprintf("%-*s", width, factName(k)), factValue(details[k]))
	}
}

func factName(key string) string { return strings.ReplaceAll(key, "_", " ") }

// factOrder puts what was expected and what was found first.
func factOrder(a, b string) int {
	rank := func(k string) int { return slices.Index([]string{"found", "expected"}, k) }
	return cmp.Or(-cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
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
