package packages

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/status"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages/adopt"
)

// ReviewCommand returns the command that reviews what is locked of a source without a
// manifest.
func ReviewCommand() *cli.Command {
	var o addOptions
	return &cli.Command{
		Name:  "review",
		Group: env.PackagesGroup,
		Usage: "review a source without a manifest",
		Args:  "[SOURCE]",
		Long: `Without SOURCE, lists the components of sources without a manifest, their reviewers
and what lacks reviews. With SOURCE, an id in rye.lock or its end, shows its locked
components and asks; your key signs the review. Reviews by other people stay.

A review states that you accept exactly these files. It does not make their author known.`,
		Examples: []string{"rye review", "rye review github.com/acme/skills"},
		Codes:    env.PackageCodes(diag.ConsentRequired, diag.Scope),
		Flags: env.PackageFlags(
			&o.PackageOptions,
			cli.String(&o.commit, "adopt", "review exactly this whole `COMMIT` without a terminal"),
		),
		Run: func(ctx context.Context, c *cli.Call) error {
			return runReview(ctx, c, &o)
		},
	}
}

// reviewedComponent is a line of rye review.
type reviewedComponent struct {
	Source    string   `json:"source"`
	Component string   `json:"component"`
	Status    string   `json:"status"`
	Code      string   `json:"code,omitempty"`
	Reviewers []string `json:"reviewers,omitempty"`
}

func runReview(ctx context.Context, c *cli.Call, o *addOptions) error {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	if len(c.Args) == 0 {
		return listReviews(c, h)
	}
	a, err := lockedSource(h, c.Arg(0))
	if err != nil {
		return err
	}
	return adoptWith(ctx, c, o, h, func(e *adopt.Engine) (*adopt.Proposal, error) {
		return e.ProposeLocked(ctx, *a)
	})
}

func listReviews(c *cli.Call, h *project.Project) error {
	list := []reviewedComponent{}
	for _, s := range status.Adopted(h) {
		for _, r := range s.Results {
			x := reviewedComponent{
				Source:    s.Entry.ID.String(),
				Component: r.Component.ID(),
				Status:    r.Verdict.Reason(),
				Code:      string(r.Verdict.Code),
			}
			for _, by := range r.Reviewers {
				x.Reviewers = append(x.Reviewers, by.Key.String())
			}
			list = append(list, x)
		}
	}
	return c.UI.Show(list, func() {
		if len(list) == 0 {
			c.UI.Out("no source without a manifest is used")
		}
		for _, x := range list {
			c.UI.Out(
				"%s  %s  %s",
				x.Source,
				x.Component,
				strings.TrimSpace(x.Code+" "+x.Status),
			)
		}
	})
}

// lockedSource returns the entry of an adopted source by its id or the end of it.
func lockedSource(h *project.Project, name string) (*lock.Adopted, error) {
	if h.Lock == nil {
		return nil, diag.New(diag.SourceNotFound, "looking for %q: the project has no lock", name)
	}
	var found []*lock.Adopted
	for i, a := range h.Lock.Lock.Adopted {
		id := a.ID.String()
		if id == name {
			return &h.Lock.Lock.Adopted[i], nil
		}
		if strings.HasSuffix(id, "/"+name) {
			found = append(found, &h.Lock.Lock.Adopted[i])
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, diag.New(diag.SourceNotFound, "looking for %q: no source without a manifest in %s has this id", name, lock.LockFile)
	}
	ids := make([]string, len(found))
	for i, a := range found {
		ids[i] = a.ID.String()
	}
	slices.Sort(ids)
	return nil, diag.New(diag.AmbiguousItem, "looking for %q: it can be %s", name, strings.Join(ids, ", "))
}
