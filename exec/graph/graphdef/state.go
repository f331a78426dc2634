package graphdef

import "github.com/ryeos/rye/diag"

// CheckState compares a state with state_schema and bounds its size.
func (g *Graph) CheckState(state map[string]any, what string) error {
	if g.StateSchema != nil {
		for _, v := range g.StateSchema.Validate(any(state)) {
			if v.Keyword == "required" {
				continue // a key may be assigned later
			}
			return diag.New(diag.ValidationFailed, "%s does not fit state_schema: %s %s", what, v.Path, v.Message).
				WithReason("graph_state").WithDetail("path", v.Path)
		}
	}
	if n := sizeOf(state); n > MaxState {
		return diag.New(diag.LimitExceeded, "%s is larger than %d bytes", what, MaxState).
			WithDetail("limit", "state").
			WithDetail("max", MaxState)
	}
	return nil
}

// sizeOf returns about how many bytes a value has as JSON. It stops counting beyond
// the bound of a state.
func sizeOf(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) + 2
	case []any:
		n := 2
		for _, x := range v {
			if n += sizeOf(x) + 1; n > MaxState {
				return n
			}
		}
		return n
	case map[string]any:
		n := 2
		for k, x := range v {
			if n += len(k) + 4 + sizeOf(x); n > MaxState {
				return n
			}
		}
		return n
	}
	return 8
}
