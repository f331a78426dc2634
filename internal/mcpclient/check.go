package mcpclient

import (
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/resolve"
)

// signatureRoom is what a signature line may add to an item, in bytes.
const signatureRoom = 1 << 10

// Check finds what keeps the tools of a server from becoming items of at most
// limit bytes each: errors for what would be unsafe or impossible, warnings for
// tools that cannot run as they are described.
func Check(s *Server, tools []Tool, limit int) []diag.Finding {
	fs := checkToolNames(s.Name, tools)
	for _, t := range tools {
		fs = append(fs, t.checkTexts()...)
		if t.Problem != "" {
			fs = append(fs, diag.Errorf(diag.ValidationFailed, 0, 0, "tool %s: %s", quoted(t.Name), t.Problem))
			continue
		}
		if b, err := StubItem(s, t); err != nil {
			fs = append(fs, diag.Errorf(diag.ValidationFailed, 0, 0, "tool %s: %s", quoted(t.Name), err))
		} else if len(b) > limit-signatureRoom {
			fs = append(fs, diag.Errorf(diag.TooLarge, 0, 0, "tool %s: its definition makes an item of %d bytes, and %d are allowed", quoted(t.Name), len(b), limit-signatureRoom))
		}
		fs = append(fs, t.checkSchema()...)
	}
	return fs
}

// checkSchema warns of a schema that nothing can be held against.
func (t Tool) checkSchema() []diag.Finding {
	_, found := schema.Compile(t.InputSchema)
	var fs []diag.Finding
	for _, f := range found {
		if f.Severity == diag.SeverityError {
			fs = append(fs, diag.Warnf(f.Code, 0, 0, "tool %s cannot be called, its input schema does not hold: %s", quoted(t.Name), f.Message))
		}
	}
	return fs
}

// misfits says where structured content does not fit the schema that the item of
// its tool holds: at most a few places, as texts.
func misfits(it *resolve.Item, r *Result) []any {
	doc := it.Meta.Fields["output_schema"]
	if doc == nil || r.Structured == nil || r.IsError {
		return nil
	}
	s, _ := schema.Compile(doc)
	if s == nil {
		return nil // what cannot be held against it is not judged
	}
	var out []any
	for _, v := range s.Validate(r.Structured) {
		if len(out) < 5 {
			out = append(out, "structuredContent does not fit the tool's output schema: "+v.Path+" "+v.Message)
		}
	}
	return out
}
