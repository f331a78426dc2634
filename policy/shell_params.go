package policy

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/interpolate"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/item"
)

// executeID is the tool that calls another item with its parameter "parameters".
const executeID = "rye/primary/execute"

// maxExecute is how deep calls of that tool may contain one another.
const maxExecute = 8

// CallSchema returns the schema of a call's parameters. The schema of a call which names a
// second item in its parameters includes the schema of that item. text returns the value of
// a template, and schema the schema of an item, if they are known.
func CallSchema(
	ref item.Ref,
	value any,
	params *interpolate.Template,
	text func(*interpolate.Template) (string, bool),
	schema func(item.Ref) any,
) any {
	return callSchemaIn(ref, value, params, text, schema, maxExecute)
}

func callSchemaIn(
	ref item.Ref,
	value any,
	params *interpolate.Template,
	text func(*interpolate.Template) (string, bool),
	schema func(item.Ref) any,
	depth int,
) any {
	if ref.Kind != item.Tool || ref.ID != executeID || params == nil || depth == 0 {
		return value
	}
	inner := params.Key("parameters")
	if inner == nil {
		return value
	}
	known := func(key string) string {
		if t := params.Key(key); t != nil {
			s, _ := text(t)
			return s
		}
		return ""
	}
	called, err := item.ParseRef(known("item_id"), item.Tool)
	kind := known("item_type")
	if err != nil || kind != string(item.Tool) || called.Kind != item.Tool {
		return value
	}
	return map[string]any{"properties": map[string]any{
		"parameters": callSchemaIn(called, schema(called), inner, text, schema, depth-1),
	}}
}

// ConstantText returns the value of a template without an expression.
func ConstantText(t *interpolate.Template) (string, bool) {
	v, constant := t.Constant()
	s, ok := v.(string)
	return s, constant && ok
}

// ShellUse is a value of a template that a shell would read as a part of a program.
type ShellUse struct {
	At   string // the path of the text in the parameters
	Expr *interpolate.Expr
	ShellValue
}

// String describes the use.
func (u ShellUse) String() string {
	return "${" + u.Expr.Path.String() + "} " + u.Where
}

// ShellUses returns the values in the parameters of a tool that would become a part of a
// program: values in the texts that the schema marks with x-rye-shell, unless each is a
// plain word of the shell. number reports the expressions whose values are numbers.
func (k *Risk) ShellUses(
	schema any,
	params *interpolate.Template,
	number func(*interpolate.Expr) bool,
) (out []ShellUse) {
	params.Texts(func(at string, names []string, text *interpolate.Template) {
		marked, below := shellMark(schema, names)
		literal, exprs := text.Parts()
		if !marked {
			if e, whole := text.Whole(); whole && below {
				out = append(out, ShellUse{at, e, ShellValue{Where: "as a list or a mapping with texts of the shell", Line: 1}})
			}
			return
		}
		for _, v := range k.ShellValues(literal, func(i int) bool {
			return number != nil &&
				number(exprs[i])
		}) {
			out = append(out, ShellUse{at, exprs[v.Value], v})
		}
	})
	return out
}

// shellMark reports whether the schema marks a parameter, or one that contains it, as a text
// of the shell, and whether it marks something in it.
func shellMark(schema any, path []string) (marked, below bool) {
	s, _ := schema.(map[string]any)
	for _, name := range path {
		if s[shellKey] == true {
			return true, true
		}
		props, _ := s["properties"].(map[string]any)
		items, isList := s["items"].(map[string]any)
		if s, _ = props[name].(map[string]any); s == nil &&
			isList &&
			strings.Trim(name, "0123456789") == "" {
			s = items
		}
	}
	return s[shellKey] == true, hasMark(s, 0)
}

