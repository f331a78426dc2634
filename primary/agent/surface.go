package agent

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
)

// Request is one call of a verb with arguments as JSON.
type Request struct {
	Name string // search, load, execute or sign
	Args json.RawMessage
	Held policy.Held // the permissions of the caller; a Surface sets them
	// Within is the call during which this one is made; the zero value for a client.
	Within exec.Call
	// Progress is called with each line of output during the call. It may be nil.
	Progress func(line string)
	// Steps is called with the progress that a tool of an MCP server reports: how much
	// is done, and of how much, 0 if that is unknown. It may be nil.
	Steps func(done, total float64, message string)
	// Ask asks the user a yes-or-no question. Nil: the client cannot ask.
	Ask exec.Ask
	// Asking asks the user the questions of runs of graphs. Nil: the client cannot ask.
	Asking *Asking
}

// Reply is the result of a Request.
type Reply struct {
	Text       []byte          // the envelope as one compact JSON document, at most MaxReply characters
	Structured json.RawMessage // the data of a successful search, else nil
	// Blocks are the images, sounds, resources and links of an MCP server's result,
	// as blocks of MCP content. The text refers to them by their number, from 1.
	Blocks  []json.RawMessage
	Failed  bool // the envelope has success: false
	Unknown bool // no such verb, or the capability set withholds it
}

// Prompt is a directive as clients list it.
type Prompt struct {
	Name        string // the directive's id
	Title       string
	Description string
	Arguments   []PromptArgument
}

// PromptArgument is an input of a directive.
type PromptArgument struct {
	Name        string
	Description string
	Required    bool
}

// PromptText is a directive with its inputs filled in.
type PromptText struct {
	Description string
	Text        string
}

// Resource is a knowledge item as clients list it.
type Resource struct {
	URI         string // "rye://knowledge/ID"
	Name        string
	Title       string
	Description string
	MIMEType    string
	Size        int64
}

// Surface offers the verbs, directives and knowledge of projects to agents.
type Surface struct{ p SurfaceParams }

// SurfaceParams are the parameters of NewSurface. Open is required.
type SurfaceParams struct {
	// Open returns the workspace of a project, an absolute path or "" for the
	// server's own, and what a client may do there. It is called for each request,
	// so that every request sees the current files.
	Open func(ctx context.Context, project string) (*Workspace, policy.Held, error)
	Home string // the home directory, shown as ~ in errors; "" is unknown
}

// NewSurface returns a Surface over p.
func NewSurface(p SurfaceParams) *Surface {
	return &Surface{p}
}

// Definitions returns the instructions and tools that a server shows.
func (s *Surface) Definitions(ctx context.Context) (*Definitions, error) {
	w, held, err := s.p.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	return w.Definitions(ctx, held)
}

// Call executes one request. Errors are in the reply.
func (s *Surface) Call(ctx context.Context, req Request) *Reply {
	project, err := projectPath(req.Args)
	if err != nil {
		return s.reply(req.Name, failed(err, nil), nil)
	}
	w, held, err := s.p.Open(ctx, project)
	if err != nil {
		return s.reply(req.Name, failed(err, nil), nil)
	}
	if !slices.Contains(Names(), req.Name) || !w.offers(held, req.Name) {
		return &Reply{Unknown: true, Failed: true}
	}
	req.Held = held
	return s.reply(req.Name, w.Do(ctx, req), w)
}

// projectPath returns the argument project_path, or "". Arguments that are not
// an object are reported by the verb.
func projectPath(raw json.RawMessage) (string, error) {
	var args map[string]json.RawMessage
	if json.Unmarshal(raw, &args) != nil || args["project_path"] == nil {
		return "", nil
	}
	var path *string
	err := json.Unmarshal(args["project_path"], &path)
	if err != nil || path == nil || !filepath.IsAbs(*path) {
		return "", diag.New(diag.ValidationFailed, "reading the arguments: $.project_path must be the absolute path of a directory, is %s", args["project_path"])
	}
	return *path, nil
}

