package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/verify"
)

func verifyCommand() *command {
	return &command{
		name: "verify", group: "Items",
		usage: "verify signatures, trust and contents", args: "[REF|PATH…]",
		long: `Without arguments every file below the project's .ai is verified: signature,
trust, metadata, hidden characters, colliding ids, links, bundle manifests. All
files and all findings are shown. Nothing is written and nothing runs.
rye.lock is held against the project: its tools, its bundles as they are
installed, rye.yaml and rye.sum. --base compares it with that of a revision: the
same version from another place is refused, and so is a line that left rye.sum.
--rev reads a revision from git's objects, in a bare repository too, --staged the
index, with their own rye.lock and vendored bundles: no file of the work tree is
opened. Only bundles that git ignores are looked up where they are installed. The
keys that count are yours and the machine's in every case; none comes from the
revision.`,
		examples: []string{
			"rye verify",
			"rye verify tool:demo/hello .ai/knowledge",
			"rye verify --rev origin/main",
			"rye verify --base origin/main",
			"rye verify --format github              # in CI",
			"rye verify --json | jq '.data.findings[]'",
		},
		codes: []diag.Code{diag.HashMismatch, diag.Unsigned, diag.KeyUnknown, diag.SigInvalid, diag.ValidationFailed, diag.ItemNotFound, diag.VersionNotFound,
			diag.LockMismatch, diag.LockStale, diag.LockRepointed, diag.SumConflict, diag.BundleFileMissing},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "rev", Usage: "verify the revision `REV`, or REV:FOLDER of a project in it"},
			&cli.BoolFlag{Name: "staged", Usage: "verify what the next commit would hold"},
			&cli.BoolFlag{Name: "system", Usage: "verify the system space"},
			&cli.BoolFlag{Name: "all", Usage: "verify the project, the user's space and the system space"},
			&cli.BoolFlag{Name: "explain", Usage: "tell of each refused file how it was judged, step by step"},
			&cli.StringFlag{Name: "base", Usage: "refuse what a change since `REV` must not do to rye.lock and rye.sum"},
			lockedFlag(),
			&cli.StringFlag{Name: "format", Usage: "print the report as `FORM`: human, json, sarif or github"},
		},
		complete: completeItems(),
		run:      runVerify,
	}
}

// verifyMemory is what a walk of many files should stay below, in bytes.
const verifyMemory = 40 << 20

func runVerify(ctx context.Context, c *call) error {
	// Most of what a walk allocates is one file's metadata, dead a moment later.
	debug.SetGCPercent(200)
	debug.SetMemoryLimit(verifyMemory) // near it, collecting costs less than holding
	format, err := c.format()
	if err != nil {
		return err
	}
	h, err := c.house(ctx, lenient)
	if err != nil {
		return err
	}
	report, err := c.verifyReport(ctx, h)
	if err != nil {
		return err
	}
	if format != "human" {
		return c.reportAs(ctx, format, h, report.Findings, diag.FromFindings("verifying", report.Findings))
	}
	return c.verified(report)
}

// verifyReport verifies what the words name, or all of the source.
func (c *call) verifyReport(ctx context.Context, h *house) (*verify.Report, error) {
	src, err := c.verifySource(ctx, h)
	if err != nil {
		return nil, err
	}
	defer src.close()
	report := &verify.Report{}
	p := verify.Params{Resolver: src.resolver, Trust: h.trust, CountOnly: !c.ui.json && !c.ui.verbose, Explain: c.bool("explain")}
	if len(c.args) == 0 {
		report.Findings = slices.Clone(h.badTrust)
		for _, root := range src.roots {
			r, err := verify.Root(ctx, p, root)
			if err != nil {
				return nil, err
			}
			report.Merge(r)
		}
		if src.house != nil {
			if err := c.verifyLock(ctx, src.house, report); err != nil {
				return nil, err
			}
		}
	}
	if err := c.verifyBase(ctx, h, report); err != nil {
		return nil, err
	}
	for _, word := range c.args {
		r, err := c.verifyOne(ctx, src, p, word)
		if err != nil {
			return nil, err
		}
		report.Merge(r)
	}
	return report, nil
}

func (c *call) verifyOne(ctx context.Context, src *verifySource, p verify.Params, word string) (*verify.Report, error) {
	if root, rel, ok := src.place(word); ok {
		return verify.Below(ctx, p, root, rel)
	}
	ref, err := p.Resolver.Ref(ctx, word)
	if err != nil {
		return nil, noFile(err, word)
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
		for _, f := range r.Files {
			c.ui.steps(f.Path, f.Steps)
		}
		c.ui.Out("%s", walkSummary(r))
	}
	return c.ui.report(err, r, r.Findings, human)
}

// walkSummary counts files by verdict and says whether all is well.
func walkSummary(r *verify.Report) string {
	errs, warns := 0, 0
	for _, f := range r.Findings {
		if f.Severity == diag.SeverityError {
			errs++
		} else {
			warns++
		}
	}
	s := fmt.Sprintf("%s verified, %d trusted", plural(r.Judged, "file"), r.Trusted)
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
