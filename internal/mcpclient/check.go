package mcpclient

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/resolve"
)

// maxSignature is the maximum length of a signature line, in bytes.
const maxSignature = 1 << 10

// Check returns the problems of making items of at most limit bytes from a server's
// tools: errors for unsafe or impossible items, warnings for tools that cannot be
// called as described.
func Check(s *Server, tools []Tool, limit int) []diag.Finding {
	fs := checkToolNames(s.Name, tools)
	for _, t := range tools {
		fs = append(fs, t.checkTexts()...)
		if t.Problem != "" {
			fs = append(fs, diag.Warnf(
				diag.ValidationFailed,
				0,
				0,
				"tool %s cannot be called and is left out: %s",
				quoted(t.Name),
				t.Problem,
			))
			continue
		}
		if b, err := StubItem(s, t); err != nil {
			fs = append(fs, diag.Errorf(
				diag.ValidationFailed,
				0,
				0,
				"tool %s: %s",
				quoted(t.Name),
				err,
			))
		} else if len(b) > limit-maxSignature {
			fs = append(fs, diag.Errorf(
				diag.TooLarge,
				0,
				0,
				"tool %s: its definition makes an item of %d bytes, more than %d",
				quoted(t.Name),
				len(b),
				limit-maxSignature,
			))
		}
		fs = append(fs, t.checkSchema()...)
	}
	return fs
}

// checkSchema warns about a schema that cannot be compiled.
func (t Tool) checkSchema() []diag.Finding {
	_, found := schema.CompileForeign(t.InputSchema)
	var fs []diag.Finding
	for _, f := range found {
		if f.Severity == diag.SeverityWarning && strings.Contains(f.Message, "not checked here") {
			fs = append(fs, diag.Warnf(
				f.Code,
				0,
				0,
				"tool %s: its input %s",
				quoted(t.Name),
				f.Message,
			))
		}
		if f.Severity == diag.SeverityError {
			fs = append(fs, diag.Warnf(
				f.Code,
				0,
				0,
				"tool %s cannot be called and is left out: its input schema is invalid: %s",
				quoted(t.Name),
				f.Message,
			))
		}
	}
	return fs
}

// callable returns the tools whose input schema can be compiled: the item of any other tool
// could not be run, so it is not signed.
func callable(tools []Tool) []Tool {
	var out []Tool
	for _, t := range tools {
		if t.Problem != "" {
			continue
		}
		_, found := schema.CompileForeign(t.InputSchema)
		if !diag.Failed(found) {
			out = append(out, t)
		}
	}
	return out
}

// outputProblems returns where structured content violates the output schema in
// the item of its tool, at most 5 positions.
func outputProblems(it *resolve.Item, r *Result) []any {
	doc := it.Meta.Fields["output_schema"]
	if doc == nil || r.Structured == nil || r.IsError {
		return nil
	}
	s, _ := schema.CompileForeign(doc)
	if s == nil {
		return nil // the schema cannot be compiled
	}
	var out []any
	for _, v := range s.Validate(r.Structured) {
		if len(out) < 5 {
			out = append(out, "structuredContent does not fit the tool's output schema: "+v.Path+" "+v.Message)
		}
	}
	return out
}
