package doctor

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/self"
)

// checkRyeServer reports whether the commands of rye-server can be started.
func checkRyeServer(ctx context.Context, c *cli.Call) []checkResult {
	result := checkResult{Name: "rye-server"}
	server, err := self.Server(ctx, c.World)
	switch {
	case err == nil:
		result.Status = statusOK
		result.Detail = server.Build.Version + " (" + server.Path + ")"
	case diag.CodeOf(err) == diag.MissingDependency:
		result.Status = statusWarn
		result.Detail = "not installed next to rye or in PATH; needed to serve a registry"
	default:
		result.Status = statusWarn
		result.Detail = err.Error()
	}
	if err != nil {
		result.Fix = cli.Hint(diag.Typed(err))
	}
	return []checkResult{result}
}
