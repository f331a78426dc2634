package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// loaded is the result of load.
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

func (w *Workspace) load(ctx context.Context, req Request, args map[string]any) (any, error) {
	ref, err := refOf(args)
	if err != nil {
		return nil, err
	}
	to := space.Name(text(args, "destination"))
	it, err := w.Verbs.Load(ctx, primary.LoadCall{Ref: ref, Source: space.Name(text(args, "source")), Unverified: to == ""})
	if err != nil {
		return nil, err
	}
	out := loaded{
		Type: it.Ref.Kind, ID: it.Ref.ID, Source: it.Root.Label(), Version: it.Meta.Version,
		Path: it.Path(), Digest: it.Digest, Trust: it.Verdict.Word(),
	}
	var warnings []string
	if err := it.Usable(); err != nil {
		warnings = append(warnings, "not trusted: execute refuses this item, and its text is unverified: "+diag.Typed(err).Message)
	}
	out.Warning = strings.Join(append(warnings, suspicious(it)...), "; ")
	if to == "" {
		out.Content = string(it.Bytes)
		return out, nil
	}
	if err := mayCopy(ref); err != nil {
		return nil, err
	}
	if err := confirmCopy(ctx, req, ref, to); err != nil {
		return nil, err
	}
	out.CopyTo, err = w.Verbs.Copy(ctx, it, to, false)
	if it.Root.Embedded() {
		out.Note = "the copy's signature is valid in the system space only: ask the user to review and sign the copy"
	}
	return out, err
}

// maxSuspicious is the number of warnings about hidden text in a result of load.
const maxSuspicious = 5

// suspicious returns the warnings about text of an item that is easily overlooked.
func suspicious(it *resolve.Item) []string {
	var out []string
	for i, f := range primary.Suspicious(it) {
		if i == maxSuspicious {
			return append(out, "and more")
		}
		out = append(out, fmt.Sprintf("line %d: %s", f.Line, f.Message))
	}
	return out
}

// mayCopy returns an error for the tools that rye itself uses: the verbs, the
// extractors and parsers, the runtimes. A copy replaces the system's tool, and is
// not trusted before a person signs it: a call of an agent would stop the server.
func mayCopy(ref item.Ref) error {
	if ref.Kind != item.Tool || !strings.HasPrefix(ref.ID, "rye/") {
		return nil
	}
	return diag.New(diag.PermissionDenied, "copying %s: rye itself uses the tools below rye/, so only the user copies them", ref).
		WithReason("copy_steers").WithDetail("ref", ref.String())
}

// confirmCopy asks the user before an agent copies an item into the user space,
// where it would override the system's items in every project.
func confirmCopy(ctx context.Context, req Request, ref item.Ref, to space.Name) error {
	if to != space.User {
		return nil
	}
	if req.Ask == nil {
		return diag.New(diag.ApprovalRequired, "copying %s: the user must confirm a copy into the user space, and this client cannot ask", ref).
			WithReason("copy_to_user").WithDetail("ref", ref.String())
	}
	yes, err := req.Ask(ctx, "Copy "+ref.String()+" into your user space, where every project uses it?")
	if err == nil && !yes {
		err = diag.New(diag.ApprovalDenied, "copying %s: the user declined", ref)
	}
	return err
}

// refOf returns the item that the arguments name.
func refOf(args map[string]any) (item.Ref, error) {
	ref := item.Ref{Kind: item.Kind(text(args, "item_type")), ID: text(args, "item_id")}
	return ref, item.CheckID(ref.ID)
}
