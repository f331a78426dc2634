package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/verify"
)

func verifyCommand() *command {
	return &command{
		name: "verify", group: "Items",
		usage: "verify signatures, trust and contents", args: "[REF|PATH…]",
		long: `Without arguments every file below the project's .ai is verified: signature,
trust, metadata, hidden characters, colliding ids, links, bundle manifests. All
files and all findings are shown. Nothing is written and nothing runs.`,
		examples: []string{
			"rye verify",
			"rye verify tool:demo/hello .ai/knowledge",
			"rye verify --json | jq '.data.findings[]'",
		},
		codes: []diag.Code{diag.HashMismatch, diag.Unsigned, diag.KeyUnknown, diag.SigInvalid, diag.ValidationFailed, diag.ItemNotFound},
		run:   runVerify,
	}
}

func runVerify(ctx context.Context, c *call) error {
	h, err := c.house(lenient)
	if err != nil {
		return err
	}
	report := &verify.Report{}
	p := verify.Params{Resolver: resolve.New(resolve.Params{Spaces: h.spaces, Trust: h.trust, Lenient: true, NoCache: true}), Trust: h.trust}
	if len(c.args) == 0 {
		root, err := h.needProject()
		if err != nil {
			return err
		}
		if report, err = verify.Root(ctx, p, root); err != nil {
			return err
		}
		report.Findings = append(slices.Clone(h.badTrust), report.Findings...)
	}
	for _, word := range c.args {
		r, err := c.verifyOne(ctx, h, p, word)
		if err != nil {
			return err
		}
		report.Merge(r)
	}
	return c.verified(report)
}

func (c *call) verifyOne(ctx context.Context, h *house, p verify.Params, word string) (*verify.Report, error) {
	if root, rel, ok := c.placeOf(h, word); ok {
		return verify.Below(ctx, p, root, rel)
	}
	ref, err := p.Resolver.Ref(ctx, word)
	if err != nil {
		return nil, err
	}
	it, err := p.Resolver.Inspect(ctx, ref)
	if err != nil {
		return nil, err
	}
	return verify.Item(it), nil
}

// verified shows a report; its worst finding decides the exit status.
func (c *call) verified(r *verify.Report) error {
	if r.Files == nil {
		r.Files = []verify.File{}
	}
	if r.Findings == nil {
		r.Findings = []diag.Finding{}
	}
	err := diag.FromFindings("verifying", r.Findings)
	human := func() {
		if c.ui.verbose {
			for _, f := range r.Files {
				c.ui.Out("%s  %s  %s", string(f.Verdict.Status), f.Path, f.Verdict.Owner)
			}
		}
		for _, f := range r.Findings {
			c.ui.finding(f)
		}
		c.ui.Out("%s", walkSummary(r))
	}
	return c.ui.report(err, r, r.Findings, human)
}

// walkSummary counts files by verdict and says whether all is well.
func walkSummary(r *verify.Report) string {
	good := 0
	for _, f := range r.Files {
		if f.Verdict.Status == trust.Trusted {
			good++
		}
	}
	errs, warns := 0, 0
	for _, f := range r.Findings {
		if f.Severity == diag.SeverityError {
			errs++
		} else {
			warns++
		}
	}
	s := fmt.Sprintf("%s verified, %d trusted", plural(len(r.Files), "file"), good)
	if errs+warns == 0 {
		return s
	}
	return fmt.Sprintf("%s, %s, %s", s, plural(errs, "error"), plural(warns, "warning"))
}

func plural(n int, noun string) string {
	if n == 1 {
		return fmt.Sprintf("%d %s", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
