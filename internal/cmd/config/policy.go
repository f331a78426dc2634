package config

import (
	"context"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
)

func configPolicyCommand() *cli.Command {
	return &cli.Command{
		Name:  "policy",
		Usage: "show the policy rules of this project and their files",
		Long: `Prints the rules of rye.yaml, of the machine (/etc/rye/policy.yaml) and of your
account (policy.yaml in the folder rye of your configuration). The last two apply to
every project. A rule can only add restrictions: it never relaxes a rule of another
file.`,
		Examples: []string{"rye config policy", "rye config policy --json"},
		Codes:    []diag.Code{diag.ValidationFailed, diag.ConfigError, diag.FileSystemError},
		Run:      runConfigPolicy,
	}
}

func runConfigPolicy(ctx context.Context, c *cli.Call) error {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil {
		return err
	}
	var m *lock.ProjectFile
	if dir := h.Spaces.ProjectDir; dir != "" {
		if m, err = project.ReadManifest(dir); err != nil {
			return err
		}
	}
	list := project.WithManifest(h.Rules, m).List()
	return c.UI.Show(map[string]any{"rules": list}, func() {
		if len(list) == 0 {
			c.UI.Note("No rules.")
		}
		t := cli.NewTable("policy")
		for _, r := range list {
			t.Add(r.Key, r.Value, c.UI.Style(cli.Dim, r.Where()))
		}
		c.UI.Table(t)
	})
}
