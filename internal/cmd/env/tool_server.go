package env

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/self"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/mcpserve"
	"github.com/ryeos/rye/primary/agent"
)

// serveTools returns the function that serves tools to a program that starts its MCP server
// by a command. Such programs pass no descriptors on, so the command finds the server by
// a socket in a directory of this user, which only the sandbox of the program can see.
func serveTools(c *cli.Call) func(context.Context, project.ToolVerbs) (*project.ToolServer, error) {
	stderr := &VisibleWriter{U: c.UI}
	return func(ctx context.Context, tools project.ToolVerbs) (*project.ToolServer, error) {
		dir, err := os.MkdirTemp("", "rye-tools-") // 0700
		if err != nil {
			return nil, diag.New(diag.FileSystemError, "serving tools to a program: %w", err)
		}
		at := filepath.Join(dir, "s")
		l, err := net.Listen("unix", at)
		if err != nil {
			os.RemoveAll(dir)
			return nil, diag.New(diag.FileSystemError, "serving tools to a program: %w", err)
		}
		ctx, cancel := context.WithCancel(ctx)
		s := mcpserve.New(mcpserve.Params{
			Verbs:    tools,
			Name:     "rye",
			Version:  c.Program.Version,
			Stderr:   stderr,
			Calls:    agent.MaxBrokerCalls,
			Shutdown: brokerLeave,
		})
		var serving sync.WaitGroup
		serving.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				serving.Go(func() {
					defer conn.Close()
					defer context.AfterFunc(ctx, func() { conn.Close() })()
					err := s.Stdio(ctx, conn, conn)
					if err != nil && ctx.Err() == nil {
						fmt.Fprintf(stderr, "rye: warning: the tools of a program ended: %v\n", err)
					}
				})
			}
		})
		return &project.ToolServer{Command: []string{c.Self, self.ToolRelay, at}, Dir: dir, Close: func() {
			cancel()
			l.Close()
			serving.Wait()
			os.RemoveAll(dir)
		}}, nil
	}
}
