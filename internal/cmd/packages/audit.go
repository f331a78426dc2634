package packages

import (
	"context"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/packages"
)

func AuditCommand() *cli.Command {
	var o env.PackageOptions
	return &cli.Command{
		Name:  "audit",
		Group: env.PackagesGroup,
		Usage: "check the locked bundles against current keys and rules",
		Long: `For each bundle of rye.lock, prints its signers and whether their keys are still
trusted, its executables, the capabilities that its items ask for, the items that are
used instead of items of another space, the items that are not used because their ids
are reserved, and when it was first seen. Then prints the rules of rye.yaml, the machine and your account.

Findings are keys that were revoked or expired after locking, violated rules,
digests that differ from rye.sum, and installed files that differ from rye.lock. The
worst finding decides the exit status. Uses no network and changes nothing.`,
		Examples: []string{"rye audit", "rye audit --json"},
		Codes: []diag.Code{
			diag.LockMissing, diag.LockStale, diag.Drift, diag.LockMismatch, diag.SumConflict, diag.Unsigned, diag.KeyUnknown, diag.Scope,
			diag.Expired, diag.Revoked, diag.SignerChanged, diag.Threshold, diag.PolicyDenied,
		},
		Flags: env.PackageFlags(&o),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runAudit(ctx, c, &o)
		},
	}
}

func runAudit(ctx context.Context, c *cli.Call, o *env.PackageOptions) error {
	x, err := env.OpenPackages(ctx, c, o)
	if err != nil {
		return err
	}
	a, err := x.Audit(ctx)
	if err != nil {
		return err
	}
	err = diag.FromFindings("auditing", a.Findings)
	return c.UI.Report(
		err,
		a,
		a.Findings,
		func() { showAudit(c.UI, a) },
	)
}

func showAudit(u *cli.UI, a *packages.Audit) {
	for _, b := range a.Bundles {
		u.Out("%s %s (%s)", b.ID, b.Version, b.State)
		for _, s := range b.Signers {
			u.Out("    signed by %s", signerLabel(s))
		}
		view.Lines(u, "asks for", b.Caps)
		view.Lines(u, "executable", b.Exec)
		for _, x := range b.Items {
			u.Out("    %s", view.ItemNote(x))
		}
		if !b.FirstSeen.IsZero() {
			u.Out("    first seen %s", b.FirstSeen.UTC().Format(time.DateOnly))
		}
	}
	t := cli.NewTable("rules")
	for _, r := range a.Rules {
		t.Add("rule", r.Key, r.Value, r.Where())
	}
	u.Table(t)
	errs := 0
	warns := 0
	for _, f := range a.Findings {
		u.Finding(f)
		if f.Severity == diag.SeverityError {
			errs++
		} else {
			warns++
		}
	}
	u.Out(
		"%s audited, %s, %s",
		cli.Plural(len(a.Bundles), "bundle"),
		cli.Plural(errs, "error"),
		cli.Plural(warns, "warning"),
	)
}

// signerLabel returns a key, its owner, and why it is not trusted.
func signerLabel(s packages.AuditedSigner) string {
	key := strings.TrimPrefix(s.Key, "ed25519:")
	key = key[:min(16, len(key))]
	if s.Owner != "" {
		key += " (" + s.Owner + ")"
	}
	if s.Trusted {
		return key
	}
	return key + ", not trusted: " + string(s.Code)
}
