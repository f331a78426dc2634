package primary

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// Definition is one of the four verbs as a model sees it. The texts and the
// schema come from the item tool:rye/primary/NAME.
type Definition struct {
	Name         string
	Title        string
	Description  string
	InputSchema  json.RawMessage // root: type object, no further properties
	OutputSchema json.RawMessage // nil: none
	Hints        Hints
}

// Hints tell a client what a verb may do; all four are always said.
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// Definitions is what a server shows of itself.
type Definitions struct {
	Instructions string
	Tools        []Definition // those that the capability set leaves, sorted by name
}

// Request is one call of a verb with arguments as JSON.
type Request struct {
	Name string // search, load, execute or sign
	Args json.RawMessage
	// Progress hears each line of output while the call works. Nil: nobody does.
	Progress func(line string)
	// Ask puts a yes-or-no question to the person at the client. Nil: the
	// client cannot ask.
	Ask func(ctx context.Context, question string) (bool, error)
}

// Reply is the answer to a Request.
type Reply struct {
	Text       []byte          // the envelope as one compact JSON document, at most MaxReply characters
	Structured json.RawMessage // the same for clients that read it; search only, else nil
	Failed     bool            // the envelope says success: false
	Unknown    bool            // no such verb, or one that the capability set withholds
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

// MaxReply is the largest text of a reply, in characters. What goes beyond is
// in a file that the reply names.
const MaxReply = 40_000

// Surface offers the verbs, directives and knowledge of a project to agents.
type Surface struct{ p SurfaceParams }

// SurfaceParams says what a Surface works with. Open is required.
type SurfaceParams struct {
	// Open returns the place of a project: an absolute path, or "" for the one
	// that the surface was made for. It is asked for each call, so that every
	// call sees the files as they are.
	Open func(ctx context.Context, project string) (*Place, error)
	Home string // the home folder, which error texts show as ~; "" is unknown
}

// NewSurface returns a Surface over p.
func NewSurface(p SurfaceParams) *Surface { return &Surface{p} }

// Definitions returns what a server shows of itself.
func (s *Surface) Definitions(ctx context.Context) (*Definitions, error) {
	at, err := s.p.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	return at.Verbs.Definitions(ctx, at.Settings)
}

// Call answers one call. It never fails otherwise than by its reply.
func (s *Surface) Call(ctx context.Context, req Request) *Reply {
	args, project, err := withoutProject(req.Args)
	if err != nil {
		return (&Verbs{}).reply(req.Name, failed(err, nil), s.p.Home)
	}
	at, err := s.p.Open(ctx, project)
	if err != nil {
		return (&Verbs{}).reply(req.Name, failed(err, nil), s.p.Home)
	}
	if !slices.Contains(VerbNames(), req.Name) || !at.Verbs.offers(req.Name, at.Settings) {
		return &Reply{Unknown: true, Failed: true}
	}
	req.Args = args
	return at.Verbs.reply(req.Name, at.Do(ctx, req), s.p.Home)
}

// withoutProject takes project_path, which says where a call works, out of the
// arguments. What is no object is left for the verb to refuse.
func withoutProject(raw json.RawMessage) (json.RawMessage, string, error) {
	var args map[string]json.RawMessage
	if json.Unmarshal(raw, &args) != nil || args["project_path"] == nil {
		return raw, "", nil
	}
	var project *string
	if err := json.Unmarshal(args["project_path"], &project); err != nil || project == nil || !filepath.IsAbs(*project) {
		return nil, "", diag.New(diag.ValidationFailed, "reading the arguments: $.project_path must be the absolute path of a folder, is %s", args["project_path"])
	}
	return raw, *project, nil
}

// Prompts lists the directives that the caller may execute. One that does not
// verify is not offered.
func (s *Surface) Prompts(ctx context.Context) ([]Prompt, error) {
	at, err := s.p.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	out := []Prompt{}
	err = at.Verbs.offered(ctx, item.Directive, func(it *resolve.Item) {
		p := Prompt{Name: it.Ref.ID, Title: it.Meta.Title, Description: it.Meta.Description}
		for _, in := range it.Meta.Inputs {
			p.Arguments = append(p.Arguments, PromptArgument{in.Name, in.Description, in.Required && !in.HasDefault})
		}
		out = append(out, p)
	})
	return out, err
}

// Prompt returns a directive with its inputs filled in; each argument is read as
// the type that its input declares.
func (s *Surface) Prompt(ctx context.Context, name string, args map[string]string) (*PromptText, error) {
	at, err := s.p.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	call := Call{Ref: item.Ref{Kind: item.Directive, ID: name}}
	for _, k := range slices.Sorted(maps.Keys(args)) {
		call.Args = append(call.Args, k+"="+args[k])
	}
	d, err := at.Verbs.Directive(ctx, call)
	if err != nil {
		return nil, err
	}
	text := d.Body
	if at.Settings.Directions != "" {
		text = strings.TrimSpace(at.Settings.Directions) + "\n\n" + text
	}
	return &PromptText{Description: d.Description, Text: text}, nil
}

// resourcePrefix begins the address of every knowledge item.
const resourcePrefix = "rye://knowledge/"

// Resources lists the knowledge that the caller may load. What does not verify
// is not offered.
func (s *Surface) Resources(ctx context.Context) ([]Resource, error) {
	at, err := s.p.Open(ctx, "")
	if err != nil {
		return nil, err
	}
	out := []Resource{}
	err = at.Verbs.offered(ctx, item.Knowledge, func(it *resolve.Item) {
		out = append(out, Resource{
			URI: resourcePrefix + it.Ref.ID, Name: it.Ref.ID, Title: it.Meta.Title, Description: it.Meta.Description,
			MIMEType: markdown, Size: int64(len(Body(it))),
		})
	})
	return out, err
}

// markdown is the media type of knowledge.
const markdown = "text/markdown"

// Resource returns the text of a knowledge item and its media type.
func (s *Surface) Resource(ctx context.Context, uri string) (text, mime string, err error) {
	id, ok := strings.CutPrefix(uri, resourcePrefix)
	if !ok {
		return "", "", diag.New(diag.ItemNotFound, "reading resource %q: addresses begin with %s", uri, resourcePrefix)
	}
	at, err := s.p.Open(ctx, "")
	if err != nil {
		return "", "", err
	}
	ref := item.Ref{Kind: item.Knowledge, ID: id}
	if err := item.CheckID(id); err != nil {
		return "", "", err
	}
	it, err := at.Verbs.Load(ctx, LoadCall{Ref: ref})
	if err == nil {
		err = at.Verbs.readByPerson(it)
	}
	if err != nil {
		return "", "", err
	}
	return Body(it), markdown, nil
}

// offered visits the verified items of a kind that a run would use and that the
// caller may use.
func (h *Verbs) offered(ctx context.Context, kind item.Kind, visit func(*resolve.Item)) error {
	verb := policy.Load
	if kind == item.Directive {
		verb = policy.Execute
	}
	entries, err := h.p.Resolver.All(ctx, kind)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Shadow || h.p.Caller.Check(verb, e.Ref) != nil {
			continue
		}
		it, err := h.p.Resolver.Open(ctx, e)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && it.Usable() == nil && h.readByPerson(it) == nil {
			visit(it)
		}
	}
	return nil
}
