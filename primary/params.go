package primary

import (
	"maps"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/internal/suggest"
)

// params merges the name=value arguments of a call into its parameters. One error
// lists every invalid argument. If s is nil, the item has no schema and values
// remain texts.
func params(call Call, s *schema.Schema) (map[string]any, error) {
	out := maps.Clone(call.Params)
	if out == nil {
		out = map[string]any{}
	}
	var errs []error
	given := map[string]bool{}
	bad := map[string]bool{}
	for _, word := range call.Args {
		name, v, err := param(word, s)
		if err == nil && given[name] {
			err = diag.New(diag.Usage, "reading parameter %q: it is given twice", name)
		}
		if err != nil {
			errs = append(errs, err)
			bad[name] = true
			continue
		}
		out[name] = v
		given[name] = true
	}
	if len(errs) > 0 && s != nil {
		errs = append(errs, remaining(s, out, bad)...)
	}
	return out, diag.Join("reading the parameters of "+call.Ref.String(), errs)
}

// remaining validates the parameters that parsed, so that one error lists every
// problem. Problems with the parameters in bad are reported already.
func remaining(s *schema.Schema, params map[string]any, bad map[string]bool) []error {
	var names []string // the reported ones, and those that a misspelled one probably means
	for name := range bad {
		delete(params, name)
		names = append(names, name, suggest.Nearest(name, s.Properties()))
	}
	reported := func(v schema.Violation) bool {
		for _, name := range names {
			if v.Keyword == "required" && strings.HasSuffix(v.Message, " "+strconv.Quote(name)) {
				return true
			}
		}
		return false
	}
	var out []error
	for _, v := range s.Validate(s.Defaults(params)) {
		if !reported(v) {
			out = append(out, diag.New(diag.ValidationFailed, "%s %s", v.Path, v.Message))
		}
	}
	return out
}

// param parses "name=text" or "name:=JSON".
func param(word string, s *schema.Schema) (string, any, error) {
	name, text, ok := cut(word)
	if !ok {
		return word, nil, diag.New(diag.Usage, "reading parameter %q: not name=value", word).WithReason("not_name_value")
	}
	if raw, isJSON := strings.CutSuffix(name, ":"); isJSON {
		if s != nil {
			if err := s.Known(raw); err != nil {
				return raw, nil, err
			}
		}
		v, fs := jsonx.ParseMessage([]byte(text))
		return raw, v, diag.FromFindings("reading parameter "+raw, fs)
	}
	if s == nil {
		return name, text, nil
	}
	v, err := s.Coerce(name, text)
	return name, v, err
}

func cut(word string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(word, "=")
	return name, value, ok && strings.Trim(name, ":") != ""
}
