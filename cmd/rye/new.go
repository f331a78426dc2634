package main

import (
	"context"
	"embed"
	"path"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/sign"
)

//go:embed templates
var templates embed.FS

func newCommand() *command {
	return &command{
		name: "new", group: "Items",
		usage: "write a valid, signed item to start from", args: "KIND ID",
		long: `KIND is tool, directive, knowledge or config. A tool is written in the language
of --lang: python, bash, node, yaml or json.`,
		examples: []string{"rye new tool demo/hello", "rye new tool demo/build --lang bash", "rye new directive triage/label --description 'Label an issue.'"},
		codes:    []diag.Code{diag.AuthRequired, diag.AmbiguousItem},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "lang", Value: "python", Usage: "`LANGUAGE` of a tool"},
			&cli.StringFlag{Name: "description", Usage: "one line of `TEXT`"},
			&cli.StringFlag{Name: "key", Usage: "sign with this `KEY`"},
		},
		complete: completeKinds,
		run:      runNew,
	}
}

// template returns the template of a kind and its extension.
func (c *call) template(kind item.Kind) (string, error) {
	byLang := map[string]string{"python": ".py", "bash": ".sh", "node": ".js", "yaml": ".yaml", "json": ".json"}
	ext := map[item.Kind]string{item.Directive: ".md", item.Knowledge: ".md", item.Config: ".yaml"}[kind]
	if kind == item.Tool {
		ext = byLang[c.str("lang")]
		if ext == "" {
			return "", diag.New(diag.Usage, "writing a tool: there is no template for language %q", c.str("lang")).
				WithHint("write --lang python, bash, node, yaml or json")
		}
	}
	if ext == "" {
		return "", diag.New(diag.Usage, "writing a new item: there is no template for kind %q", kind).
			WithHint("write tool, directive, knowledge or config")
	}
	return ext, nil
}

func runNew(ctx context.Context, c *call) error {
	h, err := c.house(ctx, lenient)
	if err != nil {
		return err
	}
	root, err := h.needProject()
	if err != nil {
		return err
	}
	ref, err := item.ParseRef(c.arg(1), item.Kind(c.arg(0)))
	if err != nil {
		return err
	}
	ext, err := c.template(ref.Kind)
	if err != nil {
		return err
	}
	if err := h.free(ctx, ref); err != nil {
		return err
	}
	signer, err := c.signer(ctx, h)
	if err != nil {
		return err
	}
	text, err := c.fill(ref, ext, h.ownerOf(signer))
	if err != nil {
		return err
	}
	kindExt, err := h.resolver.Extractor(ctx, ref.Kind)
	if err != nil {
		return err
	}
	rel := path.Join(kindExt.Folder, ref.ID+ext)
	if err := root.Create(rel, []byte(text)); err != nil {
		return err
	}
	reports, err := h.primary.Sign(ctx, primary.SignCall{Targets: []string{root.Path(rel)}, Dir: c.dir, Signer: signer})
	if err != nil {
		return err
	}
	return c.signed(reports)
}

// free returns nil when the project holds no file for the ref.
func (h *house) free(ctx context.Context, ref item.Ref) error {
	entries, err := h.resolver.Shadows(ctx, ref)
	if err != nil {
		return err
	}
	root, err := h.needProject()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Root == root {
			return diag.New(diag.AmbiguousItem, "writing %s: %s exists", ref, root.Display(e.Rel)).WithHint("choose another id")
		}
	}
	return nil
}

// ownerOf returns what the trust document of the signer's key calls its owner,
// if every format of a template can carry that.
func (h *house) ownerOf(s sign.Signer) string {
	fp := sign.FingerprintOf(s.Public())
	for _, k := range h.trust.Keys() {
		if k.Fingerprint == fp && k.Owner != "" && !strings.ContainsAny(k.Owner, `<>&"`) {
			return k.Owner
		}
	}
	return "me"
}

func (c *call) fill(ref item.Ref, ext, author string) (string, error) {
	b, err := templates.ReadFile("templates/" + string(ref.Kind) + ext)
	if err != nil {
		return "", err
	}
	title := strings.ReplaceAll(strings.ReplaceAll(ref.Name(), "_", " "), "-", " ")
	description := c.str("description")
	if description == "" {
		description = "What " + ref.Name() + " does, in one line."
	}
	if i := slices.IndexFunc([]byte(description), func(b byte) bool { return b == '"' || b == '\\' || b == '<' || b == '&' || b < ' ' }); i >= 0 {
		return "", diag.New(diag.Usage, "writing %s: the description holds %q, which some formats cannot carry as it is", ref, description[i:i+1])
	}
	return strings.NewReplacer("{{name}}", ref.Name(), "{{category}}", ref.Category(), "{{description}}", description,
		"{{title}}", strings.ToUpper(title[:1])+title[1:], "{{author}}", author).Replace(string(b)), nil
}
