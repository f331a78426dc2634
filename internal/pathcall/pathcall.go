// Package pathcall reads a value by a path, and converts a text to a number or to data on
// the way: int(state.count), float(result.stdout), json(result.stdout).items.0. Conditions
// and typed templates have this form in common.
//
// It has these three functions and no others: no arithmetic, no nesting, no clock.
package pathcall

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/dotpath"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tree"
)

// Call is a path, and the function that its value passes through.
type Call struct {
	Path  dotpath.Path
	Func  string       // int, float or json; "" is the value itself
	Below dotpath.Path // the path in the value of json, nil for all of it
}

// Funcs returns the names of the functions.
func Funcs() []string {
	return []string{"int", "float", "json"}
}

// Cut returns the longest call or path at the beginning of s and its length in bytes, 0 if
// s begins with neither. The error is about a call that does not end.
func Cut(s string) (Call, int, error) {
	path, n := dotpath.Cut(s)
	if n == 0 {
		return Call{}, 0, nil
	}
	if len(path) != 1 ||
		n == len(s) ||
		s[n] != '(' ||
		!isFunc(path[0]) {
		return Call{Path: path}, n, nil
	}
	c := Call{Func: path[0]}
	inner := strings.TrimLeft(s[n+1:], " ")
	at := len(s) - len(inner)
	if c.Path, n = dotpath.Cut(inner); n == 0 {
		return c, 0, fmt.Errorf("%s( is followed by a path such as state.count", c.Func)
	}
	rest := strings.TrimLeft(inner[n:], " ")
	if !strings.HasPrefix(rest, ")") {
		return c, 0, fmt.Errorf("%s(%s is not closed by )", c.Func, c.Path)
	}
	at = len(s) - len(rest) + 1
	if c.Func != "json" || at == len(s) || s[at] != '.' {
		return c, at, nil
	}
	// What follows is a path that may begin with an index.
	below, n := dotpath.Cut("x" + s[at:])
	if len(below) < 2 {
		return c, 0, fmt.Errorf("json(%s). is followed by a name or an index", c.Path)
	}
	c.Below = below[1:]
	return c, at + n - 1, nil
}

func isFunc(name string) bool {
	for _, f := range Funcs() {
		if f == name {
			return true
		}
	}
	return false
}

// Parse is Cut for a text that is nothing else.
func Parse(s string) (Call, error) {
	c, n, err := Cut(s)
	switch {
	case err != nil:
		return c, err
	case c.Func == "" || n < len(s) && n == 0:
		c.Path, err = dotpath.Parse(s)
		return c, err
	case n < len(s):
		return c, fmt.Errorf("%q is not expected after %s", s[n:], c)
	}
	return c, nil
}

// String returns the call as it is written.
func (c Call) String() string {
	if c.Func == "" {
		return c.Path.String()
	}
	out := c.Func + "(" + c.Path.String() + ")"
	if len(c.Below) > 0 {
		out += "." + c.Below.String()
	}
	return out
}

// Lookup returns the value of a call below root. ok is false if the path, or the path in
// the value of json, is missing. A null stays null. The error is about a value that the
// function cannot convert.
func (c Call) Lookup(root any) (v any, ok bool, err error) {
	v, ok = c.Path.Lookup(root)
	if !ok || c.Func == "" || v == nil {
		return v, ok, nil
	}
	switch c.Func {
	case "int":
		v, err = toInt(v)
	case "float":
		v, err = toFloat(v)
	default:
		v, err = toData(v)
	}
	if err != nil {
		return nil, true, fmt.Errorf("%s(%s): %w", c.Func, c.Path, err)
	}
	if len(c.Below) > 0 {
		v, ok = c.Below.Lookup(v)
	}
	return v, ok, nil
}

func toInt(v any) (any, error) {
	switch v := v.(type) {
	case int64:
		return v, nil
	case int:
		return int64(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) <= 1<<53 {
			return int64(v), nil
		}
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err == nil {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%s is not a whole number", shown(v))
}

func toFloat(v any) (any, error) {
	switch v := v.(type) {
	case int64, int, float64:
		return v, nil
	case string:
		// ParseFloat also reads hexadecimal numbers, underscores, Inf and NaN.
		s := strings.TrimSpace(v)
		f, err := strconv.ParseFloat(s, 64)
		if err == nil && strings.Trim(s, "+-.0123456789eE") == "" {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%s is not a number", shown(v))
}

// toData returns the data of a text, and a value that is data already.
func toData(v any) (any, error) {
	s, ok := v.(string)
	if !ok {
		return v, nil
	}
	out, fs := jsonx.ParseValue([]byte(s))
	if diag.Failed(fs) {
		return nil, fmt.Errorf(
			"%s is not JSON: line %d, column %d: %s",
			shown(s),
			fs[0].Line,
			fs[0].Column,
			fs[0].Message,
		)
	}
	return out, nil
}

// shown returns a value for a message.
func shown(v any) string {
	s, ok := v.(string)
	if !ok {
		return tree.TypeName(v)
	}
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "…"
	}
	return strconv.Quote(s)
}
