package mcp

import (
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/mcpclient"
)

// showMcpServer prints the command or the address of a server.
func showMcpServer(u *cli.UI, s *mcpclient.Server, dir string) {
	u.Out("%s", u.Style(cli.Bold, "MCP server "+s.Name))
	t := cli.NewTable("server")
	if s.Transport == mcpclient.Stdio {
		t.Add("  command", view.ArgumentLine(append(
			[]string{s.Command},
			s.Args...,
		)))
		t.Add("  folder", strings.TrimSuffix(dir+"/"+s.Cwd, "/"))
	} else {
		t.Add("  address", s.URL)
		t.Add("  transport", s.Transport)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		t.Add("  variable", name+" = "+s.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		t.Add("  header", name+": "+s.Headers[name])
	}
	if s.Sandbox != nil {
		for i, line := range view.ProfileLines(*s.Sandbox) {
			t.Add(cli.Pick(i == 0, "  sandbox", ""), line)
		}
	}
	t.Add("  timeout", s.Timeout.String())
	u.Table(t)
}

// showMcpOffer prints what a server offers, in full if the user is about to
// approve it.
func showMcpOffer(u *cli.UI, o *mcpclient.Offer, asked bool) {
	t := cli.NewTable("offer")
	if o.Software != "" {
		t.Add("  software", o.Software)
	}
	t.Add("  protocol", o.Server.Protocol)
	t.Add("  tools", cli.Plural(len(o.Tools), "tool"))
	u.Table(t)
	if asked || u.Detailed {
		for _, tool := range o.Tools {
			showMcpTool(u, tool)
		}
	} else {
		showMcpTools(u, o.Tools)
	}
	for _, f := range o.Warnings {
		u.Warn("%s", f.Message)
	}
}

// showMcpTools prints the first line of each description.
func showMcpTools(u *cli.UI, tools []mcpclient.Tool) {
	t := cli.NewTable("mcp tools")
	for _, tool := range tools {
		line, rest := firstLineOf(tool.Description)
		t.Add("    "+tool.Name, line+cli.Pick(rest, " …", ""))
	}
	u.Table(t)
	if len(tools) > 0 {
		u.Out("  -v shows the full descriptions")
	}
}

// showMcpTool prints all texts of a tool that a model reads.
func showMcpTool(u *cli.UI, tool mcpclient.Tool) {
	first, rest, _ := strings.Cut(strings.TrimSpace(tool.Description), "\n")
	if first == "" {
		first = "(no description)"
	}
	u.Out("    %s  %s", u.Style(cli.Bold, tool.Name), first)
	showToolTexts(u, tool, rest)
}

// showToolTexts prints a description and each other text of a definition on its own
// line.
func showToolTexts(u *cli.UI, tool mcpclient.Tool, description string) {
	if description != "" {
		u.Text(indented(description))
	}
	for _, text := range tool.Texts() {
		u.Out("      %s %s", u.Style(cli.Dim, text.At+":"), text.Text)
	}
}

// showMcpStderr prints the stderr of a failed server.
func showMcpStderr(u *cli.UI, err error) {
	if text := mcpclient.Stderr(err); text != "" {
		for line := range strings.SplitSeq(text, "\n") {
			u.Note("  %s", line)
		}
	}
}

func indented(text string) string {
	return "      " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ")
}

// firstLineOf returns the first line of a text that is not empty, and whether more
// follows.
func firstLineOf(text string) (line string, more bool) {
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line), strings.TrimSpace(rest) != ""
}

// showDiff prints a unified diff without its two header lines.
func showDiff(u *cli.UI, text string) {
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		style := map[byte]string{'+': cli.Green, '-': cli.Red, '@': cli.Cyan}[(line + " ")[0]]
		switch {
		case i < 2:
		case style == "":
			u.Out("  %s", line)
		default:
			u.Out("  %s", u.Style(style, line))
		}
	}
}

// reachedBy returns the command line or the address of a server.
func reachedBy(s *mcpclient.Server) string {
	if s.Transport == mcpclient.Stdio {
		return view.ArgumentLine(append([]string{s.Command}, s.Args...))
	}
	return s.URL
}

func mcpListData(listed []mcpclient.Listed, tools bool) map[string]any {
	servers := []any{}
	for i := range listed {
		servers = append(servers, listed[i].Data(tools))
	}
	return map[string]any{"servers": servers, "count": len(servers)}
}

func showMcpList(u *cli.UI, listed []mcpclient.Listed, tools bool) {
	if len(listed) == 0 {
		u.Note("No MCP servers. rye mcp add NAME -- COMMAND adds one.")
		return
	}
	t := cli.NewTable("servers")
	for _, l := range listed {
		how := ""
		state := u.Style(cli.Green, "signed")
		if l.Server != nil {
			how = reachedBy(l.Server)
		}
		switch {
		case l.Err != nil:
			state = u.Style(cli.Red, "refused")
		case l.Shadow:
			state = u.Style(cli.Dim, "shadowed")
		}
		t.Add(
			l.Name,
			l.Space,
			cli.Plural(len(l.Files), "tool"),
			state,
			how,
		)
		for _, tool := range l.Tools {
			line, _ := firstLineOf(tool.Description)
			t.Add(
				"  "+tool.Name,
				"",
				"",
				cli.Pick(
					tool.Err == nil,
					cli.Styled(""),
					u.Style(cli.Red, "refused"),
				),
				line,
			)
		}
	}
	u.Table(t)
	for _, l := range listed {
		if l.Err != nil {
			u.Warn("%s", l.Err)
		}
		for _, tool := range l.Tools {
			if tool.Err != nil {
				u.Warn("%s", tool.Err)
			}
		}
	}
}
