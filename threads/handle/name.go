package handle

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxName is the length of a name, in characters.
const maxName = 60

// Name returns the name of a thread or run with inputs: the text of the only one, otherwise
// each with its name. It is one line, and "" without inputs.
func Name(inputs map[string]any) string {
	var parts []string
	only := ""
	for key, v := range inputs {
		text, ok := v.(string)
		if !ok {
			b, err := json.Marshal(v)
			if err != nil || v == nil {
				continue
			}
			text = string(b)
		}
		if text == "" {
			continue
		}
		only = text
		parts = append(parts, key+"="+text)
	}
	slices.Sort(parts)
	name := strings.Join(parts, " ")
	if len(parts) == 1 {
		name = only
	}
	return Short(name)
}

// Short returns a name on one line, at most as long as names are.
func Short(name string) string {
	name = strings.Join(strings.Fields(name), " ")
	if r := []rune(name); len(r) > maxName {
		name = string(r[:maxName-1]) + "…"
	}
	return name
}
