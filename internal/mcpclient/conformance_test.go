package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestConformanceOfTheClient runs the scenarios of the suite from npm that a
// client can pass which calls tools and answers nothing: logins, samples and
// requests for input are refused on purpose. It needs the packages of
// mcpserve/testdata/npm in the folder RYE_NPM; .ci/run installs them.
func TestConformanceOfTheClient(t *testing.T) {
	dir := os.Getenv("RYE_NPM")
	if dir == "" {
		t.Skip("RYE_NPM names no folder with the packages of mcpserve/testdata/npm; .ci/run installs them")
	}
	client, err := exec.LookPath("mcp-conformance-client")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ scenario, version string }{
		{"initialize", legacy}, {"tools_call", legacy}, {"sse-retry", legacy},
		{"tools_call", modern}, {"request-metadata", modern}, {"http-standard-headers", modern}, {"http-custom-headers", modern},
		{"http-invalid-tool-headers", modern}, {"json-schema-ref-no-deref", modern},
	} {
		t.Run(c.scenario+"/"+c.version, func(t *testing.T) {
			suite := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", ".bin", "node"),
				filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
				"client", "--command", client, "--scenario", c.scenario, "--spec-version", c.version, "-o", t.TempDir())
			if out, err := suite.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// conformanceClient is the client that the suite starts: it calls the tools that
// the suite names, else each that the server has.
func conformanceClient() {
	ctx := context.Background()
	s := &Server{Name: "suite", Transport: HTTP, URL: os.Args[len(os.Args)-1], Timeout: 20 * time.Second}
	session, err := Connect(ctx, Options{Version: "test"}, s)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer session.Close()
	tools, err := session.Tools(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	type call struct {
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
	}
	var told struct {
		Calls []call `json:"toolCalls"`
	}
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &told) // most scenarios tell nothing
	if len(told.Calls) == 0 {
		for _, t := range tools {
			told.Calls = append(told.Calls, call{t.Name, map[string]any{"a": 2, "b": 3}})
		}
	}
	for _, c := range told.Calls {
		if _, err := session.Call(ctx, c.Name, c.Arguments); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}
