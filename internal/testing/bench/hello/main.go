// Command hello is a minimal MCP server: one tool that greets over stdio. "hello sdk" is the SDK alone, "hello rye" the same tool on the
// transports and through the gates of mcpserve, and "hello start PROGRAM ARGUMENT..." the SDK
// with a tool that starts a program, so that they can be measured side by side.
//
// It is not an example of how to use either.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ryeos/rye/mcpserve"
	"github.com/ryeos/rye/primary/agent"
)

const answer = `{"success":true,"data":"hello"}`

func main() {
	serve := sdk
	if len(os.Args) == 2 && os.Args[1] == "rye" {
		serve = rye
	} else if len(os.Args) > 2 && os.Args[1] == "start" {
		serve = func(ctx context.Context) error {
			return tool(ctx, start(os.Args[2:]))
		}
	}
	if err := serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "hello:", err)
		os.Exit(1)
	}
}

func schema() json.RawMessage {
	return json.RawMessage(`{"type":"object"}`)
}

func sdk(ctx context.Context) error {
	return tool(ctx, func(context.Context) (string, error) {
		return answer, nil
	})
}

// start starts a program and returns its output.
func start(argv []string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Stdin = strings.NewReader("{}")
		out, err := cmd.Output()
		return string(out), err
	}
}

// tool serves one tool with the SDK alone.
func tool(ctx context.Context, do func(context.Context) (string, error)) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "hello", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "hello", Description: "Say hello", InputSchema: schema()},
		func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := do(ctx)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, err
		})
	return s.Run(ctx, &mcp.StdioTransport{})
}

func rye(ctx context.Context) error {
	debug.SetGCPercent(150) // as rye serve does
	return mcpserve.New(mcpserve.Params{Verbs: verbs{}, Name: "hello", Version: "1"}).Stdio(ctx, os.Stdin, os.Stdout)
}

// verbs has the tool hello.
type verbs struct{}

func (verbs) Definitions(context.Context) (*agent.Definitions, error) {
	return &agent.Definitions{Tools: []agent.Definition{{Name: "hello", Description: "Say hello", InputSchema: schema()}}}, nil
}

func (verbs) Call(context.Context, agent.Request) *agent.Reply {
	return &agent.Reply{Text: []byte(answer)}
}

func (verbs) Prompts(context.Context) ([]agent.Prompt, error) {
	return nil, nil
}

func (verbs) Prompt(context.Context, string, map[string]string) (*agent.PromptText, error) {
	return &agent.PromptText{}, nil
}

func (verbs) Resources(context.Context) ([]agent.Resource, error) {
	return nil, nil
}

func (verbs) Resource(context.Context, string) (text, mime string, err error) {
	return "", "", nil
}
