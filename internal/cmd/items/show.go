package items

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads/prepare"
)

func ShowCommand() *cli.Command {
	return &cli.Command{
		Name:     "show",
		Group:    "Items",
		Usage:    "print the metadata, the file and the signer of an item",
		Args:     "KIND|REF|PATH [ID]",
		Examples: []string{"rye show tool rye/bash/bash", "rye show demo/hello --json"},
		Codes:    []diag.Code{diag.ItemNotFound, diag.AmbiguousItem},
		Complete: complete.Item(),
		Run:      runShow,
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
	Author      string         `json:"author,omitempty"`
	Tags        []string       `json:"tags,omitempty"`
	References  []string       `json:"references,omitempty"`
	Extends     []string       `json:"extends,omitempty"` // the nearest first
	Directive   *prepare.Typed `json:"directive,omitempty"`
	Calls       policy.Set     `json:"calls,omitempty"` // of its program, through the broker
	Fallback    bool           `json:"parse_fallback,omitempty"`
	Shadows     []string       `json:"shadows,omitempty"`
	Sealed      bool           `json:"sealed,omitempty"`
	Verdict     any            `json:"verdict"`
	Findings    []diag.Finding `json:"findings,omitempty"`
}

func runShow(ctx context.Context, c *cli.Call) error {
	h, err := env.Of(c).Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	it, err := project.OneItem(ctx, h, c.Args)
	if err != nil {
		return err
	}
	v := itemView{
		Element:     primary.ElementOf(it),
		Title:       it.Meta.Title,
		Description: it.Meta.Description,
		ToolType:    it.Meta.ToolType,
		Inputs:      it.Meta.Inputs,
		Outputs:     it.Meta.Outputs,
		Schema:      it.Meta.Schema,
		Permissions: it.Meta.Permissions,
		Author:      it.Meta.Author,
		Tags:        it.Meta.Tags,
		References:  prepare.References(it),
		Fallback:    it.Meta.Fallback,
		Sealed:      resolve.Sealed(it.Ref),
		Verdict:     it.Verdict,
		Findings:    it.Findings,
	}
	if it.Ref.Kind == item.Directive {
		v.Directive = prepare.TypedOf(ctx, h, it)
		v.Inputs, v.Outputs, v.Extends, v.Permissions = v.Directive.Inputs, v.Directive.Outputs, v.Directive.Extends, v.Directive.Permissions.Texts()
	}
	if it.Ref.Kind == item.Tool {
		own, _ := it.Confinement() // the item has its findings
		v.Calls = own.Calls
	}
	if it.Meta.HasExecutor {
		v.Executor = &it.Meta.ExecutorID
	}
	shadows, err := h.Resolver.Shadows(ctx, it.Ref)
	if err != nil {
		return err
	}
	for _, s := range shadows {
		if s.Root != it.Root {
			v.Shadows = append(v.Shadows, s.Root.Display(s.Rel))
		}
	}
	return c.UI.Show(v, func() {
		showItem(c.UI, &v, it)
	})
}

func showItem(u *cli.UI, v *itemView, it *resolve.Item) {
	t := cli.NewTable("show")
	row := func(name, value string) {
		if value != "" {
			t.Add(u.Style(cli.Dim, name), value)
		}
	}
	u.Out("%s %s", u.Style(cli.Bold, v.Ref), v.Version)
	row("title", v.Title)
	row("description", v.Description)
	row("file", v.Path)
	row("space", v.Space)
	row("tool type", v.ToolType)
	row("executor", it.Meta.ExecutorID)
	row("author", v.Author)
	row("tags", strings.Join(v.Tags, ", "))
	for _, ref := range v.References {
		row("reference", ref)
	}
	row("extends", strings.Join(v.Extends, " → "))
	if v.Fallback {
		row("parse", "fallback: read line by line, because the file has a syntax error")
	}
	row("trust", trustLine(it))
	row("digest", v.Digest.String())
	for _, s := range v.Shadows {
		row("also in", s)
	}
	for _, p := range v.Permissions {
		row("permission", p)
	}
	if v.Directive != nil {
		for _, line := range v.Directive.Lines() {
			row(line[0], line[1])
		}
	}
	for _, c := range v.Calls {
		row("may call", string(c))
	}
	for _, in := range v.Inputs {
		row("input", inputLine(in))
	}
	for _, out := range v.Outputs {
		row("output", inputLine(out))
	}
	for _, p := range parameterLines(it) {
		row("parameter", p)
	}
	u.Table(t)
	for _, f := range v.Findings {
		u.Finding(f)
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

// parameterLines renders the properties of a tool's schema, one per line.
func parameterLines(it *resolve.Item) []string {
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

// trustLine states the trusted signer of an item, or why its signature is not
// trusted.
func trustLine(it *resolve.Item) string {
	v := it.Verdict
	if !v.OK() {
		s := string(v.Status) + ": " + string(v.Code)
		if len(v.Reasons) > 0 {
			s += ", " + v.Reasons[0]
		}
		return s
	}
	return "signed by " + view.SignerOf(it) + ", trusted by " + string(v.Tier)
}

func ChainCommand() *cli.Command {
	return &cli.Command{
		Name:  "chain",
		Group: "Items",
		Usage: "print the chain of a tool: runtimes and primitive",
		Args:  "KIND|REF|PATH [ID]",
		Long: `Every element is resolved, verified and validated as for a run, and all findings
are shown. An interpreter is shown if it is a program of the project; -v and --json
show all interpreters.`,
		Examples: []string{"rye chain tool rye/bash/bash", "rye chain demo/hello --json"},
		Codes: []diag.Code{
			diag.ToolNotFound,
			diag.ExecutorNotFound,
			diag.CircularDependency,
			diag.ChainTooDeep,
			diag.HashMismatch,
			diag.KeyUnknown,
		},
		Complete: complete.Item(item.Tool),
		Run:      runChain,
	}
}

func runChain(ctx context.Context, c *cli.Call) error {
	h, err := env.Of(c).Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	ref, err := project.OneRef(ctx, h, c.Args)
	if err != nil {
		return err
	}
	if ref.Kind != item.Tool {
		return diag.New(diag.Usage, "printing the chain of %s: only tools have a chain", ref)
	}
	chain, err := h.Executor.Chain(ctx, ref)
	if chain == nil {
		return err
	}
	elements := primary.Elements(chain)
	if err != nil {
		view.Chain(c.UI, elements)
		if !c.UI.AsJSON {
			return err
		}
		return cli.Shown(err, map[string]any{"chain": elements})
	}
	programs, err := h.Executor.Programs(ctx, chain)
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]any{"chain": elements, "interpreters": programs}, func() {
		view.Chain(c.UI, elements)
		showPrograms(c.UI, programs)
	})
}

// showPrograms lists the interpreters of a tool. Interpreters of the machine are shown
// with -v only, because they need no consent.
func showPrograms(u *cli.UI, programs []exec.Interpreter) {
	for _, in := range programs {
		switch {
		case in.Missing != "":
			u.Out("interpreter %s is not installed", in.Missing)
		case in.Refused != "":
			u.Out("interpreter %s  in the project, refused: %s", in.Path, in.Refused)
		case in.Local:
			u.Out("interpreter %s  in the project, you trust %s", in.Path, in.Digest)
		case u.Detailed:
			u.Out("interpreter %s  on this machine", in.Path)
		}
	}
}
