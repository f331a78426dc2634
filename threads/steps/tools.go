package steps

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// The tools that the loop itself answers.
const (
	ReturnTool   = "directive_return"
	ArtifactTool = "rye_artifact"
)

const (
	maxName  = 64 // characters of a tool's name
	maxItems = 24 // ids in the description of a verb
)

func verbName(v policy.Verb) string {
	return "rye_" + string(v)
}

// tools returns the definitions, sorted by name.
func (c *composer) tools() ([]Offer, error) {
	out := []Offer{}
	artifact, err := c.text("artifact")
	if err != nil {
		return nil, err
	}
	out = append(out, Offer{Name: ArtifactTool, Description: artifact, Schema: json.RawMessage(artifactSchema)})
	if len(c.m.Outputs) > 0 {
		text, err := c.text(ReturnTool)
		if err != nil {
			return nil, err
		}
		schema, err := OutputSchema(c.m.Outputs)
		if err != nil {
			return nil, err
		}
		out = append(out, Offer{Name: ReturnTool, Description: text, Schema: schema})
	}
	taken := map[string]bool{ArtifactTool: true, ReturnTool: true}
	for _, v := range c.m.Verbs {
		taken[verbName(v.Verb)] = true
	}
	direct, all := c.direct(taken)
	out = append(out, direct...)
	for _, v := range c.m.Verbs {
		if v.Verb == policy.Execute && all && exactTools(c.m.Capabilities) {
			continue // every tool that it could call has its own definition
		}
		offer, err := c.verb(v)
		if err != nil {
			return nil, err
		}
		out = append(out, offer)
	}
	slices.SortFunc(out, func(a, b Offer) int {
		return cmp.Compare(a.Name, b.Name)
	})
	return out, nil
}

const artifactSchema = `{"type":"object","additionalProperties":false,"required":["id"],"properties":{` +
	`"id":{"type":"string"},"offset":{"type":"integer","minimum":0,"default":0},"limit":{"type":"integer","minimum":1}}}`

// verb returns the definition of a verb. Few permitted ids are a part of it.
func (c *composer) verb(v VerbTool) (Offer, error) {
	o := v.Offer
	o.Name = verbName(v.Verb)
	if n := len(v.Items); n > 0 && n <= maxItems {
		list, err := c.text("permitted", "items", strings.Join(
			slices.Sorted(slices.Values(v.Items)),
			", ",
		))
		if err != nil {
			return o, err
		}
		o.Description = strings.TrimSpace(o.Description) + " " + list
	}
	return o, nil
}

// direct returns the definitions of single tools, as many as fit, in their order. all is
// whether every one has a definition.
func (c *composer) direct(taken map[string]bool) (out []Offer, all bool) {
	var used int64
	for i, o := range c.m.Direct {
		used += tokens(len(o.Name) + len(o.Description) + len(o.Schema))
		if i >= c.maxDirect || used > c.maxDirectTokens {
			return out, false
		}
		o.Name = toolName(strings.TrimPrefix(o.Ref, "tool:"), taken)
		taken[o.Name] = true
		out = append(out, o)
	}
	return out, true
}

// toolName returns the name of a tool with an id: services permit letters, digits, _
// and -, and 64 characters.
func toolName(id string, taken map[string]bool) string {
	name := strings.ReplaceAll(id, "/", "__")
	if len(name) <= maxName && !taken[name] {
		return name
	}
	suffix := "_" + item.DigestOf([]byte(id)).Hex()[:8]
	return name[:min(len(name), maxName-len(suffix))] + suffix
}

// exactTools reports whether all that execute permits are tools without a wildcard.
func exactTools(caps policy.Set) bool {
	for _, c := range caps {
		s := string(c)
		if s == "rye.*" || s == "rye.execute" || strings.HasPrefix(s, "rye.execute.") && !isExactTool(s) {
			return false
		}
	}
	return true
}

func isExactTool(s string) bool {
	id, ok := strings.CutPrefix(s, "rye.execute.tool.")
	return ok && id != "" && !strings.ContainsAny(id, "*?[")
}

// AnyTool reports whether capabilities permit tools by a wildcard.
func AnyTool(caps policy.Set) bool {
	return slices.ContainsFunc(caps, func(c policy.Cap) bool {
		s := string(c)
		rest, ofTools := strings.CutPrefix(s, "rye.execute.tool.")
		wide := s == "rye.*" || s == "rye.execute" || s == "rye.execute.*" || s == "rye.execute.tool"
		return wide || ofTools && !isExactTool(s) && rest != ""
	})
}

// Narrow reports whether a tool is permitted by a capability that names at least the first
// part of its id.
func Narrow(caps policy.Set, id string) bool {
	want := policy.Cap("rye.execute.tool." + strings.ReplaceAll(id, "/", "."))
	return slices.ContainsFunc(caps, func(c policy.Cap) bool {
		rest, ofTools := strings.CutPrefix(string(c), "rye.execute.tool.")
		first, _, _ := strings.Cut(rest, ".")
		return ofTools && first != "" && !strings.ContainsAny(first, "*?[") && c.Covers(want)
	})
}

// ExactTools returns the ids of the tools that capabilities name without a wildcard.
func ExactTools(caps policy.Set) []string {
	var out []string
	for _, c := range caps {
		id := strings.ReplaceAll(strings.TrimPrefix(string(c), "rye.execute.tool."), ".", "/")
		if isExactTool(string(c)) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// OutputSchema returns the JSON Schema of outputs, which directive_return has.
func OutputSchema(outputs []Field) (json.RawMessage, error) {
	properties := map[string]any{}
	required := []any{}
	for _, o := range outputs {
		p := map[string]any{"type": typeOf(o)}
		if o.Description != "" {
			p["description"] = o.Description
		}
		properties[o.Name] = p
		if o.Required {
			required = append(required, o.Name)
		}
	}
	b, err := jsonx.Marshal(map[string]any{
		"type":                 "object",
		"additionalProperties": false,
		"required":             required,
		"properties":           properties,
	})
	if err != nil {
		return nil, diag.New(diag.ValidationFailed, "writing the schema of the outputs: %w", err)
	}
	return b, nil
}
