package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/coauthor"
	"github.com/ryeos/rye/internal/githook"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/status"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/trust"
)

func StatusCommand() *cli.Command {
	var check bool
	return &cli.Command{
		Name:  "status",
		Group: "Items",
		Usage: "print the state of the project and what to do next",
		Long: `Prints one line for each part: the project and the version of rye, your key, the
hooks, the sandbox, items, trusted keys, the lock with its bundles, drafts of agents,
and keys of other people that end within 30 days. A line that needs attention ends
with the command that fixes or explains it. Changes nothing.`,
		Examples: []string{"rye status", "rye status --check  # in a script", "rye status --json | jq '.data.lines[] | select(.fix)'"},
		Codes:    []diag.Code{diag.ItemNotFound, diag.Drift},
		Flags:    []cli.Flag{cli.Bool(&check, "check", "fail if a line has a command that fixes it")},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runStatus(ctx, c, check)
		},
	}
}

// statusLine is one line of the overview.
type statusLine struct {
	Name string `json:"name"`
	Text string `json:"text"`
	Fix  string `json:"fix,omitempty"` // a command, "" if nothing is to be done
}

func runStatus(ctx context.Context, c *cli.Call, check bool) error {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	s, err := status.Of(ctx, h)
	if err != nil {
		return err
	}
	lines := statusLines(s)
	var gap *coauthor.Gap
	if s.Key.Signs {
		gap = env.CoauthorGap(ctx, c, h)
	}
	if gap != nil {
		lines = append(lines, statusLine{"others", gap.Text(), gap.Next()})
	}
	if line, err := waitingLine(ctx, c, h); err != nil {
		return err
	} else if line != nil {
		lines = append(lines, *line)
	}
	data := struct {
		*status.Status
		Others *coauthor.Gap `json:"others,omitempty"` // why others refuse what this user signs
		Lines  []statusLine  `json:"lines"`
	}{s, gap, lines}
	fixes := slices.DeleteFunc(slices.Clone(lines), func(l statusLine) bool {
		return l.Fix == ""
	})
	if !check || len(fixes) == 0 {
		return c.UI.Show(data, func() { showStatus(c.UI, lines) })
	}
	if !c.UI.AsJSON {
		showStatus(c.UI, lines)
	}
	return cli.Shown(
		diag.New(diag.Drift, "checking the project: %s to fix", cli.Plural(len(fixes), "line")),
		data,
	)
}

func showStatus(u *cli.UI, lines []statusLine) {
	t := cli.NewTable("status")
	for _, l := range lines {
		if l.Fix == "" {
			t.Add(l.Name, l.Text)
			continue
		}
		t.Add(u.Style(cli.Yellow, l.Name), l.Text+": "+l.Fix)
	}
	u.Table(t)
}

// statusLines returns the lines for people. The commands are here and not in the
// library, as all hints are.
func statusLines(s *status.Status) []statusLine {
	version := s.Version
	if s.Needs != "" {
		version += ", requires " + s.Needs
	}
	if s.Name != "" {
		version += ", " + s.Name
	}
	out := []statusLine{
		{"project", s.Project + "  rye " + version, ""},
		keyLine(s.Key),
		hookLine(s),
		{"sandbox", view.RungText(sandbox.Probe()), ""},
		itemLine(s.Items),
		trustedLine(s.Trust),
		lockLine(s.Lock),
	}
	items := out[4]
	if items.Fix != "" &&
		s.Lock.State == status.LockStale &&
		s.Lock.Missing == 0 {
		out[6].Fix = "" // the lock follows the items, once they are signed
	}
	if len(s.Drafts) > 0 {
		out = append(out, statusLine{"drafts", cli.Plural(len(s.Drafts), "draft") + " of agents to review: " + some(s.Drafts), ""})
	}
	for _, k := range s.Ending {
		out = append(out, statusLine{"warning", fmt.Sprintf(
			"key %s of %s (%s) ends in %s",
			k.Fingerprint.Short(),
			k.Owner,
			k.Signed,
			cli.Plural(k.Days, "day"),
		), ""})
	}
	for _, f := range s.Notes {
		out = append(out, statusLine{"warning", f.String(), ""})
	}
	return out
}

