package main

import (
	"context"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/packages"
)

func auditCommand() *cli.Command {
	return &cli.Command{
		Name: "audit", Group: packagesGroup,
		Usage: "judge the locked bundles as of today",
		Long: `For each bundle of rye.lock: who signed it and whether that key still counts, its
executables and the capabilities that its items ask for, since when this account
knows it; and the rules of rye.yaml, the machine and your account. What was revoked or has ended since it was locked, what rye.yaml refuses
or demands by now, what rye.sum denies, and what is installed and not as locked, are
findings; the worst decides the exit status. Nobody is asked and nothing changes:
rye outdated asks the remotes.`,
		Examples: []string{"rye audit", "rye audit --json"},
		Codes: []diag.Code{
			diag.LockMissing, diag.LockStale, diag.Drift, diag.LockMismatch, diag.SumConflict, diag.Unsigned, diag.KeyUnknown, diag.Scope,
			diag.Expired, diag.Revoked, diag.SignerChanged, diag.Threshold, diag.PolicyDenied,
		},
		Flags: packageFlags(),
		Run:   runAudit,
	}
}

func runAudit(ctx context.Context, c *cli.Call) error {
	x, err := openEngine(ctx, c)
	if err != nil {
		return err
	}
	a, err := x.Audit(ctx)
	if err != nil {
		return err
	}
	err = diag.FromFindings("auditing", a.Findings)
	return c.UI.Report(err, a, a.Findings, func() { showAudit(c.UI, a) })
}

func showAudit(u *cli.UI, a *packages.Audit) {
	for _, b := range a.Bundles {
		u.Out("%s %s (%s)", b.ID, b.Version, b.State)
		for _, s := range b.Signers {
			u.Out("    signed by %s", shortSigner(s))
		}
		showLines(u, "asks for", b.Caps)
		showLines(u, "executable", b.Exec)
		if !b.FirstSeen.IsZero() {
			u.Out("    first seen %s", b.FirstSeen.UTC().Format(time.DateOnly))
		}
	}
	t := &cli.Table{}
	for _, r := range a.Rules {
		t.Add("rule", r.Key, r.Value, r.Where())
	}
	u.Table(t)
	errs, warns := 0, 0
	for _, f := range a.Findings {
		u.Finding(f)
		if f.Severity == diag.SeverityError {
			errs++
		} else {
			warns++
		}
	}
	u.Out("%s audited, %s, %s", plural(len(a.Bundles), "bundle"), plural(errs, "error"), plural(warns, "warning"))
}

// shortSigner names a key and says whether it counts.
func shortSigner(s packages.AuditedSigner) string {
	key := strings.TrimPrefix(s.Key, "ed25519:")
	key = key[:min(16, len(key))]
	if s.Owner != "" {
		key += " (" + s.Owner + ")"
	}
	if s.Counts {
		return key
	}
	return key + ", does not count: " + string(s.Code)
}
