package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/sign"
)

func keyLogCommand() *cli.Command {
	return &cli.Command{
		Name: "log", Usage: "show what was signed here, and check that nothing of it was changed",
		Long: `Every signature made with your account is written down before the signed file is:
when, by what (the command line, the commit hook, an agent), for which item, with
which key. Each line holds the hash of the one before. --check goes along the whole
chain and names the lines where it does not hold. It cannot notice when all of the
log was written anew: whoever has your account can do that.`,
		Examples: []string{"rye key log", "rye key log --limit 0 --json", "rye key log --check"},
		Codes:    []diag.Code{diag.TranscriptBroken, diag.FileSystemError},
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "check the chain of hashes; show no entries"},
			&cli.IntFlag{Name: "limit", Value: 20, Usage: "show the newest `N` entries; 0 shows all"},
		},
		Run: runKeyLog,
	}
}

func runKeyLog(ctx context.Context, c *cli.Call) error {
	limit := c.Int("limit")
	if limit < 0 {
		return diag.New(diag.Usage, "reading flag --limit: %d is less than 0", limit).WithHint("0 shows all")
	}
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	if c.Bool("check") {
		limit = 1
	}
	rep, err := h.AuditLog().Read(ctx, limit)
	if err != nil {
		return err
	}
	if c.Bool("check") {
		data := map[string]any{"path": rep.Path, "total": rep.Total, "findings": append([]diag.Finding{}, rep.Findings...)}
		return c.UI.Report(rep.Err(), data, rep.Findings, func() { showCheckedLog(c.UI, rep) })
	}
	return c.UI.Show(rep, func() { showSignatureLog(c.UI, rep) })
}

func showCheckedLog(u *cli.UI, rep *auditlog.Report) {
	for _, f := range rep.Findings {
		u.Finding(f)
	}
	if rep.Err() == nil {
		u.Out("%s recorded, the chain holds", plural(rep.Total, "signature"))
	}
}

func showSignatureLog(u *cli.UI, rep *auditlog.Report) {
	t := &cli.Table{Header: []string{"NUMBER", "TIME", "BY", "USE", "WHAT", "SPACE", "KEY", "PROJECT"}}
	for _, e := range rep.Entries {
		t.Add(strconv.FormatInt(e.Seq, 10), e.Time, e.Surface, e.Use, loggedName(e), e.Space, e.Key[:shortKey], e.Project)
	}
	if rep.Total == 0 {
		u.Note("Nothing was signed here yet.")
	} else {
		u.Table(t)
	}
	if n := len(rep.Entries); n < rep.Total {
		u.Note("The newest %d of %d; --limit 0 shows all.", n, rep.Total)
	}
	if rep.Err() != nil {
		u.Warn("the log was changed after it was written: rye key log --check tells where")
	}
}

// shortKey is how much of a fingerprint people see.
const shortKey = 16

// loggedName returns what was signed as people name it: the ids of trust
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
