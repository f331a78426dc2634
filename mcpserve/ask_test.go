package mcpserve

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The user is not asked if the client cannot ask.
func TestAskNobody(t *testing.T) {
	w := dial(t, newTestServer(newFake())).shake()
	w.send("%s", call("2", "ask"))
	if text := fmt.Sprint(field(w.next(), "result.content.0.text")); !strings.Contains(text, "cannot ask") {
		t.Error(text)
	}
}

func TestAsk(t *testing.T) {
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for action, want := range map[string]string{"accept": "true", "decline": "false", "cancel": "false"} {
			for name, dial := range map[string]func(*testing.T, *Server, *mcp.Client, string) *mcp.ClientSession{"stdio": connect, "http": connectWeb} {
				t.Run(version+" "+action+" "+name, func(t *testing.T) { askOnce(t, dial, version, action, want) })
			}
		}
	}
}

func askOnce(t *testing.T, dial func(*testing.T, *Server, *mcp.Client, string) *mcp.ClientSession, version, action, want string) {
	var asked []string
	client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked = append(asked, req.Params.Message)
			return &mcp.ElicitResult{Action: action, Content: map[string]any{"confirm": true}}, nil
		},
	})
	session := dial(t, newTestServer(newFake()), client, version)
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "sign", Arguments: map[string]any{"item_id": "ask"}})
	if err != nil {
		t.Fatal(err)
	}
	if text := res.Content[0].(*mcp.TextContent).Text; text != `{"success":true,"data":`+want+`}` {
		t.Error(text)
	}
	if len(asked) != 1 || asked[0] != "Sign drafts/x?" {
		t.Errorf("asked %q", asked)
	}
}

// An answer to one question is not an answer to another.
func TestAskAnother(t *testing.T) {
	w := dial(t, newTestServer(newFake()))
	ask := strings.Replace(meta, `Capabilities":{}`, `Capabilities":{"elicitation":{"form":{}}}`, 1)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s,"name":"sign","arguments":{"item_id":"ask"},"inputResponses":{"confirm-0000":{"action":"accept","content":{"confirm":true}}}}}`, ask)
	got := w.next()
	demand(t, got, "result.resultType", "input_required")
	demand(t, got, "result.content", "-")
}

// connectWeb connects an SDK client over HTTP.
func connectWeb(t *testing.T, s *Server, client *mcp.Client, version string) *mcp.ClientSession {
	t.Helper()
	at := &mcp.StreamableClientTransport{Endpoint: serveSite(t, s, HTTPParams{}).base + "/mcp"}
	session, err := client.Connect(t.Context(), at, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// connect connects an SDK client over pipes.
func connect(t *testing.T, s *Server, client *mcp.Client, version string) *mcp.ClientSession {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() { _ = s.Stdio(t.Context(), inR, outW); outW.Close() }()
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inW.Close(); session.Close() })
	return session
}
