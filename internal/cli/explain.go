package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
)

// ExplainCommand is rye explain.
func ExplainCommand() *Command {
	return &Command{
		Name:  "explain",
		Group: "About rye",
		Usage: "explain an error code",
		Args:  "[CODE]",
		Long:  "Without a code, every code is listed with its exit status.",
		Examples: []string{
			"rye explain HASH_MISMATCH",
			"rye explain                # list all codes",
		},
		Run: runExplain,
		Complete: func(context.Context, *Call) []string {
			var out []string
			for _, r := range diag.Table() {
				out = append(out, string(r.Code)+"\t"+r.When)
			}
			return out
		},
	}
}

// codeRow is one row of the table in the JSON form.
type codeRow struct {
	Code    diag.Code `json:"code"`
	Exit    int       `json:"exit"`
	When    string    `json:"when"`
	Hint    string    `json:"hint"`
	Meaning string    `json:"meaning"`
}

func newCodeRow(r diag.Row) codeRow {
	return codeRow{
		Code:    r.Code,
		Exit:    ExitStatus(r.Code),
		When:    r.When,
		Hint:    CodeHint(r.Code),
		Meaning: Explanation(r.Code),
	}
}

func runExplain(_ context.Context, c *Call) error {
	if len(c.Args) == 0 {
		return listCodes(c.UI)
	}
	row, err := findCode(c.Args[0])
	if err != nil {
		return err
	}
	r := newCodeRow(row)
	return c.UI.Show(r, func() {
		head := c.UI.fitted(fmt.Sprintf(
			"%s (exit %d: %s)",
			r.Code,
			r.Exit,
			ExitMeaning(r.Exit),
		))
		c.UI.Out(
			"%s%s",
			c.UI.Style(Bold, string(r.Code)),
			Styled(strings.TrimPrefix(head, string(r.Code))),
		)
		t := Tables()["help"]
		t.Add("  when:", r.When)
		if hint := CodeHint(r.Code); hint != "" {
			t.Add("  hint:", hint)
		}
		c.UI.Table(t)
		c.UI.Out("")
		c.UI.Text(c.UI.fitted(r.Meaning))
	})
}

// findCode reads a code in any case, with "-" for "_".
func findCode(word string) (diag.Row, error) {
	code := strings.ToUpper(strings.ReplaceAll(word, "-", "_"))
	if row, ok := diag.Lookup(diag.Code(code)); ok {
		return row, nil
	}
	var names []string
	for _, r := range diag.Table() {
		names = append(names, string(r.Code))
	}
	err := diag.New(diag.Usage, "explaining code: there is no code %q", word)
	if near := Nearest(code, names); near != "" {
		return diag.Row{}, err.WithReason("nearest").WithDetail("nearest", near)
	}
	return diag.Row{}, err.WithReason("codes")
}

func listCodes(u *UI) error {
	var rows []codeRow
	t := Tables()["codes"]
	for _, r := range diag.Table() {
		rows = append(rows, newCodeRow(r))
		t.Add(string(r.Code), Itoa(ExitStatus(r.Code)), r.When)
	}
	return u.Show(
		map[string]any{"codes": rows},
		func() { u.Table(t) },
	)
}
