package exec

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
)

// Lint returns the errors in the keys of a tool that every run of it would report: its
// env_config, and what the primitive that it names reads in its config. A tool with a
// runtime is read without the runtime, which may change later. Nothing has to be signed,
// and nothing is started. natives returns the functions that config.func may name; nil:
// any name is permitted.
func Lint(
	ctx context.Context,
	r *resolve.Resolver,
	it *resolve.Item,
	natives func() map[string]Native,
) []diag.Finding {
	ref, err := item.ParseRef(it.Meta.ExecutorID, item.Tool)
	if err != nil {
		return nil // reported by the schema of the kind
	}
	c := &Chain{Elements: []*resolve.Item{it}}
	var errs []error
	if _, err := readEnvConfigs(c); err != nil {
		errs = append(errs, err)
	}
	e := New(Params{Resolver: r})
	body := e.bodies[ref.ID]
	switch primitive, err := r.InspectFrom(ctx, ref, it.Root); {
	case err != nil: // a missing executor is a warning of its own
	case body == nil:
		fields := fieldsOf(it)
		(&config{}).merge(fields.Map("config"), false)
		errs = append(errs, diag.FromFindings(
			"reading the configuration of "+it.Ref.String(),
			diag.WithPath(fields.Findings(), it.Path()),
		))
	default:
		c.Elements = append(c.Elements, primitive)
		if ref.ID == NativeStep {
			// A runtime may leave the function to its tools.
			if natives == nil || it.Meta.ToolType == "runtime" && it.Meta.Config["func"] == nil {
				break
			}
			e.p.Natives = natives()
		}
		errs = append(errs, body.check(ctx, c))
	}
	var out []diag.Finding
	for _, err := range errs {
		out = append(out, lintFindings(err)...)
	}
	diag.Sort(out)
	// Another item that is not signed yet may be signed next.
	return slices.DeleteFunc(out, func(f diag.Finding) bool {
		return f.Code.Class() == diag.ClassTrust
	})
}

// lintFindings returns the findings of an error, or the error as one.
func lintFindings(err error) []diag.Finding {
	if err == nil {
		return nil
	}
	if fs := diag.FindingsOf(err); diag.Failed(fs) {
		return fs
	}
	typed := diag.Typed(err)
	f := diag.Errorf(typed.Code, 0, 0, "%s", err)
	f.Reason = typed.Reason
	f.Facts = typed.Details
	return []diag.Finding{f}
}
