package mcpclient

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/internal/mcpclient/mcptest"
)

// TestMain lets this binary be the server, a process of its own on PATH.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mcp-fixture": mcptest.Main, "mcp-conformance-client": conformanceClient})
}
