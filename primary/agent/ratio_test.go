package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
)

// TestReplyRatio is about agents F5: a result costs a model little more than what it
// contains. Lengths are in characters of the reply, the content as JSON.
func TestReplyRatio(t *testing.T) {
	rows := []any{}
	for i := range 20 {
		rows = append(rows, map[string]any{"id": int64(i), "name": fmt.Sprintf("row %d", i), "size": int64(i * 100), "tags": []any{"a", "b"}})
	}
	structured := map[string]any{"result": rows}
	copied, err := json.MarshalIndent(structured, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	listing := strings.Repeat("drwxr-xr-x 2 ada ada 4096 Nov 22 20:00 directory\n", 60)
	source := strings.Repeat("\treturn nil, fmt.Errorf(\"reading %s: %w\", name, err)\n", 153)
	tool := func(kind string) *resolve.Item {
		return &resolve.Item{Ref: item.Ref{Kind: item.Tool, ID: "a/b"}, Meta: item.Metadata{ToolType: kind, Fields: map[string]any{"tool_type": kind}}}
	}
	for name, c := range map[string]struct {
		tool    *resolve.Item
		data    map[string]any
		content any
		most    float64
	}{
		"structured": {tool(mcpclient.StubType), map[string]any{"success": true, "isError": false, "structuredContent": structured,
			"content": []any{map[string]any{"type": "text", "text": string(copied)}}}, structured, 1.2},
		"bash": {tool("tool"), map[string]any{"success": true, "exit_code": int64(0), "duration_ms": int64(3), "truncated": false,
			"output": listing, "stdout": listing, "stderr": ""}, listing, 1.1},
		"read": {tool("tool"), map[string]any{"success": true, "file_path": "exec/run.go", "offset": int64(1), "line_count": int64(153),
			"total_lines": int64(153), "truncated": false, "encoding": "utf-8", "output": source}, source, 1.2},
	} {
		code := 0
		env := &diag.Envelope{Success: true, Metadata: &primary.Metadata{Ref: "tool:a/b", DurationMS: 12, ReturnCode: &code}, Data: present(c.tool, c.data, false)}
		reply := NewSurface(SurfaceParams{}).reply("execute", env, nil)
		content, err := jsonx.Marshal(c.content)
		if err != nil {
			t.Fatal(err)
		}
		ratio := float64(utf8.RuneCount(reply.Text)) / float64(utf8.RuneCount(content))
		if t.Logf("%s: %.2f", name, ratio); ratio > c.most || ratio < 1 {
			t.Errorf("%s: %.2f times its content: %.300s", name, ratio, reply.Text)
		}
	}
}
