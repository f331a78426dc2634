package view

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/githook"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/primary"
)

// SignOptions are the flags of rye sign.
type SignOptions struct {
	Staged, IndexOnly, Differing, All, Check, Upgrade, TakeOver bool

	Key        string
	LegacyKeys []string
}

// Signed prints the reports. A refused file, or a stale one with --check,
// decides the exit status.
func Signed(u *cli.UI, reports []primary.SignReport, o *SignOptions) error {
	counts := map[primary.SignStatus]int{}
	var fs []diag.Finding
	for _, r := range reports {
		counts[r.Status]++
		cli.FillFixes(r.Findings)
		fs = append(fs, r.Findings...)
		if r.Status == primary.Stale {
			f := diag.Errorf(diag.Drift, 0, 0, "the current content of %s is not signed", r.Path).WithReason("sign")
			if o.Upgrade {
				f = diag.Errorf(diag.Drift, 0, 0, "%s would be upgraded", r.Path).WithReason("upgrade")
			}
			f.Facts = map[string]any{"file": r.Path}
			fs = append(fs, f)
		}
	}
	data := map[string]any{"files": reports, "signed": counts[primary.Signed], "unchanged": counts[primary.Unchanged],
		"stale": counts[primary.Stale], "refused": counts[primary.Refused], "skipped": counts[primary.Skipped]}
	if o.Upgrade {
		data["upgraded"] = counts[primary.Upgraded]
	}
	err := diag.FromFindings("signing", fs)
	human := func() {
		many := manySigned(u, reports)
		for _, r := range reports {
			if many[r.Status] > 0 && plainReport(r) {
				continue
			}
			if r.Status != primary.Unchanged || !r.Found || len(r.Findings) > 0 {
				SignLine(u, r)
			}
		}
		for _, s := range []primary.SignStatus{primary.Signed, primary.Upgraded} {
			if many[s] > 0 {
				u.Out(
					"%s  %s (-v lists them)",
					u.Style(cli.Green, fmt.Sprintf("%-9s", s)),
					project.Count(many[s], "file"),
				)
			}
		}
		u.Note("%s", signSummary(counts, o.Upgrade, o.Check))
	}
	return u.Report(err, data, fs, human)
}

// manySigned returns the number of reports of each status that are shown as one line.
func manySigned(u *cli.UI, reports []primary.SignReport) map[primary.SignStatus]int {
	many := map[primary.SignStatus]int{}
	for _, r := range reports {
		if plainReport(r) {
			many[r.Status]++
		}
	}
	for s, n := range many {
		if u.Detailed || n <= project.LongList || s != primary.Signed && s != primary.Upgraded {
			delete(many, s)
		}
	}
	return many
}

// plainReport reports whether a report has nothing to show but the name of its file.
func plainReport(r primary.SignReport) bool {
	return len(r.Findings) == 0 && r.Replaces == nil && r.Diff == ""
}

func signSummary(n map[primary.SignStatus]int, upgrade, check bool) string {
	if !upgrade {
		done := fmt.Sprintf(
			"%d signed, %d unchanged, %d refused",
			n[primary.Signed],
			n[primary.Unchanged],
			n[primary.Refused],
		)
		if n[primary.Skipped] > 0 {
			done += fmt.Sprintf(", %d skipped", n[primary.Skipped])
		}
		return done
	}
	done := fmt.Sprintf("%d upgraded", n[primary.Upgraded])
	if check {
		done = fmt.Sprintf("%d would be upgraded", n[primary.Stale])
	}
	return fmt.Sprintf(
		"%s, %d unchanged, %d skipped, %d refused",
		done,
		n[primary.Unchanged],
		n[primary.Skipped],
		n[primary.Refused],
	)
}

func SignLine(u *cli.UI, r primary.SignReport) {
	style := map[primary.SignStatus]string{
		primary.Signed:    cli.Green,
		primary.Upgraded:  cli.Green,
		primary.Refused:   cli.Red,
		primary.Stale:     cli.Yellow,
		primary.Unchanged: cli.Dim,
		primary.Skipped:   cli.Yellow,
	}[r.Status]
	name := r.Ref
	if name == "" {
		name = "(no item)"
	}
	if r.Support {
		name += " (support file)"
	}
	if r.Diff != "" && !r.Asked {
		u.Text(r.Diff)
	}
	u.Out(
		"%s  %s  %s",
		u.Style(style, fmt.Sprintf("%-9s", r.Status)),
		name,
		u.Style(cli.Dim, r.Path),
	)
	if text := Replaces(r, "  "); text != "" {
		u.Out("%s", text)
	}
	for _, f := range r.Findings {
		u.Finding(f)
	}
}

// Replaces describes the signature of another key that a new one replaces, "" if there
// is none.
func Replaces(r primary.SignReport, before string) string {
	if r.Replaces == nil || r.Status == primary.Refused {
		return ""
	}
	return fmt.Sprintf(
		"%sreplaces the signature of %s (%s)",
		before,
		r.Replaces.Key[:16],
		cmp.Or(r.Replaces.Owner, "unknown"),
	)
}

// StagedReport shows what became of the staged items.
func StagedReport(c *cli.Call, s *githook.Report, doing string, o *SignOptions) error {
	if err := diag.FromFindings(doing, s.Findings); err != nil {
		data := map[string]any{"files": s.Files, "findings": s.Findings}
		return c.UI.Report(err, data, s.Findings, func() {
			for _, f := range s.Findings {
				c.UI.Finding(f)
			}
		})
	}
	return Signed(c.UI, s.Files, o)
}

func NoteLeft(c *cli.Call, s *githook.Report) {
	if s.Relocked {
		c.UI.Note("rye: %s is up to date", lock.LockFile)
	}
	for _, path := range s.Left {
		c.UI.Note("rye: %s has edits that are not staged: the commit holds it %s, the file stays as it is", path, cli.Pick(
			filepath.Base(path) == lock.LockFile,
			"up to date",
			"signed",
		))
	}
}
