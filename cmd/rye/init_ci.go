package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/githook"
	"github.com/ryeos/rye/internal/project"
)

// ciSystems are the systems that init writes workflows for.
func ciSystems() []string { return []string{"github", "gitlab"} }

// initExtras installs the hooks and writes the workflow and the client's settings.
func initExtras(ctx context.Context, c *cli.Call, dir string, o *initOptions) (made []string, hooks []githook.Installed, err error) {
	at := *c
	at.Base = dir
	if o.hook {
		if hooks, err = installHooks(ctx, &at); err != nil {
			return nil, nil, err
		}
	}
	if o.ci != "" {
		if made, err = writeWorkflow(ctx, &at, o.ci); err != nil {
			return nil, nil, err
		}
	}
	if o.mcp != "" {
		file, err := writeClient(&at, o.mcp)
		return append(made, file...), hooks, err
	}
	return made, hooks, nil
}

// writeWorkflow writes the file of a system at the top of the repository, where
// the system looks for it. A file that is there stays.
func writeWorkflow(ctx context.Context, c *cli.Call, system string) ([]string, error) {
	top, prefix := c.Base, ""
	repo, err := envOf(c).Repo(ctx)
	switch {
	case err == nil && repo.WorkTree != "":
		top, prefix = repo.WorkTree, strings.TrimSuffix(project.Below(repo.WorkTree, c.Base), "/")
	case err != nil && diag.CodeOf(err) != diag.SourceNotFound:
		return nil, err
	}
	name := map[string]string{"github": ".github/workflows/rye.yml", "gitlab": ".gitlab-ci.yml"}[system]
	text, err := workflow(system, prefix)
	if err != nil {
		return nil, err
	}
	if b, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(name))); err == nil && system == "gitlab" && string(b) != text {
		name = ".gitlab/rye.yml" // their pipeline is theirs
	}
	base := atomicfile.Project(c.Base).At(top)
	err = base.Create(name, []byte(text), 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if name == ".gitlab/rye.yml" {
		c.UI.Note("add to .gitlab-ci.yml:  include: [{local: .gitlab/rye.yml}]")
	}
	c.UI.Note("set the variable RYE_TRUST_ROOT of %s to the full fingerprints of the keys that are trusted for this project (rye key list --json);", system)
	c.UI.Note("their documents go into .ai/trust: rye key export > .ai/trust/key-FINGERPRINT.toml")
	rel, err := filepath.Rel(c.Base, base.Path(name))
	if err != nil {
		return []string{base.Path(name)}, nil
	}
	return []string{filepath.ToSlash(rel)}, nil
}

// workflow fills the template of a system. project is the folder below the top
// of the repository, "" for the top.
func workflow(system, project string) (string, error) {
	b, err := templates.ReadFile("templates/ci-" + system + ".txt")
	if err != nil {
		return "", err
	}
	in := ""
	if project != "" {
		in = "-C " + shellWord(project) + " "
	}
	return strings.NewReplacer("VERSION", releaseVersion("latest"), "PROJECT ", in).Replace(string(b)), nil
}

// shellWord quotes a word for sh unless it is plain.
func shellWord(s string) string {
	plain := strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == ""
	if plain && !strings.HasPrefix(s, "-") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
