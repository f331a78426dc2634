package cond

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/jsonx"
)

// String returns the condition as a text, which Parse reads back to the same
// condition if it has no mapping as a value.
func (c *Cond) String() string {
	if c == nil {
		return "true"
	}
	switch c.kind {
	case anyOf:
		return join(c.parts, " or ")
	case allOf:
		return join(c.parts, " and ")
	case negation:
		return "not " + c.parts[0].nested()
	}
	switch c.op {
	case "exists":
		if c.value == false {
			return "not exists(" + c.call.String() + ")"
		}
		return "exists(" + c.call.String() + ")"
	case "eq":
		if c.value == true {
			return c.call.String()
		}
	}
	symbol := map[string]string{
		"eq":    "==",
		"ne":    "!=",
		"gt":    ">",
		"gte":   ">=",
		"lt":    "<",
		"lte":   "<=",
		"regex": "matches",
	}[c.op]
	if symbol == "" {
		symbol = c.op
	}
	return c.call.String() + " " + symbol + " " + literal(c.value)
}

func join(parts []*Cond, between string) string {
	var out []string
	for _, p := range parts {
		out = append(out, p.nested())
	}
	if len(out) == 1 {
		return out[0]
	}
	return strings.Join(out, between)
}

// nested returns the text of a part, in parentheses where it has several parts.
func (c *Cond) nested() string {
	if c.kind == anyOf || c.kind == allOf {
		return "(" + c.String() + ")"
	}
	return c.String()
}

// literal returns a value as a text condition has it.
func literal(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case []any:
		var out []string
		for _, x := range v {
			out = append(out, literal(x))
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	b, err := jsonx.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func quote(s string) string {
	var out strings.Builder
	out.WriteByte('\'')
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\t':
			out.WriteString(`\t`)
		case r < ' ':
			out.WriteString(`\u00` + strconv.FormatInt(int64(r)+0x100, 16)[1:])
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('\'')
	return out.String()
}
