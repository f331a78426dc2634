package packages

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/auditlog"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock/treehash"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/packages/adopt"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/review"
	"github.com/ryeos/rye/sign"
)

// adoptOptions are the flags of a command that reviews a source without a manifest.
type adoptOptions struct {
	selected []string
	all      bool
	commit   string
}

func (o *adoptOptions) given() bool {
	return len(o.selected) > 0 || o.all || o.commit != ""
}

// adopts reports whether the arguments ask for components of a source without a manifest,
// such as skill:pdf@SOURCE.
func (o *adoptOptions) adopts(queries []packages.Query) bool {
	for _, q := range queries {
		if q.Item != "" &&
			review.CheckID(strings.NewReplacer("*", "x").Replace(q.Item)) == nil {
			return true
		}
	}
	return o.given()
}

// selection returns the components that flags and argument select.
func (o *adoptOptions) selection(q packages.Query) adopt.Selection {
	sel := adopt.Selection{Patterns: o.selected, All: o.all, Keep: true}
	if q.Item != "" {
		sel.Patterns = append(sel.Patterns, q.Item)
	}
	return sel
}

// withoutManifest reports whether an error is that a source has no bundle.
func withoutManifest(err error) bool {
	return errors.Is(err, source.ErrNoBundle)
}

// runAdopt adopts components of one source under a review by the user.
func runAdopt(ctx context.Context, c *cli.Call, o *addOptions, queries []packages.Query) error {
	switch {
	case len(queries) != 1:
		return diag.New(diag.Usage, "adding %s: a source without a manifest is reviewed alone; name one source", strings.Join(c.Args, " "))
	case o.Space != space.Project:
		return diag.New(diag.Usage, "adding %s: a source without a manifest is added to a project; omit --space", c.Arg(0))
	}
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	q := queries[0]
	return adoptWith(ctx, c, o, h, func(e *adopt.Engine) (*adopt.Proposal, error) {
		return e.Propose(ctx, q, o.selection(q))
	})
}

// adoptWith shows a proposal, asks, signs the review, and applies it.
func adoptWith(
	ctx context.Context,
	c *cli.Call,
	o *addOptions,
	h *project.Project,
	propose func(*adopt.Engine) (*adopt.Proposal, error),
) error {
	if c.Getenv("RYE_THREAD_ID") != "" {
		return diag.New(diag.ConsentRequired, "reviewing %s: a person reviews a source, and this command runs in a thread", c.Arg(0)).
			WithReason("person_reviews").WithDetail("source", c.Arg(0))
	}
	// Without a key nothing is fetched: no review could follow.
	signer, err := h.Keys.SignerFor(ctx, "sign")
	if err != nil {
		return err
	}
	key := sign.FingerprintOf(signer.Public())
	if !review.Personal(h.Trust, key) {
		return diag.New(diag.Scope, "reviewing %s: key %s is not the key of a person, and only a person reviews a source", c.Arg(0), key.Short())
	}
	change := func(x *deps.Packages) (*packages.Result, error) {
		e := engineOf(h, x, o.Locked)
		p, err := propose(e)
		if err != nil {
			return nil, err
		}
		x.Close() // removes the progress line
		shown, err := o.confirm(c, h, p, key)
		if err != nil {
			return nil, err
		}
		statement := p.Review(shown)
		signed, err := statement.Sign(ctx, signer, c.Now())
		if err != nil {
			return nil, err
		}
		err = h.Recorder().Record(ctx, []auditlog.Entry{{
			Use:     "review",
			Kind:    "review",
			ID:      p.ID.String(),
			Space:   string(space.Project),
			Project: x.Base,
			Digest:  item.DigestOf(signed).String(),
			Key:     key.String(),
		}})
		if err != nil {
			return nil, err
		}
		r, err := e.Apply(ctx, p, signed)
		if err == nil {
			r.Notes = append(r.Notes, e.Waiting(p)...)
		}
		return r, err
	}
	return env.ChangeAndLock(ctx, c, &o.PackageOptions, change)
}

