package main

import (
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/internal/testing/mcptest"
)

// cmdMCPServer starts the MCP server of the tests on the web and sets a variable
// to its address: /mcp and /sse stand below it. The program mcp-fixture is the
// same server over stdio.
func cmdMCPServer(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 1, "mcpserver VARIABLE [FLAG…]")
	s := &mcptest.Server{}
	flags := args[1:]
	for i, f := range flags {
		if i > 0 && flags[i-1] == "-tools" {
			flags[i] = ts.MkAbs(f)
		}
	}
	ts.Check(s.Flags().Parse(flags))
	srv := httptest.NewServer(s.Handler())
	ts.Defer(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	ts.Setenv(args[0], srv.URL)
}

// cmdBigTool writes a list of tools, the last of which has a description of
// that many bytes.
func cmdBigTool(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "bigtool FILE BYTES")
	var n int
	for _, c := range args[1] {
		n = n*10 + int(c-'0')
	}
	text := strings.Repeat("x", n)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(`[{"name":"small","inputSchema":{"type":"object"}},{"name":"big","description":"`+text+`","inputSchema":{"type":"object"}}]`), 0o644))
}
