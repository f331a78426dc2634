package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/suggest"
)

// noAlternative returns why a value fits no alternative, from the fails of each, as
// one violation of its type if only the types differ.
func noAlternative(failed [][]fail, t target, keyword string) fail {
	if f, ok := misspelled(failed, t); ok {
		return f
	}
	var wants, reasons []string
	onlyTypes := true
	for _, fails := range failed {
		if len(fails) == 1 &&
			fails[0].types != nil &&
			fails[0].at == t.at {
			wants = append(wants, fails[0].types...)
		} else {
			onlyTypes = false
		}
		reason := fails[0].Message
		if fails[0].at != t.at {
			reason = fails[0].Path + ": " + reason
		}
		reasons = append(reasons, reason)
	}
	if onlyTypes {
		slices.Sort(wants)
		wants = slices.Compact(wants)
		f := newFail(t, "type", "must be %s, is %s", strings.Join(wants, " or "), typeOf(t.value))
		f.types = wants
		return f
	}
	return newFail(t, keyword, "fits none of %d alternatives: %s", len(failed), strings.Join(reasons, "; or "))
}

// misspelled returns the violation of a word that resembles one of a list, if no
// other alternative accepts words: the reasons of the others would hide it.
func misspelled(failed [][]fail, t target) (out fail, ok bool) {
	if _, isWord := t.value.(string); !isWord {
		return out, false
	}
	for _, fails := range failed {
		switch {
		case len(fails) != 1:
			return out, false
		case fails[0].words != nil:
			out = newFail(t, "enum", "%s", enumMessage(fails[0].words, t.value))
			ok = true
			out.words = fails[0].words
		case fails[0].types == nil:
			return out, false
		}
	}
	return out, ok
}

func enumMessage(want []any, v any) string {
	var all, words []string
	for _, w := range want {
		all = append(all, show(w))
		if s, ok := w.(string); ok {
			words = append(words, s)
		}
	}
	msg := fmt.Sprintf("must be one of %s, is %s", strings.Join(all, ", "), show(v))
	if s, ok := v.(string); ok {
		if near := suggest.Nearest(s, words); near != "" {
			msg += ", did you mean " + show(near)
		}
	}
	return msg
}

func sorted(fails []fail) []fail {
	slices.SortStableFunc(fails, func(a, b fail) int {
		return cmp.Or(
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return fails
}
