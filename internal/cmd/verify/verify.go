package verify

import (
	"context"
	"runtime/debug"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/relock"
	"github.com/ryeos/rye/internal/revision"
	"github.com/ryeos/rye/internal/status"
	"github.com/ryeos/rye/verify"
)

// verifyOptions are the flags of rye verify.
type verifyOptions struct {
	choice       revision.Choice
	base, format string
	accepted     []string

	explain, locked, noMemo bool
}

func Command() *cli.Command {
	var o verifyOptions
	return &cli.Command{
		Name:  "verify",
		Group: "Items",
		Usage: "verify signatures, trust and contents",
		Args:  "[REF|PATH…]",
		Long: `Without arguments, rye verifies every file below the project's .ai (signature, trust,
metadata, hidden characters, colliding ids, links, bundle manifests) and compares
rye.lock with the tools, the installed bundles, rye.yaml and rye.sum. It prints all
findings, changes nothing and runs nothing. A directory that some file system takes for
.ai, as .AI, is an error; .ai of other directories is a warning (in a work tree, down to
4 levels).

Files that git ignores or that editors and systems leave, and a README.md, are skipped
if they have no valid signature; -v prints how many.

--rev reads a revision from git's objects, also in a bare repository, and --staged the
index, with their own rye.lock and vendored bundles. No file of the work tree is
opened, except bundles that git ignores. The trusted keys are always yours and the
machine's; none comes from the revision. --base compares rye.lock and rye.sum with a
revision: the same version from another source, a line removed from rye.sum, and a new
or changed entry whose key has expired are refused, and so is a new prefer of rye.yaml
for an item below rye/, a setting of the system or an item of another space. A
maintainer who wants that prefer accepts it with --accept-prefer.

A memo in your state directory remembers which signatures were computed and valid, and
in which files nothing was found. Hashes, keys, scopes, expiry, revocations and locks
are judged each time. In CI, and with --no-memo, the memo is not used.`,
		Examples: []string{
			"rye verify",
			"rye verify tool:demo/hello .ai/knowledge",
			"rye verify --rev origin/main",
			"rye verify --base origin/main",
			"rye verify --format github              # in CI",
			"rye verify --json | jq '.data.findings[]'",
		},
		Codes: []diag.Code{diag.HashMismatch, diag.Unsigned, diag.KeyUnknown, diag.SigInvalid, diag.ValidationFailed, diag.ItemNotFound, diag.VersionNotFound,
			diag.LockMismatch, diag.LockStale, diag.LockRepointed, diag.SumConflict, diag.BundleFileMissing, diag.ConsentRequired},
		Flags: []cli.Flag{
			cli.String(&o.choice.Revision, "rev", "verify the revision `REV`, or REV:DIRECTORY of a project in it"),
			cli.Bool(&o.choice.Staged, "staged", "verify the index, the next commit"),
			cli.Bool(&o.choice.System, "system", "verify the system space"),
			cli.Bool(&o.choice.All, "all", "verify the project, the user's space and the system space"),
			cli.Bool(&o.explain, "explain", "print each step of the verdict for every refused file"),
			cli.String(&o.base, "base", "also refuse forbidden changes of rye.lock and rye.sum since `REV`"),
			cli.Strings(&o.accepted, "accept-prefer", "accept a new prefer for `REF` since --base"),
			cli.Bool(&o.locked, "locked", env.LockedUsage),
			cli.Bool(&o.noMemo, "no-memo", "compute every signature, as in CI; use and write no memo"),
			cli.String(&o.format, "format", "print the report as `FORM`: human, json, sarif or github"),
		},
		Exclusive: [][]any{
			{&o.choice.Revision, &o.choice.Staged, &o.choice.System, &o.choice.All},
			{&o.choice.Revision, &o.base}, {&o.choice.Staged, &o.base}, {&o.choice.System, &o.base}, {&o.choice.All, &o.base},
		},
		Complete: complete.Items(),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runVerify(ctx, c, &o)
		},
	}
}

// verifyMemory is the memory limit of a walk over many files, in bytes.
const verifyMemory = 40 << 20

func runVerify(ctx context.Context, c *cli.Call, o *verifyOptions) error {
	debug.SetMemoryLimit(verifyMemory) // near the limit, collecting is cheaper than more memory
	format, err := c.Format(o.format)
	if err != nil {
		return err
	}
	if len(o.accepted) > 0 && !c.Given(&o.base) {
		return diag.New(diag.Usage, "running verify: --accept-prefer is about the changes since --base REV")
	}
	e := env.Of(c)
	e.SetLocked(c.Given(&o.locked), o.locked)
	e.NoMemo = o.noMemo
	h, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	defer h.Memo().Batch()()
	if err := h.Memo().Refused(); err != nil {
		c.UI.Warn("%v: everything was computed without it", err)
	}
	report, err := verifyReport(ctx, c, h, o)
	if err != nil {
		return err
	}
	if format != "human" {
		return reportAs(ctx, c, format, h, report.Findings, diag.FromFindings("verifying", report.Findings))
	}
	return view.Verified(c, report)
}

// verifyReport verifies the items that the arguments name, or everything in the
// source.
func verifyReport(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	o *verifyOptions,
) (*verify.Report, error) {
	o.choice.InRevision = c.Given(&o.choice.Revision)
	o.choice.Words = c.Args
	src, err := revision.OpenSource(ctx, h, o.choice)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	report := &verify.Report{}
	p := verify.Params{
		Resolver:  src.Resolver,
		Trust:     h.Trust,
		Ignored:   src.Ignored,
		Filtered:  src.Filtered,
		CountOnly: !c.UI.AsJSON && !c.UI.Detailed,
		Explain:   o.explain,
	}
	if len(c.Args) == 0 {
		report.Findings = slices.Clone(h.BadTrust)
		var judge *relock.Judge
		if src.Project != nil {
			judge = relock.NewJudge(ctx, src.Project)
		}
		if judge != nil {
			p.Each = judge.Item
		}
		for _, root := range src.Roots {
			r, err := verify.Root(ctx, p, root)
			if err != nil {
				return nil, err
			}
			report.Merge(r)
		}
		found, err := src.Outside(ctx)
		if err != nil {
			return nil, err
		}
		report.Findings = append(report.Findings, found...)
		if src.Project != nil {
			err := status.VerifyLock(ctx, src.Project, report, judge)
			if err != nil {
				return nil, err
			}
		}
	}
	if c.Given(&o.base) {
		err := status.VerifyBase(ctx, h, o.base, o.accepted, report)
		if err != nil {
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
	report.Keys(h.Trust, c.Now())
	return report, nil
}

func verifyOne(
	ctx context.Context,
	c *cli.Call,
	src *revision.Source,
	p verify.Params,
	word string,
) (*verify.Report, error) {
	if root, rel, ok := src.Locate(word); ok {
		return verify.Below(ctx, p, root, rel)
	}
	ref, err := p.Resolver.Ref(ctx, word)
	if err != nil {
		return nil, project.NoFile(env.Of(c), err, word)
	}
	it, err := p.Resolver.Inspect(ctx, ref)
	if err != nil {
		return nil, err
	}
	return verify.Item(ctx, p.Resolver, it), nil
}
