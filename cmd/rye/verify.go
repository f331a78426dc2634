package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/verify"
)

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Group: "Items",
		Usage: "verify signatures, trust and contents", Args: "[REF|PATH…]",
		Long: `Without arguments every file below the project's .ai is verified: signature,
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
		Examples: []string{
			"rye verify",
			"rye verify tool:demo/hello .ai/knowledge",
			"rye verify --rev origin/main",
			"rye verify --base origin/main",
			"rye verify --format github              # in CI",
			"rye verify --json | jq '.data.findings[]'",
		},
		Codes: []diag.Code{diag.HashMismatch, diag.Unsigned, diag.KeyUnknown, diag.SigInvalid, diag.ValidationFailed, diag.ItemNotFound, diag.VersionNotFound,
			diag.LockMismatch, diag.LockStale, diag.LockRepointed, diag.SumConflict, diag.BundleFileMissing},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "rev", Usage: "verify the revision `REV`, or REV:FOLDER of a project in it"},
			&cli.BoolFlag{Name: "staged", Usage: "verify what the next commit would hold"},
			&cli.BoolFlag{Name: "system", Usage: "verify the system space"},
			&cli.BoolFlag{Name: "all", Usage: "verify the project, the user's space and the system space"},
			&cli.BoolFlag{Name: "explain", Usage: "tell of each refused file how it was judged, step by step"},
			&cli.StringFlag{Name: "base", Usage: "refuse what a change since `REV` must not do to rye.lock and rye.sum"},
			lockedFlag(),
			&cli.StringFlag{Name: "format", Usage: "print the report as `FORM`: human, json, sarif or github"},
		},
		Complete: completeItems(),
		Run:      runVerify,
	}
}

// verifyMemory is what a walk of many files should stay below, in bytes.
const verifyMemory = 40 << 20

func runVerify(ctx context.Context, c *cli.Call) error {
	// Most of what a walk allocates is one file's metadata, dead a moment later.
	debug.SetGCPercent(200)
	debug.SetMemoryLimit(verifyMemory) // near it, collecting costs less than holding
	format, err := c.Format()
	if err != nil {
		return err
	}
	h, err := envOf(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	report, err := verifyReport(ctx, c, h)
	if err != nil {
		return err
	}
	if format != "human" {
		return reportAs(ctx, c, format, h, report.Findings, diag.FromFindings("verifying", report.Findings))
	}
	return verified(c, report)
}

// verifyReport verifies what the words name, or all of the source.
func verifyReport(ctx context.Context, c *cli.Call, h *project.Project) (*verify.Report, error) {
	src, err := h.VerifySource(ctx, project.VerifyChoice{
		Revision: c.Str("rev"), InRevision: c.IsSet("rev"), Staged: c.Bool("staged"), System: c.Bool("system"), All: c.Bool("all"),
		Compared: c.IsSet("base"), Words: c.Args,
	})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	report := &verify.Report{}
	p := verify.Params{Resolver: src.Resolver, Trust: h.Trust, CountOnly: !c.UI.AsJSON && !c.UI.Detailed, Explain: c.Bool("explain")}
	if len(c.Args) == 0 {
		report.Findings = slices.Clone(h.BadTrust)
		for _, root := range src.Roots {
			r, err := verify.Root(ctx, p, root)
			if err != nil {
				return nil, err
			}
			report.Merge(r)
		}
		if src.Project != nil {
			if err := src.Project.VerifyLock(ctx, report); err != nil {
				return nil, err
			}
		}
	}
	if c.IsSet("base") {
		if err := h.VerifyBase(ctx, c.Str("base"), report); err != nil {
			return nil, err
		}
	}
	for _, word := range c.Args {
		r, err := verifyOne(ctx, c, src, p, word)
		if err != nil {
			return nil, err
		}
		report.Merge(r)
	}
	return report, nil
}

func verifyOne(ctx context.Context, c *cli.Call, src *project.VerifySource, p verify.Params, word string) (*verify.Report, error) {
	if root, rel, ok := src.Locate(word); ok {
		return verify.Below(ctx, p, root, rel)
	}
	ref, err := p.Resolver.Ref(ctx, word)
	if err != nil {
		return nil, project.NoFile(err, word)
	}
	it, err := p.Resolver.Inspect(ctx, ref)
	if err != nil {
		return nil, err
	}
	return verify.Item(it), nil
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
			for _, f := range r.Files {
				c.UI.Out("%s  %s  %s", string(f.Verdict.Status), f.Path, f.Verdict.Owner)
			}
		}
		for _, f := range r.Findings {
			c.UI.Finding(f)
		}
		for _, f := range r.Files {
			showSteps(c.UI, f.Path, f.Steps)
		}
		c.UI.Out("%s", walkSummary(r))
	}
	return c.UI.Report(err, r, r.Findings, human)
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
