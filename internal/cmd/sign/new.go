package sign

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/templates"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/draft"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/internal/signing"
	"github.com/ryeos/rye/internal/stepsource"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/threads/steps"
)

// newOptions are the flags of rye new.
type newOptions struct{ lang, description, key string }

// languages are the values of --lang and the extensions of their files.
func languages() map[string]string {
	return map[string]string{
		"python": ".py",
		"bash":   ".sh",
		"node":   ".js",
		"yaml":   ".yaml",
		"json":   ".json",
	}
}

func NewCommand() *cli.Command {
	o := newOptions{lang: "python"}
	return &cli.Command{
		Name:  "new",
		Group: "Items",
		Usage: "write a valid, signed item to start from",
		Args:  "KIND ID",
		Long: `KIND is tool, graph, directive, knowledge, config or step. A tool is written in the
language of --lang: python, bash, node, yaml or json. A graph is a tool that calls other
items in an order; rye graph run starts it. A step replaces a step of the loop of
threads: ID is its name, and the program, in python or bash, does what the step of rye does.`,
		Examples: []string{"rye new tool demo/hello", "rye new graph demo/count", "rye new step watchdog", "rye new tool demo/build --lang bash", "rye new directive triage/label --description 'Label an issue.'"},
		Codes:    []diag.Code{diag.AuthRequired, diag.AmbiguousItem},
		Flags: []cli.Flag{
			cli.String(&o.lang, "lang", "`LANGUAGE` of a tool or a step").OneOf(slices.Sorted(maps.Keys(languages()))...),
			cli.String(&o.description, "description", "one line of `TEXT`"),
			cli.String(&o.key, "key", "sign with this `KEY`"),
		},
		Complete: complete.Kinds,
		Run: func(ctx context.Context, c *cli.Call) error {
			return runNew(ctx, c, &o)
		},
	}
}

// templateExt returns the extension of the template for a kind.
func templateExt(kind item.Kind, lang string) (string, error) {
	ext := map[item.Kind]string{item.Directive: ".md", item.Knowledge: ".md", item.Config: ".yaml"}[kind]
	if kind == item.Tool {
		ext = languages()[lang]
	}
	if ext == "" {
		return "", diag.New(diag.Usage, "writing a new item: there is no template for kind %q, only for tool, graph, directive, knowledge, config and step", kind)
	}
	return ext, nil
}

func runNew(ctx context.Context, c *cli.Call, o *newOptions) error {
	e := env.Of(c)
	e.Key = o.key
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	root, err := h.NeedProject()
	if err != nil {
		return err
	}
	start, err := startOf(c.Arg(0), c.Arg(1), o)
	if err != nil {
		return err
	}
	ref := start.ref
	if err := free(ctx, h, ref); err != nil {
		if more := relock.Complete(ctx, h, ref); more != nil {
			return more
		}
		return err
	}
	signer, err := h.Keys.Signer(ctx)
	if err != nil {
		return err
	}
	text := start.text
	if text == "" {
		if text, err = fill(start, ownerOf(h, signer), o.description); err != nil {
			return err
		}
	}
	kindExt, err := h.Resolver.Extractor(ctx, ref.Kind)
	if err != nil {
		return err
	}
	reports, err := signing.Create(
		ctx,
		h,
		root,
		signer,
		path.Join(kindExt.Folder, ref.ID+start.ext),
		[]byte(text),
	)
	if err != nil {
		return err
	}
	if err := relock.Refresh(ctx, h, reports); err != nil {
		return err
	}
	return view.Signed(c.UI, reports, &view.SignOptions{})
}

// newItem is what rye new writes: text is "" for a template.
type newItem struct {
	ref       item.Ref
	ext, text string
	template  string // its name, without the extension
}

// startOf reads the arguments of rye new.
func startOf(kind, id string, o *newOptions) (newItem, error) {
	if kind == "step" {
		text, ext, err := stepsource.Read(id, o.lang)
		return newItem{ref: item.Ref{Kind: item.Tool, ID: steps.Dir + id}, ext: ext, text: text}, err
	}
	if kind == draft.GraphType {
		ref, err := item.ParseRef(id, item.Tool)
		return newItem{ref: ref, ext: ".yaml", template: draft.GraphType}, err
	}
	ref, err := item.ParseRef(id, item.Kind(kind))
	if err != nil {
		return newItem{}, err
	}
	ext, err := templateExt(ref.Kind, o.lang)
	return newItem{ref: ref, ext: ext, template: string(ref.Kind)}, err
}

// free returns nil when the project holds no file for the ref.
func free(ctx context.Context, h *project.Project, ref item.Ref) error {
	entries, err := h.Resolver.Shadows(ctx, ref)
	if err != nil {
		return err
	}
	root, err := h.NeedProject()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Root == root {
			return diag.New(diag.AmbiguousItem, "writing %s: %s exists", ref, root.Display(e.Rel)).WithReason("id_taken")
		}
	}
	return nil
}

// ownerOf returns the owner's name in the trust document of the signer's key, if every format
// of a template can carry it.
func ownerOf(h *project.Project, s sign.Signer) string {
	fp := sign.FingerprintOf(s.Public())
	for _, k := range h.Trust.Keys() {
		if k.Fingerprint == fp &&
			k.Owner != "" &&
			!strings.ContainsAny(k.Owner, `<>&"`) {
			return k.Owner
		}
	}
	return "me"
}

func fill(start newItem, author, description string) (string, error) {
	ref := start.ref
	b, err := templates.Files.ReadFile(start.template + start.ext)
	if err != nil {
		return "", err
	}
	title := strings.ReplaceAll(strings.ReplaceAll(ref.Name(), "_", " "), "-", " ")
	if description == "" {
		description = "What " + ref.Name() + " does, in one line."
	}
	i := slices.IndexFunc([]byte(description), func(b byte) bool {
		return b == '"' || b == '\\' || b == '<' || b == '&' || b < ' '
	})
	if i >= 0 {
		return "", diag.New(diag.Usage, "writing %s: the description contains %q, which some formats cannot represent", ref, description[i:i+1])
	}
	return strings.NewReplacer("{{name}}", ref.Name(), "{{category}}", ref.Category(), "{{description}}", description,
		"{{title}}", strings.ToUpper(title[:1])+title[1:], "{{author}}", author).Replace(string(b)), nil
}
