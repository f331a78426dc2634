package interpolate

import (
	"fmt"
	"strings"

	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/dotpath"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/pathcall"
)

// parse divides a text into literal text and expressions. $${ is a literal ${.
func parse(s string) ([]part, error) {
	var parts []part
	var lit strings.Builder
	for s != "" {
		i := strings.Index(s, "${")
		if i < 0 {
			lit.WriteString(s)
			break
		}
		if i > 0 && s[i-1] == '$' {
			lit.WriteString(s[:i-1])
			lit.WriteString("${")
			s = s[i+2:]
			continue
		}
		lit.WriteString(s[:i])
		e, n, err := expression(s[i:])
		if err != nil {
			return nil, err
		}
		if lit.Len() > 0 {
			parts = append(parts, part{text: lit.String()})
			lit.Reset()
		}
		parts = append(parts, part{expr: e})
		s = s[i+n:]
	}
	if lit.Len() > 0 {
		parts = append(parts, part{text: lit.String()})
	}
	return parts, nil
}

// expression parses the expression at the beginning of s and returns its length.
func expression(s string) (*Expr, int, error) {
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return nil, 0, fmt.Errorf("%q does not end: } is missing; write $${ for a literal ${", clip(s))
	}
	whole := s[:end+1]
	call, n, err := pathcall.Cut(s[2:end])
	rest := s[2+n : end]
	e := &Expr{Call: call}
	fallback, isDefault := strings.CutPrefix(rest, ":-")
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("%q: %w", clip(whole), err)
	case n == 0:
		return nil, 0, fmt.Errorf("%q is not an expression: ${ is followed by a path such as state.count; write $${ for a literal ${", clip(whole))
	case n > dotpath.MaxLength:
		return nil, 0, fmt.Errorf("%q: the path has more than %d bytes", clip(whole), dotpath.MaxLength)
	case rest == "":
	case rest == "?":
		e.Optional = true
	case isDefault && strings.ContainsAny(fallback, "{$"):
		return nil, 0, fmt.Errorf("%q: a default may not contain an expression, { or $", clip(whole))
	case isDefault:
		e.Optional, e.hasDefault, e.fallback = true, true, literal(fallback)
	default:
		return nil, 0, fmt.Errorf("%q is not an expression: after the path %s comes }, ?} or :-default}", clip(whole), call)
	}
	return e, end + 1, nil
}

// literal returns the value of a default: a number, true, false, null, a text in
// quotes or a list as JSON has it, everything else as text.
func literal(s string) any {
	v, fs := jsonx.ParseValue([]byte(s))
	if len(fs) == 0 && s == strings.TrimSpace(s) {
		return v
	}
	return s
}

func clip(s string) string {
	return cuttext.Short(s, 60)
}