// engineOf returns the engine for the adopted sources of a project.
func engineOf(h *project.Project, x *deps.Packages, locked bool) *adopt.Engine {
	return adopt.New(adopt.Params{
		Base:   x.Base,
		Source: x.Source,
		Trust:  h.Trust,
		Rules:  h.Rules,
		Locked: locked || h.Env.Locked,
		Ignore: x.IgnoreInstalled,
	})
}

// confirm shows a proposal and returns the value of Review.Shown. Without a
// terminal the full id of the fetched commit accepts it.
func (o *addOptions) confirm(
	c *cli.Call,
	h *project.Project,
	p *adopt.Proposal,
	key sign.Fingerprint,
) (string, error) {
	for _, line := range proposed(p) {
		c.UI.Note("%s", line)
	}
	headless := c.UI.AsJSON || !c.Isatty(c.Stdin)
	switch {
	case o.commit != "" && o.commit != p.Origin.Commit:
		return "", diag.New(
			diag.ConsentRequired,
			"adding %s: its commit is %s, and --adopt names %s; nothing changed",
			p.ID,
			p.Origin.Commit,
			o.commit,
		).
			WithReason("adopt_commit").
			WithDetail("expected", o.commit).
			WithDetail("found", p.Origin.Commit)
	case o.commit != "":
		return review.ShownSummary, nil
	case headless:
		return "", diag.New(diag.ConsentRequired, "adding %s: it has no signature for rye, so a person reviews it at a terminal", p.ID).
			WithReason("review_terminal").WithDetail("source", strings.Join(c.Args, " "))
	}
	name := key.Short()
	info, ok := h.Trust.Key(key)
	if ok && info.Owner != "" {
		name = info.Owner + " " + name
	}
	question := fmt.Sprintf("Review %s with key %s? [y/N/s(how files)] ", cli.Plural(len(p.Components), "component"), name)
	shown := review.ShownSummary
	for {
		answer, err := c.Ask(question)
		if err != nil {
			return "", err
		}
		switch strings.ToLower(answer) {
		case "y", "yes":
			return shown, nil
		case "s", "show":
			if err := showFiles(c, p); err != nil {
				return "", err
			}
			shown = review.ShownFiles
		default:
			return "", diag.New(diag.ConsentRequired, "adding %s: you did not review it; nothing changed", p.ID)
		}
	}
}

// proposed returns the lines that describe a proposal. They are printed with what a terminal
// would interpret made visible.
func proposed(p *adopt.Proposal) []string {
	out := []string{fmt.Sprintf("%s  %s  not signed for rye", p.ID, p.Origin.Commit)}
	for _, x := range p.Components {
		size := int64(0)
		var executable []string
		for _, f := range x.Files {
			size += f.Size
			if f.Mode == treehash.Executable {
				executable = append(executable, f.Path)
			}
		}
		line := fmt.Sprintf(
			"%s   %s, %s",
			x.ID(),
			cli.Plural(len(x.Files), "file"),
			cli.Plural(int(size), "byte"),
		)
		if x.Found.Description != "" {
			line += "   " + cuttext.Short(x.Found.Description, 100)
		}
		out = append(out, line)
		if len(executable) > 0 {
			out = append(out, "  executables  "+strings.Join(executable, ", "))
		}
	}
	for _, left := range p.Found.Left {
		out = append(out, fmt.Sprintf(
			"left out: %s %s: %s",
			left.Ref,
			left.Finding.Path,
			left.Finding.Message,
		))
	}
	out = append(out, p.Notes...)
	return append(out, "A review states that you accept these files. It does not make their author known.")
}

// showFiles prints the text of every file of a proposal.
func showFiles(c *cli.Call, p *adopt.Proposal) error {
	for _, x := range p.Components {
		for _, f := range x.Files {
			at := path.Join(x.From, f.Path)
			b, err := p.Snapshot.Read(at)
			if err != nil {
				return err
			}
			c.UI.Text(fmt.Sprintf("--- %s (%s)\n", at, x.ID()))
			if sign.CheckText(b) != nil {
				c.UI.Text(fmt.Sprintf(
					"%s that are not text, %s\n",
					cli.Plural(len(b), "byte"),
					f.Digest,
				))
				continue
			}
			c.UI.Text(string(b))
		}
	}
	return nil
}
