package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// loaded is the result of load.
type loaded struct {
	// Parameters is the schema of a tool's parameters, in the order of its item.
	Parameters json.RawMessage `json:"parameters,omitempty"`

	Type    item.Kind   `json:"type"`
	ID      string      `json:"id"`
	Source  string      `json:"source"`
	Version string      `json:"version,omitempty"`
	Path    string      `json:"path"`
	Digest  item.Digest `json:"digest"`
	Trust   string      `json:"trust"`
	Signers []string    `json:"signers,omitempty"`      // of a release of a registry
	Caps    []string    `json:"capabilities,omitempty"` // likewise
	Warning string      `json:"warning,omitempty"`
	CopyTo  string      `json:"copied_to,omitempty"`
	Note    string      `json:"note,omitempty"`
	Content string      `json:"content,omitempty"`
}

func (w *Workspace) load(
	ctx context.Context,
	req Request,
	args map[string]any,
) (any, error) {
	ref, err := refOf(args)
	if err != nil {
		return nil, err
	}
	to := space.Name(text(args, "destination"))
	it, err := w.Verbs.Load(ctx, primary.LoadCall{
		Ref:        ref,
		Held:       req.Held,
		Source:     space.Name(text(args, "source")),
		Unverified: to == "",
	})
	if err != nil {
		return nil, err
	}
	out := loaded{
		Type:    it.Ref.Kind,
		ID:      it.Ref.ID,
		Source:  it.Root.Label(),
		Version: it.Meta.Version,
		Path:    it.Path(),
		Digest:  it.Digest,
		Trust:   it.Verdict.Word(),
	}
	var warnings []string
	if it.Verdict.Runtime {
		warnings = append(warnings, primary.RecordWarning)
	}
	if err := it.Usable(); err != nil {
		warnings = append(warnings, "not trusted: execute refuses this item, and its text is unverified: "+diag.Typed(err).Message)
	}
	out.Warning = strings.Join(append(warnings, suspicious(it)...), "; ")
	if to == "" {
		out.Parameters, out.Content = parametersOf(it), contentOf(it)
		if it.Verdict.Runtime { // the keys of a reply are sorted: content is read before warning
			out.Content = "Warning: " + primary.RecordWarning + "\n\n" + out.Content
		}
		return out, nil
	}
	if err := mayCopy(ref); err != nil {
		return nil, err
	}
	if err := w.confirmCopy(ctx, req, it, to); err != nil {
		return nil, err
	}
	out.CopyTo, err = w.Verbs.Copy(ctx, it, to, false)
	if it.Root.Embedded() {
		out.Note = "the copy's signature is valid in the system space only: ask the user to review and sign the copy"
	}
	return out, err
}

// parametersOf returns the schema of a tool's parameters, nil if it has none.
func parametersOf(it *resolve.Item) json.RawMessage {
	if it.Ref.Kind != item.Tool || len(it.Meta.Schema) == 0 {
		return nil
	}
	out, err := orderedSchema(it.Meta.Schema, it)
	if err != nil {
		return nil
	}
	return out
}

// contentOf returns the file of an item without its signature line: the digest is
// known, and the line cannot be checked by reading it.
func contentOf(it *resolve.Item) string {
	head := it.Bytes
	for range 3 { // after a shebang and an encoding
		line, rest, more := bytes.Cut(head, []byte{'\n'})
		if sign.LooksSigned(line) {
			return string(it.Bytes[:len(it.Bytes)-len(head)]) + string(rest)
		}
		if head = rest; !more {
			break
		}
	}
	return string(it.Bytes)
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
// where it overrides the item in every project, and before it copies an item of the
// system: execute refuses the copy until the user has signed it.
func (w *Workspace) confirmCopy(
	ctx context.Context,
	req Request,
	it *resolve.Item,
	to space.Name,
) error {
	ref := it.Ref
	if to != space.User && !it.Root.Embedded() {
		return nil
	}
	if req.Ask == nil {
		return diag.New(diag.ApprovalRequired, "copying %s: the user must confirm this copy into the %s space, and this client cannot ask", ref, to).
			WithReason("copy_to_user").
			WithDetail("ref", ref.String()).
			WithDetail("space", string(to))
	}
	question := "Copy " + ref.String() + " into your user space, where every project uses it?"
	if to != space.User {
		question = "Copy " + ref.String() + " into the project? The copy replaces the item, which cannot be used until you have signed the copy."
	}
	return w.confirmed(ctx, req, "copying "+ref.String(), question)
}

// refOf returns the item that the arguments name.
func refOf(args map[string]any) (item.Ref, error) {
	ref := item.Ref{Kind: item.Kind(text(args, "item_type")), ID: text(args, "item_id")}
	return ref, item.CheckID(ref.ID)
}
