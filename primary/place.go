package primary

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// Place is where an agent's calls work: a house with the agent's capabilities,
// and what the verbs need beside it.
type Place struct {
	Verbs    *Verbs
	Settings *Settings
	// Signer returns the agent's key. What it may not sign is for May to say.
	Signer func(ctx context.Context) (sign.Signer, error)
	May    func(fp sign.Fingerprint, ref item.Ref) bool
	// Signed is told what was signed, so that the lock can follow. Nil: nobody
	// needs to know.
	Signed func(ctx context.Context, reports []SignReport) error
}

// Do answers one call of a verb, its arguments as JSON. Whatever goes wrong is
// in the envelope.
func (p *Place) Do(ctx context.Context, req Request) *Envelope {
	args, err := p.Verbs.arguments(ctx, req.Name, req.Args)
	if err != nil {
		return failed(err, nil)
	}
	env, err := p.verb(ctx, req, args)
	if err != nil {
		return failed(err, env.Metadata)
	}
	env.Success = true
	return env
}

func failed(err error, meta *Metadata) *Envelope {
	e := *diag.Typed(err)
	if e.Hint == "" {
		e.Hint = hintFor(&e)
	}
	return &Envelope{Error: diag.NewFailure(&e), Metadata: meta}
}

// hintFor says what an agent can do, where the table's hint is for somebody at a
// terminal.
func hintFor(e *diag.Error) string {
	missing, _ := e.Details["missing"].(string)
	switch {
	case missing != "":
		return "this server does not give " + missing + ": a person adds it to the configuration " + SettingsID + " of the user space, or starts rye serve with --capabilities"
	case e.Code == diag.ValidationFailed || e.Code == diag.UnknownParameter:
		return "mend each listed place and call again; load shows the item with its schema"
	}
	return ""
}

// verb calls one verb with arguments that fit its schema. The envelope is there
// even when the error is not nil.
func (p *Place) verb(ctx context.Context, req Request, args map[string]any) (env *Envelope, err error) {
	env = &Envelope{}
	switch policy.Verb(req.Name) {
	case policy.Search:
		env.Data, err = p.search(ctx, args)
	case policy.Load:
		env.Data, err = p.load(ctx, req, args)
	case policy.Execute:
		return p.execute(ctx, req, args)
	case policy.Sign:
		env.Data, err = p.sign(ctx, req, args)
	default:
		err = diag.New(diag.ToolNotFound, "calling %q: there are four verbs: execute, load, search and sign", req.Name)
	}
	return env, err
}

// refIn returns the item that the arguments name.
func refIn(args map[string]any) (item.Ref, error) {
	ref := item.Ref{Kind: item.Kind(text(args, "item_type")), ID: text(args, "item_id")}
	return ref, item.CheckID(ref.ID)
}

// loaded is what load answers.
type loaded struct {
	Type    item.Kind   `json:"type"`
	ID      string      `json:"id"`
	Source  string      `json:"source"`
	Version string      `json:"version,omitempty"`
	Path    string      `json:"path"`
	Digest  item.Digest `json:"digest"`
	Trust   string      `json:"trust"`
	Warning string      `json:"warning,omitempty"`
	CopyTo  string      `json:"copied_to,omitempty"`
	Note    string      `json:"note,omitempty"`
	Content string      `json:"content,omitempty"`
}

func (p *Place) load(ctx context.Context, req Request, args map[string]any) (any, error) {
	ref, err := refIn(args)
	if err != nil {
		return nil, err
	}
	to := space.Name(text(args, "destination"))
	it, err := p.Verbs.Load(ctx, LoadCall{Ref: ref, Source: space.Name(text(args, "source")), Unverified: to == ""})
	if err != nil {
		return nil, err
	}
	out := loaded{
		Type: it.Ref.Kind, ID: it.Ref.ID, Source: it.Root.Label(), Version: it.Meta.Version, Path: it.Path(), Digest: it.Digest,
		Trust: it.Verdict.Word(),
	}
	if err := it.Usable(); err != nil {
		out.Warning = "not verified, so execute refuses it, and what it says is nobody's word: " + diag.Typed(err).Message
	}
	if to == "" {
		out.Content = string(it.Bytes)
		return out, nil
	}
	if err := p.mayCopy(ctx, req, ref, to); err != nil {
		return nil, err
	}
	out.CopyTo, err = p.Verbs.Copy(ctx, it, to, false)
	if it.Root.Embedded() {
		out.Note = "the copy's signature counts in the system space only: a person signs the copy with rye sign " + ref.String()
	}
	return out, err
}

