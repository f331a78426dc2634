package mcpserve

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The conformance suite of the protocol, as a whole, against the fixtures on
// the transports of this package: all that a revision requires must hold. It
// needs the packages of testdata/npm in the folder RYE_NPM; .ci/run installs
// them.
func TestConformanceOfTransports(t *testing.T) {
	dir := os.Getenv("RYE_NPM")
	if dir == "" {
		t.Skip("RYE_NPM names no folder with the packages of testdata/npm; .ci/run installs them")
	}
	server := newTestServer(newFake())
	fixed := fixtures()
	fixed.AddReceivingMiddleware(server.recoverPanics)
	h, err := server.handler(fixed, HTTPParams{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			suite := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", ".bin", "node"),
				filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
				"server", "--url", web.URL+"/mcp", "--requirements", revision, "-o", t.TempDir())
			out, err := suite.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
