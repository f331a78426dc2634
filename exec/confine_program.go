package exec

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// Program is a program that rye starts for an item and that is not the end of a chain,
// such as an MCP server.
type Program struct {
	Ref      item.Ref
	Owner    string          // programs of one id and owner share {cache}: the signer of the item
	Declared string          // the risk class that the item states, or ""
	Profile  policy.Profile  // the key sandbox of the item
	Default  *policy.Profile // of keys that the item does not state; nil is the profile of the class
	Held     policy.Held     // of the caller
}

// Confine changes cmd, whose path is absolute, so that the program starts in its
// sandbox, and returns the isolation that applies. finish completes the run.
// rye serve as an MCP server of another project is not confined: it starts its programs in
// sandboxes of their own, and the kernel refuses one inside another.
func (e *Executor) Confine(
	ctx context.Context,
	p Program,
	cmd *proc.Cmd,
) (applied *Sandbox, finish func(*proc.Result) error, err error) {
	c, err := e.confinement(ctx, stating{
		ref:      p.Ref,
		declared: p.Declared,
		profile:  p.Profile,
		all:      p.Profile,
		def:      p.Default,
	}, p.Held)
	if err != nil {
		return nil, nil, err
	}
	// rye serve starts its programs in sandboxes of their own, which it could not create
	// inside a sandbox.
	c.Applet = len(cmd.Argv) > 1 &&
		cmd.Argv[1] == "serve" &&
		real(cmd.Path) == real(e.p.Self)
	// The programs of such a server do not belong to this thread.
	served := *c
	served.Applet, served.Unconfined = false, c.Unconfined || c.Applet
	if err := e.checkReadOnly(&served, p.Ref); err != nil {
		return nil, nil, err
	}
	if !c.Unconfined && !c.Applet {
		e.locate(c, p.Ref, p.Owner, []string{cmd.Path}, cmd.Env)
	}
	applied, finish, err = e.confined(ctx, c, cmd)
	if err != nil {
		return nil, nil, diag.Doing("starting "+p.Ref.String(), err)
	}
	return applied, finish, nil
}
