package mcpclient

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/internal/testing/mcptest"
)

// TestMain runs this binary as the server if it is started under that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mcp-fixture": mcptest.Main, "mcp-conformance-client": conformanceClient})
}