// hasMark reports whether a schema marks a text of the shell.
func hasMark(s map[string]any, depth int) bool {
	if s == nil || depth > maxShellDepth {
		return false
	}
	if s[shellKey] == true {
		return true
	}
	props, _ := s["properties"].(map[string]any)
	for _, child := range props {
		sub, ok := child.(map[string]any)
		if ok && hasMark(sub, depth+1) {
			return true
		}
	}
	items, _ := s["items"].(map[string]any)
	return hasMark(items, depth+1)
}

// RenderShellParams fills in the parameters of a call of a tool with this schema. A value in
// a text of the shell becomes one word in quotes, or a part of a word. A value that would
// become a part of a program is an error: nothing can quote it.
func (k *Risk) RenderShellParams(schema any, params *interpolate.Template, scope any) (any, error) {
	number := func(e *interpolate.Expr) bool {
		v, err := e.Value(scope)
		if err != nil {
			return false
		}
		switch v.(type) {
		case int64, int, float64, bool:
			return true
		}
		return false
	}
	uses := k.ShellUses(schema, params, number)
	if len(uses) > 0 {
		u := uses[0]
		e := diag.New(diag.ValidationFailed, "the parameter %s: %s would become a part of the program that the shell reads", u.At, u).WithReason(u.Reason())
		for k, v := range u.Facts() {
			e = e.WithDetail(k, v)
		}
		return nil, e
	}
	if err := k.optionValues(schema, params, scope); err != nil {
		return nil, err
	}
	v, err := params.RenderQuoted(scope, func(names []string) func(string) string {
		if marked, _ := shellMark(schema, names); marked {
			return tmpl.ShellQuote
		}
		return nil
	})
	if err != nil {
		return nil, diag.New(diag.ValidationFailed, "%w", err).WithReason("graph_path")
	}
	return v, nil
}

// optionValues returns an error for a value that would be an option of a program: a text that
// begins with - where an argument begins, without -- before it.
// After an option nothing is refused: -m ${title} is usual, and the table lacks options. Behind
// sudo, env and the like only a -- directly before the value is one of the program.
func (k *Risk) optionValues(schema any, params *interpolate.Template, scope any) (err error) {
	params.Texts(func(at string, names []string, text *interpolate.Template) {
		if marked, _ := shellMark(schema, names); !marked || err != nil {
			return
		}
		literal, exprs := text.Parts()
		for _, u := range k.shellOptions(literal) {
			v, missing := exprs[u.value].Value(scope)
			s, ok := v.(string)
			if missing != nil || !ok || len(s) < 2 || s[0] != '-' {
				continue
			}
			value := "${" + exprs[u.value].Path.String() + "}"
			err = diag.New(diag.ValidationFailed, "the parameter %s: the value of %s begins with - and would be an option of %s", at, value, u.program).
				WithReason("shell_value_option").WithDetail("value", value)
			return
		}
	})
	return err
}

// Reason returns the reason of a finding about the use, which selects the hint.
func (u ShellUse) Reason() string {
	switch {
	case u.Arithmetic:
		return "shell_value_number"
	case strings.HasPrefix(u.Where, "inside "), strings.HasPrefix(u.Where, "in a here"), strings.HasPrefix(u.Where, "in a command"), strings.HasPrefix(u.Where, "in back"), strings.HasPrefix(u.Where, "in a process"),
		u.Where == "in a comment", u.Where == "after a backslash", u.Where == "in a pattern", u.Where == "in the expansion of a variable":
		return "shell_value"
	}
	return "shell_value_program"
}

// Facts returns the facts of the hint: the value, and the name of a variable for it.
func (u ShellUse) Facts() map[string]any {
	name := "value"
	last := u.Expr.Path[len(u.Expr.Path)-1]
	if isVariable(last) {
		name = last
	}
	return map[string]any{"value": "${" + u.Expr.Path.String() + "}", "variable": name, "use": `"$` + name + `"`}
}

// isVariable reports whether a text can be the name of a variable of the shell that has no
// meaning of its own.
func isVariable(s string) bool {
	for i, c := range s {
		if !(c >= 'a' && c <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != "" && s != "_"
}
