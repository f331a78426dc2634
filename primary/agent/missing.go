package agent

import (
	"context"
	"errors"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// missing adds to the error about an item that does not exist what a model can do:
// the kind that has the id, a project, or a search.
func (w *Workspace) missing(ctx context.Context, verb string, args map[string]any, err error) error {
	ref, bad := refOf(args)
	var e *diag.Error
	if bad != nil ||
		!errors.As(err, &e) ||
		e.Code.Class() != diag.ClassNotFound ||
		e.Details["ref"] != ref.String() ||
		e.Reason == "nearest" {
		return err
	}
	if w.Verbs.Resolver().Spaces().Of(space.Project) == nil {
		return e.WithReason("no_project")
	}
	table, terr := w.Verbs.Resolver().Readable(ctx)
	if terr != nil {
		return err
	}
	for _, ext := range table.All() {
		other := item.Ref{Kind: ext.Kind, ID: ref.ID}
		if ext.Kind == ref.Kind || ext.Kind == item.Config {
			continue
		}
		_, ferr := w.Verbs.Resolver().Inspect(ctx, other)
		if ferr == nil {
			return e.
				WithReason("other_kind").
				WithDetail("id", ref.ID).
				WithDetail("kind", string(other.Kind)).
				WithDetail("tool", verb)
		}
	}
	words := strings.FieldsFunc(ref.Name(), func(r rune) bool {
		return r == '_' || r == '-'
	})
	return e.
		WithReason("search").
		WithDetail("query", strings.Join(words, " "))
}

// ownDraft marks the error of a draft that is not signed, or changed since: the agent
// signs it with the tool sign.
// Files next to a tool that only an agent signed (anchors, libraries, sinks, configurations)
// need rye.draft, whatever the signer of the tool.
func ownDraft(args map[string]any, err error) error {
	ref, bad := refOf(args)
	var e *diag.Error
	if bad != nil ||
		!strings.HasPrefix(ref.ID, "drafts/") ||
		!errors.As(err, &e) {
		return err
	}
	at, _ := e.Details["path"].(string)
	if at == "" {
		at, _ = e.Details["ref"].(string)
	}
	if e.Code != diag.Unsigned && e.Code != diag.HashMismatch ||
		!strings.Contains(at, "/"+ref.ID) {
		return err
	}
	return e.
		WithReason("own_draft").
		WithDetail("kind", string(ref.Kind)).
		WithDetail("id", ref.ID)
}

// withSchema adds the schema of an item to an error about its parameters.
func (w *Workspace) withSchema(ctx context.Context, args map[string]any, err error) error {
	if !exec.IsBadParameters(err) {
		return err
	}
	it, builtin := w.itemSchema(ctx, args)
	if it == nil {
		return err
	}
	e := diag.Typed(err)
	text, merr := orderedSchema(builtin, it)
	if merr == nil && builtin != nil && len(text) <= maxSchema {
		return e.WithDetail("schema", text)
	}
	return e
}

// maxSchema is the length of the longest schema in an error, in bytes. load shows
// longer ones.
const maxSchema = 8 << 10
