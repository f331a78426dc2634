package registry

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/registry/witness"
)

// witnessOptions are the flags of rye registry witness.
type witnessOptions struct {
	dir, addr, name string
	logs            []string
}

func witnessCommand() *cli.Command {
	var o witnessOptions
	return &cli.Command{
		Name:  "witness",
		Usage: "sign checkpoints of registries that keep their history",
		Long: `Serves add-checkpoint of C2SP tlog-witness: it signs a checkpoint of a log only if the
log continues the one that it signed before. Clients that demand the signature of a
witness (rye registry add --witness) see the same log as others.

The first call makes a key and needs --name.`,
		Examples: []string{"rye registry witness --data /srv/witness --name w1.example --log rye.acme.io+1c8f6a2e+AX…"},
		Codes:    []diag.Code{diag.Conflict, diag.ConfigError, diag.Network},
		Flags: []cli.Flag{
			cli.String(&o.dir, "data", "the `DIR` of the witness"),
			cli.String(&o.addr, "addr", "listen on `HOST:PORT` (default 127.0.0.1:7481)"),
			cli.String(&o.name, "name", "the `NAME` of a new witness, such as its host"),
			cli.Strings(&o.logs, "log", "sign checkpoints of the log with this `KEY`: NAME+HASH+KEY"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runWitness(ctx, c, &o)
		},
	}
}

func runWitness(ctx context.Context, c *cli.Call, o *witnessOptions) error {
	if o.dir == "" || len(o.logs) == 0 {
		return diag.New(diag.Usage, "reading flags: --data and at least one --log are needed")
	}
	w, err := witness.Open(ctx, witness.Params{
		Dir:  c.Path(o.dir),
		Name: o.name,
		Logs: o.logs,
		Now:  c.Now,
	})
	if err != nil {
		return err
	}
	defer w.Close()
	addr := cmp.Or(o.addr, "127.0.0.1:7481")
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return diag.New(diag.Network, "listening on %s: %w", addr, err)
	}
	c.UI.Note("witness on http://%s", l.Addr())
	c.UI.Note("key of the witness: %s", w.Key())
	// The limits bound what a client that sends nothing can hold.
	h := &http.Server{
		Handler:           w.Handler(),
		ReadTimeout:       30 * time.Second,
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    16 << 10,
	}
	context.AfterFunc(ctx, func() { _ = h.Close() })
	err = h.Serve(l)
	if !errors.Is(err, http.ErrServerClosed) {
		return diag.New(diag.Network, "serving %s: %w", addr, err)
	}
	return nil
}
