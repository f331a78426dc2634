package format_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// The canonical forms in mcp.md have the digests of the example, and the program
// reads the example in the same way.
func TestMCPItems(t *testing.T) {
	h := newWorkspace(t)
	root := h.spaces.Of(space.Project)
	it, err := h.resolver.File(t.Context(), root, "tools/mcp/notes/text_x2ecount.yaml")
	if err != nil {
		t.Fatal(err)
	}
	stub, err := mcpclient.ReadStub(it)
	if err != nil {
		t.Fatal(err)
	}
	at, err := h.resolver.Find(t.Context(), mcpclient.ServerRef(stub.Server))
	if err != nil {
		t.Fatal(err)
	}
	server, err := mcpclient.ReadServer(at)
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, part := range strings.Split(read(t, "mcp.md"), "```json\n")[1:] {
		line, _, _ := strings.Cut(part, "\n")
		sum := sha256.Sum256([]byte(line))
		shown = append(shown, "sha256:"+hex.EncodeToString(sum[:]))
	}
	if len(shown) != 2 || shown[0] != stub.Definition.String() || shown[1] != stub.Reached.String() {
		t.Errorf("mcp.md shows %q, the example holds %s and %s", shown, stub.Definition, stub.Reached)
	}
	var said struct {
		Name        string         `json:"name"`
		Description string         `json:"description"`
		InputSchema map[string]any `json:"inputSchema"`
		Annotations map[string]any `json:"annotations"`
	}
	_, text, _ := strings.Cut(read(t, "mcp.md"), "```json\n")
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&said); err != nil {
		t.Fatal(err)
	}
	tool := mcpclient.Tool{Name: said.Name, Description: said.Description, InputSchema: said.InputSchema, Annotations: said.Annotations}
	if !stub.Matches(server, tool) || stub.Ref != (item.Ref{Kind: item.Tool, ID: "mcp/notes/text_x2ecount"}) {
		t.Errorf("%+v does not hold for what mcp.md shows", stub)
	}
}
