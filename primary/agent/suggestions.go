package agent

import (
	_ "embed"
	"fmt"
	"maps"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hinttable"
	"github.com/ryeos/rye/internal/jsonx"
)

// suggestionTable has what a model can do about an error, by code and reason.
//
//go:embed suggestions.txt
var suggestionTable string

// The codes of rows that apply to every code, and of the defaults of classes.
const (
	everyCode = "*"
	classRow  = "class"
)

// classSuggestion returns the default for the codes of a class that have no row.
func classSuggestion(c diag.Class) string {
	return hinttable.Lookup(suggestionTable, classRow, string(c))
}

// newFailure renders an error with the suggestions for agents.
func newFailure(e *diag.Error) *diag.Failure {
	shown := *e
	shown.Findings = nil
	for _, f := range e.Findings {
		f.Fix = findingSuggestion(f)
		shown.Findings = append(shown.Findings, f)
	}
	out := diag.NewFailure(&shown)
	out.Suggestion = suggestion(e)
	removeRepetitions(out, e)
	return out
}

// brief renders findings of an error without what they have in common with it.
func brief(fs []diag.Finding, code diag.Code) any {
	list, _ := generic(fs)
	out, _ := list.([]any)
	for _, f := range out {
		if m, ok := f.(map[string]any); ok {
			delete(m, "severity")
			if m["code"] == string(code) {
				delete(m, "code")
			}
		}
	}
	return out
}

// removeRepetitions removes the repetitions of an error with findings: the first finding from the
// message, and from each finding the code of the error.
func removeRepetitions(out *diag.Failure, e *diag.Error) {
	if len(e.Findings) == 0 {
		return
	}
	var errs []diag.Finding
	for _, f := range e.Findings {
		if f.Severity == diag.SeverityError {
			errs = append(errs, f)
		}
	}
	if len(errs) == 0 || len(errs) != len(e.Findings) {
		return
	}
	// The message is redacted, so the finding is compared in that form.
	before, _, found := strings.Cut(
		out.Message,
		": "+diag.Redact(errs[0].String()),
	)
	if !found {
		return
	}
	if len(errs) > 1 {
		out.Message = fmt.Sprintf("%s: %d problems", before, len(errs))
		out.Details["findings"] = brief(errs, e.Code)
		return
	}
	text := errs[0].Message
	if errs[0].Code != e.Code {
		text = string(errs[0].Code) + ": " + text
	}
	if errs[0].Path != "" ||
		errs[0].Line > 0 ||
		errs[0].Facts != nil {
		return
	}
	out.Message = before + ": " + diag.Redact(text)
	delete(out.Details, "findings")
}

// suggestion returns the advice to a model about an error, or "".
func suggestion(e *diag.Error) string {
	// The schema answers more than any row.
	if e.Details["schema"] != nil {
		return "fix the parameters: details.schema is what the item takes"
	}
	if e.Reason == "no_stderr" || e.Reason == "reported" { // the message is all that is known
		return ""
	}
	text := reasonText(e.Code, e.Reason, e.Details)
	// An error with one finding is that finding, so its row precedes the default of the code.
	if text == "" && len(e.Findings) == 1 {
		text = findingSuggestion(e.Findings[0])
	}
	if text == "" {
		text = expand(hinttable.Lookup(suggestionTable, string(e.Code), ""), e.Details)
	}
	if text == "" {
		text = classSuggestion(e.Code.Class())
	}
	return text
}

// findingSuggestion returns the advice to a model about a finding, or "". A
// finding without a reason has none of its own.
func findingSuggestion(f diag.Finding) string {
	facts := map[string]any{"path": f.Path}
	maps.Copy(facts, f.Facts)
	return reasonText(f.Code, f.Reason, facts)
}

// reasonText returns the row of a code and reason, or of the reason alone.
func reasonText(code diag.Code, reason string, facts map[string]any) string {
	if reason == "" {
		return ""
	}
	text := expand(hinttable.Lookup(suggestionTable, string(code), reason), facts)
	if text != "" {
		return text
	}
	return expand(hinttable.Lookup(suggestionTable, everyCode, reason), facts)
}

// expand fills in the facts of a row. It returns "" if one is missing.
func expand(text string, facts map[string]any) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, _ := strings.Cut(rest, "}")
		switch v := facts[name].(type) {
		case nil:
			return ""
		case []string:
			b.WriteString(strings.Join(v, ", "))
		case map[string]any:
			doc, _ := jsonx.Marshal(v)
			b.Write(doc)
		default:
			fmt.Fprint(&b, v)
		}
		text = after
	}
}
