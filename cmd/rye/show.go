package main

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
)

func showCommand() *command {
	return &command{
		name: "show", group: "Items",
		usage: "print what an item says about itself and who vouches for it", args: "REF",
		examples: []string{"rye show tool:rye/bash/bash", "rye show demo/hello --json"},
		codes:    []diag.Code{diag.ItemNotFound, diag.AmbiguousItem},
		complete: completeItems(),
		run:      runShow,
	}
}

// itemView is an item as rye show prints it.
type itemView struct {
	primary.Element
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description,omitempty"`
	ToolType    string         `json:"tool_type,omitempty"`
	Executor    *string        `json:"executor_id,omitempty"`
	Inputs      []item.Input   `json:"inputs,omitempty"`
	Outputs     []item.Input   `json:"outputs,omitempty"`
	Schema      map[string]any `json:"config_schema,omitempty"`
	Permissions []string       `json:"permissions,omitempty"`
	Fallback    bool           `json:"parse_fallback,omitempty"`
	Shadows     []string       `json:"shadows,omitempty"`
	Sealed      bool           `json:"sealed,omitempty"`
	Verdict     any            `json:"verdict"`
	Findings    []diag.Finding `json:"findings,omitempty"`
}

func runShow(ctx context.Context, c *call) error {
	h, err := c.house(ctx, strict)
	if err != nil {
		return err
	}
	it, err := c.itemAt(ctx, h, c.arg(0))
	if err != nil {
		return err
	}
	v := itemView{
		Element: primary.ElementOf(it), Title: it.Meta.Title, Description: it.Meta.Description, ToolType: it.Meta.ToolType,
		Inputs: it.Meta.Inputs, Outputs: it.Meta.Outputs, Schema: it.Meta.Schema, Permissions: it.Meta.Permissions,
		Fallback: it.Meta.Fallback, Sealed: resolve.Sealed(it.Ref), Verdict: it.Verdict, Findings: it.Findings,
	}
	if it.Meta.HasExecutor {
		v.Executor = &it.Meta.ExecutorID
	}
	shadows, err := h.resolver.Shadows(ctx, it.Ref)
	if err != nil {
		return err
	}
	for _, s := range shadows {
		if s.Root != it.Root {
			v.Shadows = append(v.Shadows, s.Root.Display(s.Rel))
		}
	}
	return c.ui.Show(v, func() { c.ui.item(&v, it) })
}

func (u *ui) item(v *itemView, it *resolve.Item) {
	t := &table{}
	row := func(name, value string) {
		if value != "" {
			t.add(u.Style(dim, name), value)
		}
	}
	u.Out("%s %s", u.Style(bold, v.Ref), v.Version)
	row("title", v.Title)
	row("description", v.Description)
	row("file", v.Path)
	row("space", v.Space)
	row("tool type", v.ToolType)
	row("executor", it.Meta.ExecutorID)
	if v.Fallback {
		row("parse", "fallback: read line by line, for the file does not parse")
	}
	row("trust", trustLine(it))
	row("digest", v.Digest.String())
	for _, s := range v.Shadows {
		row("also in", s)
	}
	for _, p := range v.Permissions {
		row("permission", p)
	}
	for _, in := range it.Meta.Inputs {
		row("input", inputLine(in))
	}
	for _, out := range it.Meta.Outputs {
		row("output", inputLine(out))
	}
	for _, p := range parameters(it) {
		row("parameter", p)
	}
	u.Table(t)
	for _, f := range v.Findings {
		u.finding(f)
	}
}

func inputLine(in item.Input) string {
	s := in.Name + " (" + in.Type
	if in.Required {
		s += ", required"
	}
	if in.HasDefault {
		s += ", default " + in.Default
	}
	return s + ") " + in.Description
}