func keyLine(k status.KeyStatus) statusLine {
	if k.Fingerprint == "" {
		fix := "rye key list"
		if strings.Contains(k.Reason, "no key") {
			fix = "rye key new"
		}
		_, reason, _ := strings.Cut(k.Reason, ": ")
		return statusLine{"key", reason, fix}
	}
	l := statusLine{"key", fmt.Sprintf(
		"%s %s, ends %s (%s)",
		k.Owner,
		k.Fingerprint[:16],
		k.NotAfter.Format(time.DateOnly),
		cli.Plural(k.Days, "day"),
	), ""}
	if !k.HasFile {
		l.Text += ", no key file on this machine"
	}
	if !k.NotAfter.IsZero() &&
		k.Days < int(trust.ExpiryNotice/(24*time.Hour)) {
		l.Fix = "rye key rotate"
	}
	return l
}

func hookLine(s *status.Status) statusLine {
	if s.NoGit {
		return statusLine{"hook", "not known, because git was not found on PATH", ""}
	}
	if s.GitErr != "" {
		return statusLine{"hook", "not known: " + s.GitErr, ""}
	}
	if !s.Repo {
		return statusLine{"hook", "no git repository", ""}
	}
	if s.Hooks == nil {
		return statusLine{"hook", "another program manages the hooks", ""}
	}
	var installed, edited, other []string
	for _, name := range githook.Names() {
		switch s.Hooks[name] {
		case githook.HookInstalled:
			installed = append(installed, name)
		case githook.HookEdited:
			edited = append(edited, name)
		case githook.HookOther:
			other = append(other, name)
		}
	}
	switch n := len(githook.Names()); {
	case len(edited) > 0:
		return statusLine{"hook", "changed since rye wrote it (" + strings.Join(edited, ", ") + ")", "rye hook install"}
	case len(installed) == n:
		return statusLine{"hook", "installed (" + strings.Join(installed, ", ") + ")", ""}
	case len(installed) > 0:
		return statusLine{"hook", "only " + strings.Join(installed, ", ") + " installed", "rye hook install"}
	case len(other) > 0:
		return statusLine{"hook", "hooks of another program (" + strings.Join(other, ", ") + ")", ""}
	}
	return statusLine{"hook", "not installed", "rye hook install"}
}

func itemLine(i status.ItemStatus) statusLine {
	parts := []string{fmt.Sprintf("%d trusted", i.Trusted)}
	add := func(list []string, what string) {
		if len(list) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", len(list), what))
		}
	}
	add(i.Changed, "changed")
	add(i.Unsigned, "unsigned")
	add(i.Refused, "refused")
	l := statusLine{"items", strings.Join(parts, ", "), ""}
	mine := append(slices.Clone(i.Changed), i.Unsigned...)
	switch {
	case len(mine) == 1:
		l.Fix = "rye sign " + mine[0]
	case len(mine) > 1:
		l.Fix = "rye sign '*'"
	case len(i.Refused) > 0:
		l.Fix = "rye verify"
	}
	return l
}

func trustedLine(t status.TrustStatus) statusLine {
	l := statusLine{"trust", cli.Plural(t.Keys, "key"), ""}
	switch {
	case len(t.Pending) > 0:
		l.Text += fmt.Sprintf("; %s in .ai/trust not accepted", cli.Plural(len(t.Pending), "document"))
		l.Fix = "rye trust accept"
	case t.Set == trust.SetAccepted:
		l.Text += "; project documents accepted"
	}
	return l
}

func lockLine(k status.LockStatus) statusLine {
	bundles := cli.Plural(k.Bundles, "bundle") + " installed"
	switch {
	case k.State == status.LockNone:
		return statusLine{"lock", "none, and no bundles", ""}
	case k.State == status.LockUnreadable:
		// The error names the file and the line; rye verify prints what helps.
		return statusLine{"lock", k.FirstText, "rye verify"}
	case k.Missing > 0:
		return statusLine{"lock", fmt.Sprintf("%s, not all installed", cli.Plural(k.Bundles, "bundle")), "rye sync"}
	case k.State != status.LockUpToDate:
		return statusLine{"lock", k.State + ": " + k.FirstText, "rye lock"}
	}
	entries := fmt.Sprintf("%d entries", k.Entries)
	if k.Entries == 1 {
		entries = "1 entry"
	}
	return statusLine{"lock", k.State + ", " + entries + ", " + bundles, ""}
}

// some returns the first of a list, for one line.
func some(list []string) string {
	const shown = 3
	if len(list) <= shown {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:shown], ", ") + fmt.Sprintf(" and %d more", len(list)-shown)
}

// waitingLine returns the line about the questions that wait for the person, nil without one.
func waitingLine(ctx context.Context, c *cli.Call, h *project.Project) (*statusLine, error) {
	list, err := control.Waiting(ctx, h, false)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	text := list[0].Waiting.State(c.Now(), 40)
	if more := len(list) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return &statusLine{"threads", text, "rye approve"}, nil
}
