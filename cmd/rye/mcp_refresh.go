package main

import (
	"bytes"
	"context"
	"maps"
	"path"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/linediff"
	"github.com/ryeos/rye/internal/mcpclient"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/sign"
)

func mcpRefreshCommand() *cli.Command {
	return &cli.Command{
		Name: "refresh", Usage: "compare a server's tools with their items, and accept what changed", Args: "NAME",
		Long: `Starts or reaches the server and shows every tool that is new, gone, or described
otherwise than when you signed its item, line by line. Nothing changes before you
say yes. Items that still hold stay as they are, with what you changed in them.`,
		Examples: []string{"rye mcp refresh github", "rye mcp refresh github --yes --json"},
		Codes: []diag.Code{diag.ItemNotFound, diag.ConsentRequired, diag.HiddenChars, diag.TooLarge, diag.ValidationFailed, diag.ExecutionFailed,
			diag.Timeout, diag.Network, diag.AuthFailed, diag.AuthRequired},
		Flags:    []cli.Flag{scopeFlag(), yesFlag(), &cli.StringFlag{Name: "key", Usage: "sign with this `KEY`"}},
		Complete: completeServers,
		Run:      runMCPRefresh,
	}
}

func runMCPRefresh(ctx context.Context, c *cli.Call) error {
	return inStore(ctx, c, project.Strict, func(s *mcpStore) error { return mcpRefresh(ctx, c, s) })
}

func mcpRefresh(ctx context.Context, c *cli.Call, s *mcpStore) error {
	l, err := s.find(ctx, c.Arg(0))
	if err == nil {
		err = l.Err
	}
	if err == nil {
		err = s.onlyTools(ctx, l.Name)
	}
	if err != nil {
		return err
	}
	server := *l.Server
	server.Protocol = "" // what it speaks now
	if err := allowsSecrets(s.house, l); err != nil {
		return err
	}
	offer, err := mcpAsk(ctx, c, s, &server)
	if err != nil {
		return err
	}
	diff, err := s.compare(ctx, l, offer)
	if err != nil {
		return err
	}
	return mcpAccept(ctx, c, s, offer, diff)
}

// allowsSecrets is mayHoldSecrets for a server that needs any.
func allowsSecrets(h *project.Project, l *mcpclient.Listed) error {
	if len(l.Server.Variables()) == 0 {
		return nil
	}
	return h.MayHoldSecrets(l.Item)
}

// mcpAccept shows the differences and, after a yes, writes what the server
// offers now.
func mcpAccept(ctx context.Context, c *cli.Call, s *mcpStore, offer *mcpOffer, d *mcpDiff) error {
	name := offer.server.Name
	if d.empty() {
		return c.UI.Show(d.data(name), func() {
			c.UI.Out("MCP server %s offers what it did: %s", name, plural(len(offer.tools), "tool"))
		})
	}
	showMcpDiff(c.UI, d, !c.Bool("yes"))
	for _, f := range offer.warnings {
		c.UI.Warn("%s", f.Message)
	}
	if err := mcpConsent(c, "Accept this, and sign it?", "refreshing MCP server "+name, offer.server, nil); err != nil {
		if e, ok := err.(*diag.Error); ok {
			return e.WithDetail("changes", d.data(name))
		}
		return err
	}
	if err := s.signer(ctx); err != nil {
		return err
	}
	reports, err := s.write(ctx, name, d.files)
	if err != nil {
		return err
	}
	if err := s.house.RefreshLock(ctx, reports); err != nil {
		return err
	}
	mcpUnlocked(c, s.house, d.refs(d.removed))
	return c.UI.Show(d.data(name), func() {
		c.UI.Out("accepted: %d added, %d changed, %d removed", len(d.added), len(d.changed), len(d.removed))
	})
}

// mcpDiff is how the items of a server differ from what it offers now.
type mcpDiff struct {
	added   []string // paths below .ai
	removed []string
	changed []mcpChange
	files   map[string][]byte         // all items as they are to be
	tools   map[string]mcpclient.Tool // those of tools
}

// mcpChange is one item that says something else from now on.
type mcpChange struct {
	rel   string
	parts []string // of the definition; none when only the item differs
	was   string   // why the item was not good, "" when it was
	diff  string
}

func (d *mcpDiff) empty() bool { return len(d.added)+len(d.removed)+len(d.changed) == 0 }

