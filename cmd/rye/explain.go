package main

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	rcli "github.com/ryeos/rye/internal/cli"
)

func explainCommand() *command {
	return &command{
		name: "explain", group: "About rye",
		usage: "tell what an error code means and what to do",
		args:  "[CODE]",
		long:  "Without a code, every code is listed with its exit status.",
		examples: []string{
			"rye explain HASH_MISMATCH",
			"rye explain                # list all codes",
		},
		run: runExplain,
		complete: func(context.Context, *call) []string {
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
	return codeRow{Code: r.Code, Exit: rcli.ExitStatus(r.Code), When: r.When, Hint: rcli.CodeHint(r.Code), Meaning: explanation(r.Code)}
}

func runExplain(_ context.Context, c *call) error {
	if len(c.args) == 0 {
		return listCodes(c.ui)
	}
	row, err := findCode(c.args[0])
	if err != nil {
		return err
	}
	r := newCodeRow(row)
	return c.ui.Show(r, func() {
		c.ui.Out("%s (exit %d: %s)", c.ui.Style(bold, string(r.Code)), rcli.ExitStatus(r.Code), exitMeaning(rcli.ExitStatus(r.Code)))
		c.ui.Out("  when:  %s", r.When)
		if hint := rcli.CodeHint(r.Code); hint != "" {
			c.ui.Out("  hint:  %s", hint)
		}
		c.ui.Out("")
		c.ui.Text(r.Meaning)
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
	if near := nearest(code, names); near != "" {
		return diag.Row{}, err.WithHint("did you mean %s?", near).WithDetail("nearest", near)
	}
	return diag.Row{}, err.WithHint("rye explain lists every code")
}

func listCodes(u *ui) error {
	var rows []codeRow
	t := &table{header: []string{"CODE", "EXIT", "WHEN"}, wrap: true}
	for _, r := range diag.Table() {
		rows = append(rows, newCodeRow(r))
		t.add(string(r.Code), itoa(rcli.ExitStatus(r.Code)), r.When)
	}
	return u.Show(map[string]any{"codes": rows}, func() { u.Table(t) })
}
