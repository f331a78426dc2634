package steps

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/message"
)

// The positions of context.
const (
	atSystem = "system"
	atBefore = "before"
	atAfter  = "after"
)

// compose makes what the model reads first: system texts, the first user message and
// the definitions of the tools.
//
// Params: Material. Result: Prompt.
//
// The hooks of thread_started ran before: their texts are parts of the system text and of the
// first message.
func compose(ctx context.Context, in Input) (Output, error) {
	m, err := params[Material]("compose", in)
	if err != nil {
		return Output{}, err
	}
	root, err := in.Services.Config(ctx, AgentConfig)
	if err != nil {
		return Output{}, err
	}
	r := tree.NewReader(&tree.Doc{Root: root}, diag.ConfigError)
	texts := r.Map("texts")
	c := &composer{
		m:               &m,
		ratio:           r.Number("context_max_ratio", 1, 0, 1),
		maxDirect:       int(r.Map("tools").Int("max_direct", 24, 0, 1000)),
		maxDirectTokens: r.Map("tools").Int("max_direct_tokens", 8000, 0, 1_000_000),
		texts:           map[string]any{},
	}
	for _, k := range texts.Keys() {
		c.texts[k] = texts.Text(k)
	}
	err = diag.FromFindings("reading config:"+AgentConfig, r.Findings())
	if err != nil {
		return Output{}, err
	}
	p, err := c.prompt()
	if err != nil {
		return Output{}, err
	}
	return done(p)
}

type composer struct {
	m               *Material
	texts           map[string]any
	ratio           float64 // of the window that context may fill
	maxDirect       int
	maxDirectTokens int64
}

func (c *composer) text(name string, values ...string) (string, error) {
	return fill(c.texts, name, values...)
}

func (c *composer) prompt() (*Prompt, error) {
	placed, err := c.context()
	if err != nil {
		return nil, err
	}
	p := &Prompt{Message: message.Message{Role: message.User}}
	if p.System, err = c.system(placed[atSystem]); err != nil {
		return nil, err
	}
	if p.Message.Blocks, err = c.first(placed); err != nil {
		return nil, err
	}
	if p.Tools, err = c.tools(); err != nil {
		return nil, err
	}
	p.Estimate = p.estimate()
	return p, nil
}

func (p *Prompt) estimate() int64 {
	n := 0
	for _, s := range p.System {
		n += len(s.Text)
	}
	for _, b := range p.Message.Blocks {
		n += len(b.Text)
	}
	for _, t := range p.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return tokens(n)
}

// tokens estimates the tokens of a text by its bytes.
func tokens(bytes int) int64 {
	return int64(bytes+3) / 4
}

// context returns the entries by their position, in order, each in a fence.
func (c *composer) context() (map[string][]SystemText, error) {
	out := map[string][]SystemText{}
	var used int64
	var sizes []string
	add := func(at, source, ref, digest, verdict, text string) {
		f := SystemText{source, digest, fence(ref, digest, verdict, text)}
		out[at] = append(out[at], f)
		n := tokens(len(f.Text))
		used += n
		sizes = append(sizes, fmt.Sprintf("%s %d", ref, n))
	}
	for i := range c.m.Context {
		e := &c.m.Context[i]
		text, err := c.entry(e)
		switch {
		case err != nil:
			return nil, err
		case !e.Missing:
			add(position(e.At), e.Ref, e.Ref, e.Digest, e.Verdict, text)
		}
	}
	for _, h := range c.m.Hooks {
		digest := item.DigestOf([]byte(h.Text)).String()
		origin := trusted
		if strings.HasPrefix(h.Ref, "tool:") {
			origin = "result" // the item is trusted, and its output is material
		}
		add(position(h.Position), "hook:"+h.Hook, h.Ref, digest, origin, h.Text)
	}
	limit := int64(c.ratio * float64(c.m.Window))
	if c.m.Window > 0 && used > limit {
		return nil, diag.New(diag.ValidationFailed, "composing the prompt of %s: its context has about %d tokens, and at most %d fit (%v of the window of %d): %s",
			c.m.Directive.Ref, used, limit, c.ratio, c.m.Window, strings.Join(sizes, ", ")).
			WithDetail("tokens", used).
			WithDetail("max", limit)
	}
	return out, nil
}

func position(at string) string {
	if at == "" {
		return atBefore
	}
	return at
}

// entry returns the text of one entry, cut at its own bound. Only trusted items are
// instructions; what an agent or the runtime signed needs rye.draft.
func (c *composer) entry(e *ContextItem) (string, error) {
	ref, err := item.ParseRef(e.Ref, item.Knowledge)
	switch {
	case err != nil:
		return "", diag.New(diag.ValidationFailed, "composing the prompt of %s: the context %q: %w", c.m.Directive.Ref, e.Ref, err)
	case !slices.Contains([]string{atSystem, atBefore, atAfter}, position(e.At)):
		return "", diag.New(diag.ValidationFailed, "composing the prompt of %s: the context %s is at %q, must be at system, before or after", c.m.Directive.Ref, ref, e.At)
	case e.Missing && e.Optional:
		return "", nil
	case e.Missing:
		return "", diag.New(diag.ItemNotFound, "composing the prompt of %s: the context %s does not exist in any space", c.m.Directive.Ref, ref)
	case e.Verdict != trusted && !(e.Draft && (e.Verdict == "agent" || e.Verdict == "runtime")):
		return "", c.untrusted(ref, e.Verdict)
	case e.MaxTokens <= 0 || tokens(len(e.Text)) <= e.MaxTokens:
		return e.Text, nil
	}
	return c.cut(ref, e)
}

