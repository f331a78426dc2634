package mcpserve

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/primary/agent"
)

// badSchema are verbs with an invalid schema.
type badSchema struct {
	*fake
	in, out string
}

func (b *badSchema) Definitions(context.Context) (*agent.Definitions, error) {
	d := agent.Definition{Name: "search", InputSchema: json.RawMessage(b.in)}
	if b.out != "" {
		d.OutputSchema = json.RawMessage(b.out)
	}
	return &agent.Definitions{Tools: []agent.Definition{d}}, nil
}

// An unsupported schema is an error in the item, not a bug of the server.
func TestBadSchemas(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{`{"type":"array"}`, ""}, {`{}`, ""}, {`5`, ""}, {`{`, ""}, {`null`, ""}, {`{"type":"object"}`, `{`},
		{`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}}`, ""},
	} {
		err := New(Params{Verbs: &badSchema{newFake(), c.in, c.out}, Name: "rye"}).Stdio(t.Context(), strings.NewReader(""), nil)
		if diag.CodeOf(err) != diag.ConfigError || !strings.Contains(err.Error(), "offering search") {
			t.Errorf("%s, %s: %v", c.in, c.out, err)
		}
	}
}
