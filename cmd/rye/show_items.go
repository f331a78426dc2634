package main

import (
	"fmt"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/verify"
)

func signerOf(it *resolve.Item) string {
	return it.Verdict.Owner + " (" + it.Verdict.Signer.Short() + ")"
}

func showChain(u *cli.UI, elements []primary.Element) {
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
		t.Add(arrow, e.Ref, e.Space, e.Version, e.Digest.String()[:19], signer)
	}
	u.Table(t)
}

// showSteps prints the steps of the verdict on a file.
func showSteps(u *cli.UI, path string, lines []string) {
	if len(lines) == 0 {
		return
	}
	u.Out("%s", path)
	for _, l := range lines {
		u.Out("  %s", l)
	}
}

// verified shows a report; its worst finding decides the exit status.
func verified(c *cli.Call, r *verify.Report) error {
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
			showSteps(c.UI, f.Path, f.Steps)
		}
		c.UI.Out("%s", walkSummary(r))
		if c.UI.Detailed && r.Ignored > 0 {
			c.UI.Out("%s ignored: not items, or ignored by git", cli.Plural(r.Ignored, "file"))
		}
	}
	return c.UI.Report(err, r, r.Findings, human)
}

// walkSummary counts files by verdict and states whether there are problems.
func walkSummary(r *verify.Report) string {
	errs, warns := 0, 0
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