// untrusted returns the refusal of a context with what helps: a signature of the person for a file that has
// no valid one, the capability for what an agent or the runtime signed.
func (c *composer) untrusted(ref item.Ref, verdict string) error {
	err := diag.New(diag.PermissionDenied, "composing the prompt of %s: the context %s is %s, and only trusted items become context", c.m.Directive.Ref, ref, verdict).
		WithDetail("ref", ref.String())
	switch verdict {
	case "agent", "runtime":
		capability := policy.Cap(
			"rye.draft." + string(ref.Kind) + "." + strings.ReplaceAll(ref.ID, "/", "."),
		)
		err = err.WithDetail("missing", string(capability))
		if verdict == "agent" {
			err = err.WithReason("context_agent")
		}
		return err
	case string(diag.Unsigned),
		string(diag.HashMismatch),
		string(diag.SigInvalid),
		string(diag.SigMalformed),
		string(diag.Legacy):
		return err.WithReason("context_unsigned")
	}
	return err.WithReason("context_untrusted")
}

// cut returns the first lines of a text that fit, with the call that reads the rest.
func (c *composer) cut(ref item.Ref, e *ContextItem) (string, error) {
	end := 0
	for line := range strings.Lines(e.Text) {
		if tokens(end+len(line)) > e.MaxTokens {
			break
		}
		end += len(line)
	}
	left := strings.Count(strings.TrimSuffix(e.Text[end:], "\n"), "\n") + 1
	args, err := jsonx.Marshal(map[string]any{"item_type": string(ref.Kind), "item_id": ref.ID})
	if err != nil {
		return "", err
	}
	note, err := c.text(
		"cut_context",
		"lines",
		strconv.Itoa(left),
		"call",
		verbName(policy.Load)+" "+string(args),
	)
	return e.Text[:end] + note, err
}

// fence encloses a text in an element whose name contains the start of the digest of
// its file, so that the text cannot close it.
func fence(ref, digest, verdict, text string) string {
	name := "context-" + first16(digest)
	for n := 1; strings.Contains(text, name); n++ {
		name = "context-" + first16(item.DigestOf([]byte(digest+" "+strconv.Itoa(n))).String())
	}
	return fmt.Sprintf(
		"<%s ref=%s trust=%s>\n%s\n</%[1]s>",
		name,
		attribute(ref),
		attribute(verdict),
		strings.TrimRight(text, "\n"),
	)
}

func first16(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return hex[:min(16, len(hex))]
}