// parameters renders the properties of a tool's schema, one a line.
func parameters(it *resolve.Item) []string {
	s, err := exec.Schema(it)
	if err != nil || s == nil {
		return nil
	}
	props, _ := it.Meta.Schema["properties"].(map[string]any)
	required := map[string]bool{}
	for _, name := range s.Required() {
		required[name] = true
	}
	var out []string
	for _, name := range s.Properties() {
		p, _ := props[name].(map[string]any)
		in := item.Input{Name: name, Required: required[name]}
		in.Type, _ = p["type"].(string)
		in.Description, _ = p["description"].(string)
		if in.Type == "" {
			in.Type = "any"
		}
		out = append(out, inputLine(in))
	}
	return out
}

// trustLine says in one line who vouches for an item, or why nobody does.
func trustLine(it *resolve.Item) string {
	v := it.Verdict
	if !v.OK() {
		s := string(v.Status) + ": " + string(v.Code)
		if len(v.Reasons) > 0 {
			s += ", " + v.Reasons[0]
		}
		return s
	}
	return "signed by " + signerOf(it) + ", trusted by " + string(v.Tier)
}

func signerOf(it *resolve.Item) string {
	return it.Verdict.Owner + " (" + it.Verdict.Signer.Short() + ")"
}

func chainCommand() *command {
	return &command{
		name: "chain", group: "Items",
		usage: "print what executes a tool, down to the primitive", args: "REF",
		long: `Every element is resolved, verified and validated as a run would do it. All
findings are shown, and the interpreter when it is a program of the project; -v
and --json show every one.`,
		examples: []string{"rye chain tool:rye/bash/bash", "rye chain demo/hello --json"},
		codes:    []diag.Code{diag.ToolNotFound, diag.ExecutorNotFound, diag.CircularDependency, diag.ChainTooDeep, diag.HashMismatch, diag.KeyUnknown},
		complete: completeItems(item.Tool),
		run:      runChain,
	}
}

func runChain(ctx context.Context, c *call) error {
	h, err := c.house(ctx, strict)
	if err != nil {
		return err
	}
	ref, err := h.resolver.Ref(ctx, c.arg(0))
	if err != nil {
		return err
	}
	if ref.Kind != item.Tool {
		return diag.New(diag.Usage, "printing the chain of %s: only tools have one", ref)
	}
	chain, err := h.executor.Chain(ctx, ref)
	if chain == nil {
		return err
	}
	elements := primary.Elements(chain)
	if err != nil {
		c.ui.chain(elements)
		if !c.ui.json {
			return err
		}
		return shown(err, map[string]any{"chain": elements})
	}
	programs, err := h.executor.Programs(ctx, chain)
	if err != nil {
		return err
	}
	return c.ui.Show(map[string]any{"chain": elements, "interpreters": programs}, func() {
		c.ui.chain(elements)
		c.ui.programs(programs)
	})
}

// programs lists what interprets a tool: programs of the project always, those
// of the machine when asked for more.
func (u *ui) programs(programs []exec.Interpreter) {
	for _, in := range programs {
		switch {
		case in.Missing != "":
			u.Out("interpreter %s is not installed", in.Missing)
		case in.Refused != "":
			u.Out("interpreter %s  of the project, refused: %s", in.Path, in.Refused)
		case in.Local:
			u.Out("interpreter %s  of the project, by your consent to %s", in.Path, in.Digest)
		case u.verbose:
			u.Out("interpreter %s  of this machine", in.Path)
		}
	}
}

func (u *ui) chain(elements []primary.Element) {
	t := &table{header: []string{"", "ELEMENT", "SPACE", "VERSION", "DIGEST", "SIGNER"}}
	for i, e := range elements {
		arrow := ""
		if i > 0 {
			arrow = "->"
		}
		who := e.Owner
		if e.Status != "trusted" {
			who = string(e.Status)
		}
		t.add(arrow, e.Ref, e.Space, e.Version, e.Digest.String()[:19], who)
	}
	u.Table(t)
}