// compare holds the items of a server against what it offers.
func (s *mcpStore) compare(ctx context.Context, l *mcpclient.Listed, offer *mcpOffer) (*mcpDiff, error) {
	files, err := offer.files()
	if err != nil {
		return nil, err
	}
	tools := map[string]mcpclient.Tool{}
	for _, t := range offer.tools {
		tools[toolRel(l.Name, t.Name)] = t
	}
	d := &mcpDiff{files: files, tools: tools}
	items := map[string]*resolve.Item{serverRel(l.Name): l.Item}
	for _, e := range l.Files {
		it, err := s.house.Resolver.Open(ctx, e)
		if err != nil {
			return nil, err
		}
		items[e.Rel] = it
	}
	for _, rel := range slices.Sorted(maps.Keys(files)) {
		it := items[rel]
		if it == nil {
			d.added = append(d.added, rel)
			continue
		}
		tool, isTool := tools[rel]
		if !isTool && l.Server.Same(offer.server) {
			files[rel] = it.Bytes // written by hand, but says the same
			continue
		}
		if change := changeOf(it, files[rel], offer.server, tool, isTool); change != nil {
			d.changed = append(d.changed, *change)
		} else {
			files[rel] = it.Bytes
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(items)) {
		if files[rel] == nil {
			d.removed = append(d.removed, rel)
		}
	}
	return d, nil
}

// changeOf returns how an item has to change, nil when it still holds.
func changeOf(it *resolve.Item, now []byte, server *mcpclient.Server, tool mcpclient.Tool, isTool bool) *mcpChange {
	before := body(it)
	bad := it.Usable()
	c := &mcpChange{rel: it.Rel, diff: linediff.Unified("signed", "now", before, now)}
	if isTool && bad == nil {
		stub, err := mcpclient.ReadStub(it)
		switch {
		case err != nil:
			bad = err
		case it.Meta.ExecutorID == server.Runtime() && stub.Holds(server, tool):
			return nil // what a person changed in it stays
		}
	}
	switch {
	case bad != nil:
		c.was = bad.Error()
	case bytes.Equal(before, now):
		return nil
	}
	if isTool {
		c.parts = mcpclient.Differences(it, tool)
	}
	return c
}

// body returns an item's text without its signature line.
func body(it *resolve.Item) []byte {
	split, err := sign.SplitFile(it.Bytes, it.Type.Style)
	if err != nil {
		return it.Bytes
	}
	return split.Body()
}

func (d *mcpDiff) refs(rels []string) []item.Ref {
	out := make([]item.Ref, len(rels))
	for i, rel := range rels {
		out[i] = item.Ref{Kind: item.Tool, ID: d.id(rel)}
	}
	return out
}

// id returns the id of the item at rel.
func (d *mcpDiff) id(rel string) string {
	return path.Join(path.Dir(rel)[len("tools/"):], base(rel))
}

// base returns the last part of a path without its ending.
func base(rel string) string {
	name := path.Base(rel)
	return name[:len(name)-len(path.Ext(name))]
}

func (d *mcpDiff) data(name string) map[string]any {
	ids := func(rels []string) []string {
		out := []string{}
		for _, rel := range rels {
			out = append(out, d.id(rel))
		}
		return out
	}
	changed := []any{}
	for _, ch := range d.changed {
		m := map[string]any{"id": d.id(ch.rel), "diff": ch.diff}
		if len(ch.parts) > 0 {
			m["parts"] = ch.parts
		}
		if ch.was != "" {
			m["problem"] = ch.was
		}
		changed = append(changed, m)
	}
	var tools []mcpclient.Tool // that are new or not as they were
	for _, rel := range slices.Sorted(maps.Keys(d.tools)) {
		if slices.Contains(d.added, rel) || slices.ContainsFunc(d.changed, func(ch mcpChange) bool { return ch.rel == rel }) {
			tools = append(tools, d.tools[rel])
		}
	}
	return map[string]any{"name": name, "added": ids(d.added), "removed": ids(d.removed), "changed": changed, "tools": toolsData(name, tools)}
}

// showMcpDiff shows what is different: of a tool that is new all that it says to who is
// asked, of one that changed the lines of its item, which holds all of that.
func showMcpDiff(u *cli.UI, d *mcpDiff, asked bool) {
	for _, rel := range d.added {
		u.Out("%s %s", u.Style(cli.Green, "new    "), d.id(rel))
		if asked || u.Detailed {
			showMcpSays(u, d.tools[rel], d.tools[rel].Description)
		} else {
			u.Text(indented(d.tools[rel].Description))
		}
	}
	for _, rel := range d.removed {
		u.Out("%s %s", u.Style(cli.Red, "gone   "), d.id(rel))
	}
	for _, ch := range d.changed {
		u.Out("%s %s", u.Style(cli.Yellow, "changed"), d.id(ch.rel))
		if ch.was != "" {
			u.Warn("%s", ch.was)
		}
		showDiff(u, ch.diff)
	}
}