// Prompts lists the trusted directives that the agent may execute.
func (s *Surface) Prompts(ctx context.Context) ([]Prompt, error) {
	w, held, err := s.p.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	out := []Prompt{}
	err = w.each(ctx, held, item.Directive, policy.Execute, func(it *resolve.Item) {
		p := Prompt{Name: it.Ref.ID, Title: it.Meta.Title, Description: it.Meta.Description}
		for _, in := range w.Verbs.Resolver().Inputs(ctx, it) {
			p.Arguments = append(p.Arguments, PromptArgument{in.Name, in.Description, in.Required && !in.HasDefault})
		}
		out = append(out, p)
	})
	return out, err
}

// Prompt returns a directive with its inputs filled in. Each argument is parsed
// as the type that its input declares.
func (s *Surface) Prompt(
	ctx context.Context,
	name string,
	args map[string]string,
) (*PromptText, error) {
	w, held, err := s.p.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	call := primary.Call{Ref: item.Ref{Kind: item.Directive, ID: name}, Held: held}
	for _, k := range slices.Sorted(maps.Keys(args)) {
		call.Args = append(call.Args, k+"="+args[k])
	}
	d, err := w.Verbs.Directive(ctx, call)
	if err != nil {
		return nil, err
	}
	return &PromptText{Description: d.Description, Text: w.promptText(d)}, nil
}

// promptText returns a directive as one text: what to do with it, its steps and its
// outputs.
func (w *Workspace) promptText(d *primary.Prepared) string {
	var b strings.Builder
	if text := strings.TrimSpace(w.Settings.Directions); text != "" {
		b.WriteString(text + "\n\n")
	}
	b.WriteString(d.Body)
	if len(d.Outputs) > 0 {
		b.WriteString("\n\nAt the end give:\n")
	}
	for _, out := range d.Outputs {
		b.WriteString("- " + out.Name)
		if out.Type != "" {
			b.WriteString(" (" + out.Type + ")")
		}
		if out.Description != "" {
			b.WriteString(": " + out.Description)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const (
	resourcePrefix = "rye://knowledge/"
	markdown       = "text/markdown"
)

// Resources lists the trusted knowledge that the agent may load.
func (s *Surface) Resources(ctx context.Context) ([]Resource, error) {
	w, held, err := s.p.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	out := []Resource{}
	err = w.each(ctx, held, item.Knowledge, policy.Load, func(it *resolve.Item) {
		out = append(out, Resource{
			URI:         resourcePrefix + it.Ref.ID,
			Name:        it.Ref.ID,
			Title:       it.Meta.Title,
			Description: it.Meta.Description,
			MIMEType:    markdown,
			Size:        int64(len(primary.Body(it))),
		})
	})
	return out, err
}

// Resource returns the text of a knowledge item and its media type.
func (s *Surface) Resource(ctx context.Context, uri string) (text, mime string, err error) {
	id, ok := strings.CutPrefix(uri, resourcePrefix)
	if !ok {
		return "", "", diag.New(diag.ItemNotFound, "reading resource %q: addresses begin with %s", uri, resourcePrefix)
	}
	w, held, err := s.p.Open(ctx, "")
	if err != nil {
		return "", "", err
	}
	if err := item.CheckID(id); err != nil {
		return "", "", err
	}
	it, err := w.Verbs.Load(ctx, primary.LoadCall{Ref: item.Ref{Kind: item.Knowledge, ID: id}, Held: held})
	if err == nil {
		err = primary.CheckDraft(held, it)
	}
	if err == nil && it.Verdict.Runtime {
		err = diag.New(diag.PermissionDenied, "reading resource %q: a record of a run is not a resource; load returns it with a warning", uri).
			WithReason("record").
			WithDetail("ref", it.Ref.String())
	}
	if err != nil {
		return "", "", err
	}
	return primary.Body(it), markdown, nil
}

// each visits the trusted items of a kind that resolve, for which the permissions
// allow the verb.
func (w *Workspace) each(
	ctx context.Context,
	held policy.Held,
	kind item.Kind,
	verb policy.Verb,
	visit func(*resolve.Item),
) error {
	entries, err := w.Verbs.Resolver().All(ctx, kind)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Shadow || held.Allows(verb, e.Ref) != nil {
			continue
		}
		it, err := w.Verbs.Resolver().Open(ctx, e)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil &&
			it.Usable() == nil &&
			!it.Verdict.Runtime &&
			primary.CheckDraft(held, it) == nil {
			visit(it)
		}
	}
	return nil
}
