package view

import (
	"fmt"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/verify"
)

func SignerOf(it *resolve.Item) string {
	return it.Verdict.Owner + " (" + it.Verdict.Signer.Short() + ")"
}

func Chain(u *cli.UI, elements []primary.Element) {
	t := cli.NewTable("chain")
	for i, e := range elements {
		arrow := ""
		if i > 0 {
			arrow = "->"
		}
		signer := e.Owner
		if e.Status != "trusted" {
			signer = string(e.Status)
		}
		t.Add(
			arrow,
			e.Ref,
			e.Space,
			e.Version,
			e.Digest.String()[:19],
			signer,
		)
	}
	u.Table(t)
}

// Steps prints the steps of the verdict on a file.
func Steps(u *cli.UI, path string, lines []string) {
	if len(lines) == 0 {
		return
	}
	u.Out("%s", path)
	for _, l := range lines {
		u.Out("  %s", l)
	}
}

// Verified shows a report; its worst finding decides the exit status.
func Verified(c *cli.Call, r *verify.Report) error {
	if r.Files == nil {
		r.Files = []verify.File{}
	}
	if r.Findings == nil {
		r.Findings = []diag.Finding{}
	}
	err := diag.FromFindings("verifying", r.Findings)
	human := func() {
		if c.UI.Detailed {
			t := cli.NewTable("verified")
			for _, f := range r.Files {
				t.Add(string(f.Verdict.Status), f.Path, f.Verdict.Owner)
			}
			c.UI.Table(t)
		}
		for _, f := range r.Findings {
			c.UI.Finding(f)
		}
		for _, f := range r.Files {
			Steps(c.UI, f.Path, f.Steps)
		}
		c.UI.Out("%s", WalkSummary(r))
		if c.UI.Detailed && r.Ignored > 0 {
			c.UI.Out("%s ignored: not items, or ignored by git", cli.Plural(r.Ignored, "file"))
		}
	}
	return c.UI.Report(err, r, r.Findings, human)
}

// WalkSummary counts files by verdict and states whether there are problems.
func WalkSummary(r *verify.Report) string {
	errs := 0
	warns := 0
	for _, f := range r.Findings {
		if f.Severity == diag.SeverityError {
			errs++
		} else {
			warns++
		}
	}
	s := fmt.Sprintf("%s verified, %d trusted", cli.Plural(r.Judged, "file"), r.Trusted)
	if errs+warns == 0 {
		return s
	}
	return fmt.Sprintf("%s, %s, %s", s, cli.Plural(errs, "error"), cli.Plural(warns, "warning"))
}