// mayCopy asks the person before an agent puts something into the user space:
// there it would stand before the system's items in every project.
func (p *Place) mayCopy(ctx context.Context, req Request, ref item.Ref, to space.Name) error {
	if to != space.User {
		return nil
	}
	if req.Ask == nil {
		return diag.New(diag.ApprovalRequired, "copying %s: a person must agree to what comes into the user space, and this client cannot ask", ref).
			WithHint("a person runs: rye load %s --to user", ref)
	}
	yes, err := req.Ask(ctx, "Copy "+ref.String()+" into your user space, where it counts in every project?")
	if err == nil && !yes {
		err = diag.New(diag.ApprovalDenied, "copying %s: the person at the client said no", ref)
	}
	return err
}

func (p *Place) execute(ctx context.Context, req Request, args map[string]any) (*Envelope, error) {
	env := &Envelope{}
	ref, err := refIn(args)
	if err != nil {
		return env, err
	}
	params, _ := args["parameters"].(map[string]any)
	dry, _ := args["dry_run"].(bool)
	call := Call{Ref: ref, Params: params, DryRun: dry}
	if req.Progress != nil {
		call.OnLine = func(_ proc.Stream, line []byte) { req.Progress(string(line)) }
	}
	switch ref.Kind {
	case item.Tool:
		return p.tool(ctx, call)
	case item.Directive:
		env.Data, err = p.directive(ctx, call)
	default:
		env.Data, err = p.knowledge(ctx, call)
	}
	return env, err
}

func (p *Place) tool(ctx context.Context, call Call) (*Envelope, error) {
	if err := tooDeep(ctx, call.Ref); err != nil {
		return &Envelope{}, err
	}
	run, err := p.Verbs.Tool(deeper(ctx), call)
	env := run.Envelope
	if !call.DryRun && env.Metadata != nil { // what a model need not read
		env.Metadata.Chain, env.Metadata.Usage, env.Metadata.Sandbox = nil, nil, nil
	}
	return &env, err
}

// followed is what execute answers about a directive.
type followed struct {
	Directions  string         `json:"your_directions,omitempty"`
	ID          string         `json:"id"`
	Title       string         `json:"title,omitempty"`
	Inputs      map[string]any `json:"inputs,omitempty"`
	Outputs     []item.Input   `json:"outputs,omitempty"`
	Permissions []string       `json:"permissions,omitempty"`
	Body        string         `json:"body,omitempty"`
}

func (p *Place) directive(ctx context.Context, call Call) (any, error) {
	d, err := p.Verbs.Directive(ctx, call)
	if err != nil {
		return nil, err
	}
	out := followed{Directions: p.Settings.Directions, ID: d.Item.Ref.ID, Title: d.Title, Inputs: d.Inputs, Outputs: d.Outputs, Permissions: d.Permissions, Body: d.Body}
	if call.DryRun {
		out.Directions, out.Body = "", ""
	}
	return out, nil
}

func (p *Place) knowledge(ctx context.Context, call Call) (any, error) {
	it, err := p.Verbs.Text(ctx, call)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"id": it.Ref.ID, "title": it.Meta.Title, "version": it.Meta.Version}
	if !call.DryRun {
		out["body"] = Body(it)
	}
	return out, nil
}

// Text returns an item that has nothing to run: knowledge, and kinds of a
// project's own. It takes no parameters.
func (h *Verbs) Text(ctx context.Context, call Call) (*resolve.Item, error) {
	if err := h.p.Caller.Check(policy.Execute, call.Ref); err != nil {
		return nil, err
	}
	if len(call.Args) > 0 || len(call.Params) > 0 {
		return nil, diag.New(diag.UnknownParameter, "reading %s: it takes no parameters", call.Ref)
	}
	it, err := h.p.Resolver.Find(ctx, call.Ref)
	if err != nil {
		return nil, err
	}
	return it, h.readByPerson(it)
}

// Body returns the text of an item without its metadata, or all of it.
func Body(it *resolve.Item) string {
	if len(it.Meta.Body) > 0 {
		return string(it.Meta.Body)
	}
	return string(it.Bytes)
}

// maxNested is how deep tools may call tools through the verbs.
const maxNested = 10

type nestedKey struct{}

func deeper(ctx context.Context) context.Context {
	n, _ := ctx.Value(nestedKey{}).(int)
	return context.WithValue(ctx, nestedKey{}, n+1)
}

func tooDeep(ctx context.Context, ref item.Ref) error {
	if n, _ := ctx.Value(nestedKey{}).(int); n >= maxNested {
		return diag.New(diag.LimitExceeded, "executing %s: tools call tools more than %d deep", ref, maxNested)
	}
	return nil
}
