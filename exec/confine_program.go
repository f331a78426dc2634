package exec

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/sign"
)

// Program is a program that rye starts for an item and that is not the end of a chain,
// such as an MCP server.
type Program struct {
	Ref      item.Ref
	Signer   sign.Fingerprint
	Declared string          // the risk class that the item states, or ""
	Profile  policy.Profile  // the key sandbox of the item
	Default  *policy.Profile // of keys that the item does not state; nil is that of the class
	Held     policy.Held     // of the caller
}

// Confine changes cmd, whose path is absolute, so that the program starts in its
// sandbox. finish completes the run.
func (e *Executor) Confine(ctx context.Context, p Program, cmd *proc.Cmd) (finish func(*proc.Result) (*Sandbox, error), err error) {
	c, err := e.confinement(ctx, stating{ref: p.Ref, declared: p.Declared, own: p.Profile, all: p.Profile, def: p.Default}, p.Held)
	if err != nil {
		return nil, err
	}
	if !c.Unconfined {
		e.locate(c, p.Ref, p.Signer, []string{cmd.Path}, cmd.Env)
	}
	finish, err = e.confined(ctx, c, cmd)
	if err != nil {
		return nil, diag.Doing("starting "+p.Ref.String(), err)
	}
	return finish, nil
}
