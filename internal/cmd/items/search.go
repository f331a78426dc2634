package items

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/registry/items"
	"github.com/ryeos/rye/resolve/space"
)

// searchOptions are the flags of rye search.
type searchOptions struct {
	scope         string
	space         space.Name
	limit, offset int
	noIndex       bool
}

func SearchCommand() *cli.Command {
	o := searchOptions{limit: search.DefaultLimit}
	return &cli.Command{
		Name:  "search",
		Group: "Items",
		Usage: "find items of every space",
		Args:  "[QUERY…]",
		Long: `Finds items by their words, those with more of the words and with rarer ones
first. Every word is optional, so a question can be a sentence. +word requires a word,
and so do AND and NOT in capitals; OR and parentheses combine words. "quoted words" must
be adjacent, "two words"~5 close to each other. * matches any letters, word~1 allows one
typing error. field:word searches one field: name, title, description, category, tags
or body. type:tool, tool_type:runtime, space:user, ns:rye/core and signed-by:FINGERPRINT
filter items; signed-by reads the signature line without verifying it, and the column
TRUST shows the verdict. Without a query, all items are listed.

--space registry searches what the registries list that you pinned, on this computer:
the query does not leave it.

Other spellings of a word are found with less weight: plurals, -ed and -ing, "time zone"
for timezone, and similar words if no item has the word. A note states when no item has
all words. Of several items with one id, the one that a run uses is shown. "shadowed"
marks an item that only matches itself.`,
		Examples: []string{
			`rye search scrape website`,
			`rye search 'git AND commit NOT rebase' --scope directive`,
			`rye search 'title:"trust model" OR name:sign*' --json`,
			`rye search --scope 'tool.rye.core.*'    # everything there`,
			`rye search --space registry issue tracker`,
		},
		Codes: env.RegistryCodes(), // of --space registry
		Flags: []cli.Flag{
			cli.String(&o.scope, "scope", "only `SCOPE`: a kind, or a kind and namespace (tool.rye.core.*)"),
			cli.String(&o.space, "space", "only `SPACE`: project, user, system, threads for records of runs, or registry").OneOf(append(env.SpaceNames(), search.RecordSpace, search.RegistrySpace)...),
			cli.Int(&o.limit, "limit", "show at most `N` items"),
			cli.Int(&o.offset, "offset", "skip the first `N` items"),
			cli.Bool(&o.noIndex, "no-index", "read every item instead of the index in the cache"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runSearch(ctx, c, &o)
		},
	}
}

func runSearch(ctx context.Context, c *cli.Call, o *searchOptions) error {
	if o.limit < 1 {
		return diag.New(diag.Usage, "searching items: --limit must be at least 1")
	}
	h, err := env.Of(c).Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	if o.space == search.RegistrySpace {
		return searchRegistryItems(ctx, c, h, o)
	}
	find := func(ctx context.Context, q search.Query) (*search.Result, error) {
		return h.Verbs.Search(ctx, policy.Person(), q)
	}
	if o.noIndex {
		p := h.IndexParams()
		p.Scan = true
		find = search.New(p).Search
	}
	res, err := find(ctx, search.Query{
		Text:   strings.Join(c.Args, " "),
		Scope:  o.scope,
		Space:  string(o.space),
		Limit:  o.limit,
		Offset: o.offset,
	})
	if err != nil {
		showCaret(c.UI, err)
		return err
	}
	for _, n := range res.Warnings {
		c.UI.Warn("%s", n)
	}
	return c.UI.Show(res, func() {
		showHits(c.UI, res, o.offset)
	})
}

// searchRegistryItems shows items that registries list. None of them is verified.
func searchRegistryItems(ctx context.Context, c *cli.Call, h *project.Project, o *searchOptions) error {
	res, err := items.RegistryItems(h).Search(ctx, search.Query{
		Text:   strings.Join(c.Args, " "),
		Scope:  o.scope,
		Limit:  o.limit,
		Offset: o.offset,
	})
	if err != nil {
		showCaret(c.UI, err)
		return err
	}
	return c.UI.Show(res, func() {
		if res.Note != "" {
			c.UI.Note("%s", res.Note)
		}
		t := cli.NewTable("search registry")
		for _, x := range res.Hits {
			t.Add(
				string(x.Type)+":"+x.ID,
				x.State,
				strings.Join(x.Signers, ", "),
				fmt.Sprintf("%.2f", x.Score),
				x.Description,
			)
		}
		if len(res.Hits) > 0 {
			c.UI.Table(t)
			c.UI.Note("Nothing of this is verified; rye add ITEM@BUNDLE verifies it.")
		}
	})
}

// showCaret prints the query with a mark below the position of a syntax error.
func showCaret(u *cli.UI, err error) {
	var e *diag.Error
	if u.AsJSON || !errors.As(err, &e) {
		return
	}
	text, isText := e.Details["query"].(string)
	column, isNumber := e.Details["column"].(int)
	if !isText || !isNumber || text == "" || column > 200 {
		return
	}
	before := []rune(text)[:min(column-1, len([]rune(text)))]
	u.PrintErr("  %s", text)
	u.PrintErr(
		"  %s%s",
		strings.Repeat(" ", inline.Width(hidden.Visible(string(before)))),
		u.ErrStyle(cli.Red, "^"),
	)
}

// showHits prints a page of hits.
func showHits(u *cli.UI, res *search.Result, offset int) {
	switch {
	case res.Note != "":
		u.Note("%s%s.", strings.ToUpper(res.Note[:1]), res.Note[1:])
	case len(res.Hits) == 0:
		u.Note("There are only %d items.", res.Total)
	}
	if len(res.Hits) > 0 {
		u.Table(hitTable(u, res.Hits))
	}
	if len(res.Suggestions) > 0 {
		u.Note("Did you mean: %s?", strings.Join(res.Suggestions, ", "))
	}
	if res.NextOffset > 0 {
		u.Note("%d–%d of %d; --offset %d shows more.", offset+1, offset+len(res.Hits), res.Total, res.NextOffset)
	}
}

func hitTable(u *cli.UI, hits []search.Hit) *cli.Table {
	t := cli.NewTable("search")
	for _, h := range hits {
		name := any(h.Ref().String())
		switch {
		case h.Shadowed:
			name = u.Style(cli.Dim, h.Ref().String()+" (shadowed)")
		case len(h.Shadows) > 0:
			name = h.Ref().String() + " (shadows " + owners(h.Shadows) + ")"
		}
		text := h.Description
		if text == "" {
			text = h.Title
		}
		t.Add(
			name,
			h.Version,
			h.Source,
			h.Trust,
			fmt.Sprintf("%.2f", h.Score),
			text,
		)
	}
	return t
}

// owners returns the spaces of labels without duplicates; every bundle is "a bundle".
func owners(labels []string) string {
	var out []string
	for _, l := range labels {
		name, _, layer := strings.Cut(l, ":")
		if layer && name != string(space.System) {
			name = "a bundle"
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}