// attribute quotes a value of an attribute.
func attribute(s string) string {
	return `"` + strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ").Replace(s) + `"`
}

// system returns the system texts, one block for each source.
func (c *composer) system(context []SystemText) ([]SystemText, error) {
	out := []SystemText{}
	// A thread that follows the system directive itself reads it in the first message.
	s := c.m.System
	if s != nil && s.Ref != c.m.Directive.Ref {
		body := strings.TrimSpace(tmpl.Inputs(s.Text, nil))
		if body != "" {
			out = append(out, SystemText{s.Ref, s.Digest, body})
		}
	}
	facts, err := c.facts()
	if err != nil {
		return nil, err
	}
	out = append(out, SystemText{Source: "facts", Text: facts})
	f := c.m.Facts
	environment := f.Environment
	if f.Path != "" {
		environment, err = c.text(
			"environment",
			"path",
			f.Path,
			"platform",
			f.Platform,
			"shell",
			f.Shell,
			"git",
			f.Git,
		)
		if err != nil {
			return nil, err
		}
	}
	if environment != "" {
		out = append(out, SystemText{Source: message.EnvironmentSource, Text: environment})
	}
	return append(out, context...), nil
}

// facts returns the facts and one line for each verb that the thread may use.
func (c *composer) facts() (string, error) {
	f := c.m.Facts
	text, err := c.text(
		"facts",
		"date",
		f.Date,
		"system",
		f.System,
		"project",
		f.Project,
		"workspace",
		f.Workspace,
	)
	if err != nil {
		return "", err
	}
	lines := []string{text}
	for _, verb := range []policy.Verb{policy.Search, policy.Load, policy.Execute, policy.Sign} {
		items := permitted(c.m.Capabilities, verb)
		if len(items) > 0 {
			line, err := c.text(
				"may",
				"verb",
				string(verb),
				"items",
				strings.Join(items, ", "),
			)
			if err != nil {
				return "", err
			}
			lines = append(lines, line)
		}
	}
	if len(lines) == 1 {
		line, err := c.text("nothing")
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

// permitted returns the items that capabilities permit for a verb, as "tool gh/issue", sorted.
func permitted(caps policy.Set, verb policy.Verb) []string {
	var out []string
	for _, c := range caps {
		s, ok := strings.CutPrefix(string(c), "rye."+string(verb))
		if c == "rye.*" {
			s = ".*"
			ok = true
		}
		if !ok || s != "" && s[0] != '.' {
			continue
		}
		kind, id, whole := strings.Cut(strings.TrimPrefix(s, "."), ".")
		what := strings.TrimSpace(kind + " " + strings.ReplaceAll(id, ".", "/"))
		if !whole && kind == "" {
			what = "*"
		}
		if !slices.Contains(out, what) {
			out = append(out, what)
		}
	}
	slices.Sort(out)
	return out
}

// first returns the blocks of the first user message.
func (c *composer) first(placed map[string][]SystemText) ([]message.Block, error) {
	directive, err := c.directive()
	if err != nil {
		return nil, err
	}
	before := append(textsOf(placed[atBefore]), directive)
	after := textsOf(placed[atAfter])
	if s := strings.TrimSpace(c.m.Message); s != "" {
		after = append(after, s)
	}
	for i, b := range c.m.Attachments {
		if err := c.accepts(i, b); err != nil {
			return nil, err
		}
	}
	if len(c.m.Attachments) == 0 {
		return []message.Block{message.TextBlock(strings.Join(append(before, after...), "\n\n"))}, nil
	}
	out := append(
		[]message.Block{message.TextBlock(strings.Join(before, "\n\n"))},
		c.m.Attachments...,
	)
	if len(after) > 0 {
		out = append(out, message.TextBlock(strings.Join(after, "\n\n")))
	}
	return out, nil
}

func textsOf(list []SystemText) []string {
	var out []string
	for _, f := range list {
		out = append(out, f.Text)
	}
	return out
}

// maxAttachments is the largest number of attachments of a thread.
const maxAttachments = 16

// accepts checks that the model reads an attachment.
func (c *composer) accepts(i int, b message.Block) error {
	need := ""
	switch {
	case b.Type == message.Image:
		need = "image"
	case b.Type == message.File && b.MediaType == "application/pdf":
		need = "pdf"
	case b.Type != message.Text && b.Type != message.File:
		return diag.New(diag.ValidationFailed, "composing the prompt of %s: attachment %d is a block of the type %s", c.m.Directive.Ref, i+1, b.Type)
	}
	switch {
	case i >= maxAttachments:
		return diag.New(
			diag.ValidationFailed,
			"composing the prompt of %s: it has %d attachments, and at most %d are permitted",
			c.m.Directive.Ref,
			len(c.m.Attachments),
			maxAttachments,
		)
	case need != "" && !slices.Contains(c.m.Accepts, need):
		return diag.New(
			diag.ValidationFailed,
			"composing the prompt of %s: the model does not read attachment %d %s (%s)",
			c.m.Directive.Ref,
			i+1,
			b.Name,
			b.MediaType,
		)
	}
	return nil
}

// directive returns the directive with its inputs filled in, and the instruction about
// its outputs. A value is never a template again.
func (c *composer) directive() (string, error) {
	d := c.m.Directive
	values := make(map[string]string, len(c.m.Inputs))
	name := "directive"
	for k, v := range c.m.Inputs {
		s, ok := v.(string)
		if !ok {
			b, err := jsonx.Marshal(v)
			if err != nil {
				return "", diag.New(diag.ValidationFailed, "composing the prompt of %s: the input %s: %w", d.Ref, k, err)
			}
			s = string(b)
		}
		// A value could end the element and continue with steps of its own.
		if strings.Contains(strings.ToLower(s), "</directive") {
			name = "directive-" + first16(d.Digest)
		}
		values[k] = s
	}
	body := strings.Trim(tmpl.Inputs(d.Body, values), "\n")
	text := fmt.Sprintf("<%s name=%s version=%s>\n%s\n</%[1]s>", name, attribute(d.Name), attribute(d.Version), body)
	if len(c.m.Outputs) == 0 {
		return text, nil
	}
	instruction, err := c.text("return", "outputs", outputList(c.m.Outputs))
	return text + "\n" + instruction, err
}

// outputList describes outputs: one in the line, several as a list.
func outputList(outputs []Field) string {
	var lines []string
	for _, o := range outputs {
		kind := typeOf(o)
		if o.Required {
			kind += ", required"
		}
		line := fmt.Sprintf("%s (%s)", o.Name, kind)
		if o.Description != "" {
			line += ": " + o.Description
		}
		lines = append(lines, line)
	}
	if len(lines) == 1 {
		return lines[0]
	}
	return "\n- " + strings.Join(lines, "\n- ")
}

func typeOf(f Field) string {
	if f.Type == "" {
		return "string"
	}
	return f.Type
}
