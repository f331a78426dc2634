package primary

import (
	"maps"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/schema"
)

// params merges a call's words into its parameters. Every bad word is
// reported. s is nil when the item declares no schema: then every text stays a
// text.
func params(call Call, s *schema.Schema) (map[string]any, error) {
	out := maps.Clone(call.Params)
	if out == nil {
		out = map[string]any{}
	}
	var errs []error
	said := map[string]bool{}
	for _, word := range call.Args {
		name, v, err := param(word, s)
		if err == nil && said[name] {
			err = diag.New(diag.Usage, "reading parameter %q: it is given twice", name)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out[name], said[name] = v, true
	}
	return out, diag.Join("reading the parameters of "+call.Ref.String(), errs)
}

// param reads "name=text" or "name:=JSON".
func param(word string, s *schema.Schema) (string, any, error) {
	name, text, ok := cut(word)
	if !ok {
		return "", nil, diag.New(diag.Usage, "reading parameter %q: it is not name=value", word).
			WithHint("write name=text, or name:=JSON for numbers, lists and objects")
	}
	if raw, isJSON := strings.CutSuffix(name, ":"); isJSON {
		if s != nil {
			if err := s.Known(raw); err != nil {
				return raw, nil, err
			}
		}
		v, fs := jsonx.ParseValue([]byte(text))
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
