package key

import (
	"context"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/sign"
)

// keyLogOptions are the flags of rye key log.
type keyLogOptions struct {
	check bool
	limit int
}

func keyLogCommand() *cli.Command {
	o := keyLogOptions{limit: 20}
	return &cli.Command{
		Name:  "log",
		Usage: "show or check the log of your signatures",
		Long: `rye records every signature that your account makes before it writes the signed file:
the time, the surface (command line, commit hook or agent), the item and the key. Each
line contains the hash of the line before. --check verifies the whole chain and names
the lines that do not match. It cannot detect a log that was rewritten completely:
every program with your account can do that.`,
		Examples: []string{"rye key log", "rye key log --limit 0 --json", "rye key log --check"},
		Codes:    []diag.Code{diag.TranscriptBroken, diag.FileSystemError},
		Flags: []cli.Flag{
			cli.Bool(&o.check, "check", "check the chain of hashes; show no entries"),
			cli.Int(&o.limit, "limit", "show the newest `N` entries, 0 for all"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runKeyLog(ctx, c, &o)
		},
	}
}

func runKeyLog(ctx context.Context, c *cli.Call, o *keyLogOptions) error {
	limit := o.limit
	if limit < 0 {
		return diag.New(diag.Usage, "reading flag --limit: %d is less than 0", limit)
	}
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	if o.check {
		limit = 1
	}
	rep, err := h.Recorder().Log.Read(ctx, limit)
	if err != nil {
		return err
	}
	if o.check {
		data := map[string]any{"path": rep.Path, "total": rep.Total, "findings": append([]diag.Finding{}, rep.Findings...)}
		return c.UI.Report(
			rep.Err(),
			data,
			rep.Findings,
			func() { showCheckedLog(c.UI, rep) },
		)
	}
	return c.UI.Show(rep, func() { showSignatureLog(c.UI, rep) })
}

func showCheckedLog(u *cli.UI, rep *auditlog.Report) {
	for _, f := range rep.Findings {
		u.Finding(f)
	}
	if rep.Err() == nil {
		u.Out("%s recorded, the chain is valid", cli.Plural(rep.Total, "signature"))
	}
}

func showSignatureLog(u *cli.UI, rep *auditlog.Report) {
	t := cli.NewTable("signatures")
	for _, e := range rep.Entries {
		t.Add(
			strconv.FormatInt(e.Seq, 10),
			e.Time,
			e.Surface,
			e.Use,
			loggedName(e),
			e.Space,
			e.Key[:shortKey],
			e.Project,
		)
	}
	if rep.Total == 0 {
		u.Note("No signatures yet.")
	} else {
		u.Table(t)
	}
	if n := len(rep.Entries); n < rep.Total {
		u.Note("The newest %d of %d; --limit 0 shows all.", n, rep.Total)
	}
	if rep.Err() != nil {
		u.Warn("the log was changed after it was written: rye key log --check shows where")
	}
}

// shortKey is how much of a fingerprint people see.
const shortKey = 16

// loggedName returns the signed object as people name it: the ids of trust
// documents begin with their kind and hold whole fingerprints.
func loggedName(e auditlog.Entry) string {
	if e.Use == "sign" {
		return e.Kind + ":" + e.ID
	}
	words := strings.Split(e.ID, "-")
	for i, w := range words {
		if _, err := sign.ParseFingerprint(w); err == nil {
			words[i] = w[:shortKey]
		}
	}
	name := strings.Join(words, "-")
	if words[0] == e.Kind {
		return name
	}
	return e.Kind + " " + name
}
