// Package draft checks items that are not signed yet: it loads each by the code that
// will use it. What writes items, such as rye new or rye mcp add, asks it before a key
// signs them, so that no item is signed that cannot be used.
//
// It signs and writes nothing, and it starts no program.
package draft

import (
	"cmp"
	"context"
	"errors"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph/graphdef"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/threads/provider"
)

// Checker loads drafts. All fields are required.
type Checker struct {
	Resolver *resolve.Resolver // finds the drafts and the items that they name
	Executor *exec.Executor    // over the same items
	Graphs   graphdef.Items    // describes the items that graphs call
}

// Check returns the findings that keep an item from being used, with positions where the item
// has them. The item's own findings are part of it: an extractor has read the file.
func (c *Checker) Check(ctx context.Context, it *resolve.Item) []diag.Finding {
	if it.Ref.IsZero() || it.Support() {
		return nil
	}
	var out []diag.Finding
	switch it.Ref.Kind {
	case item.Tool:
		out = c.tool(ctx, it)
	case item.Directive:
		_, _, err := c.Resolver.Directive(ctx, it)
		out = findings(err)
	}
	// A configuration has been compared with its schema when it was read.
	// Warnings are reported when the item is signed.
	return diag.WithPath(errorsOf(out), it.Path())
}

// tool loads a tool by its tool_type, then its chain.
func (c *Checker) tool(ctx context.Context, it *resolve.Item) []diag.Finding {
	doc := &tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos}
	var out []diag.Finding
	switch it.Meta.ToolType {
	case exec.ProviderType:
		_, out = provider.Parse(it.Ref.ID, doc)
	case GraphType:
		out = graphdef.Check(ctx, it.Ref, it.Path(), doc, c.Graphs)
	case mcpclient.ServerType:
		_, err := mcpclient.ReadServer(it)
		return findings(err) // it is not run, so it has no chain
	case mcpclient.StubType:
		_, err := mcpclient.ReadStub(it)
		out = findings(err)
	case item.Library:
		return nil
	}
	if diag.Failed(out) || it.Meta.ExecutorID == "" {
		return out
	}
	_, err := c.Executor.Check(ctx, it)
	return append(out, findings(err)...)
}

// findings returns the findings of an error, or the error as one.
func findings(err error) []diag.Finding {
	if err == nil {
		return nil
	}
	if fs := diag.FindingsOf(err); diag.Failed(fs) {
		return fs
	}
	f := diag.Errorf(
		cmp.Or(diag.CodeOf(err), diag.ValidationFailed),
		0,
		0,
		"%s",
		err,
	)
	var typed *diag.Error
	if errors.As(err, &typed) {
		f.Reason = typed.Reason
		f.Facts = typed.Details
	}
	return []diag.Finding{f}
}

// errorsOf returns the findings that are errors.
func errorsOf(all []diag.Finding) []diag.Finding {
	var out []diag.Finding
	for _, f := range all {
		if f.Severity == diag.SeverityError {
			out = append(out, f)
		}
	}
	return out
}
