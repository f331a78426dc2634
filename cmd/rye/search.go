package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/resolve/space"
)

func searchCommand() *cli.Command {
	return &cli.Command{
		Name: "search", Group: "Items",
		Usage: "find items of every space", Args: "[QUERY…]",
		Long: `Words must all be there. AND, OR and NOT in capitals and parentheses combine them;
"quoted words" stand one after the other, "two words"~5 near each other; * stands
for any letters, word~1 allows a typing error. field:word looks in one field, such as
name, title, description, category, tags or body. type:tool, space:user, ns:rye/core
and signed-by:FINGERPRINT ask what an item is; the last one believes the signature
line, and TRUST says whether it holds. Without a query, everything is listed.

When nothing matches, words are taken for misspelled, then some of the words will do;
a note says so. The item that a run would use is shown for each id; "shadowed" marks
one that another hides and that alone matches.`,
		Examples: []string{
			`rye search scrape website`,
			`rye search 'git AND commit NOT rebase' --scope directive`,
			`rye search 'title:"trust model" OR name:sign*' --json`,
			`rye search --scope 'tool.rye.core.*'    # everything there`,
		},
		Codes: []diag.Code{},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "scope", Usage: "only `SCOPE`: a kind, with a namespace if wanted (tool.rye.core.*)"},
			&cli.StringFlag{Name: "space", Usage: "only `SPACE`: project, user or system"},
			&cli.IntFlag{Name: "limit", Value: search.DefaultLimit, Usage: "show at most `N` items"},
			&cli.IntFlag{Name: "offset", Usage: "leave out the first `N` items"},
			&cli.BoolFlag{Name: "no-index", Usage: "read every item instead of the index in the cache"},
		},
		Run: runSearch,
	}
}

func runSearch(ctx context.Context, c *cli.Call) error {
	if c.Int("limit") < 1 {
		return diag.New(diag.Usage, "searching items: --limit must be at least 1")
	}
	h, err := envOf(c).Open(ctx, project.Strict)
	if err != nil {
		return err
	}
	ask := h.Verbs.Search
	if c.Bool("no-index") {
		p := h.IndexParams()
		p.Scan = true
		ask = search.New(p).Search
	}
	res, err := ask(ctx, search.Query{
		Text: strings.Join(c.Args, " "), Scope: c.Str("scope"), Space: c.Str("space"), Limit: c.Int("limit"), Offset: c.Int("offset"),
	})
	if err != nil {
		showCaret(c.UI, err)
		return err
	}
	for _, n := range res.Notes {
		c.UI.Warn("%s", n)
	}
	return c.UI.Show(res, func() { showHits(c.UI, res, c.Int("offset")) })
}

// build names this build of the program in the cache.
func build(v cli.VersionInfo) string {
	return fmt.Sprint(v.Version, " ", v.Revision, " ", v.Modified, " ", v.Go)
}

// showCaret shows what the user wrote with a mark below the character that an error
// is about.
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
	u.Tell("  %s", text)
	u.Tell("  %s%s", strings.Repeat(" ", utf8.RuneCountInString(hidden.Visible(string(before)))), u.ErrStyle(cli.Red, "^"))
}

// showHits prints a page of hits.
func showHits(u *cli.UI, res *search.Result, offset int) {
	switch {
	case res.Total == 0:
		u.Note("Nothing found.")
	case len(res.Hits) == 0:
		u.Note("There are %d items only.", res.Total)
	case res.Relaxed == search.Fuzzy:
		u.Note("Nothing matches as it is written; these have words that are spelled much like it.")
	case res.Relaxed == search.AnyWord:
		u.Note("Nothing has all of the words; these have some.")
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
	t := &cli.Table{Header: []string{"ITEM", "VERSION", "SPACE", "TRUST", "SCORE", "DESCRIPTION"}}
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
		t.Add(name, h.Version, h.Source, h.Trust, fmt.Sprintf("%.2f", h.Score), text)
	}
	return t
}

// owners names the spaces of labels in few words, each once.
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
