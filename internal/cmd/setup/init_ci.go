package setup

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
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/hook"
	"github.com/ryeos/rye/internal/cmd/templates"
	"github.com/ryeos/rye/internal/githook"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/status"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve/space"
)

// ciSystems are the systems that init writes workflows for.
func ciSystems() []string {
	return []string{"github", "gitlab"}
}

// ciFile returns where a system looks for its workflow.
func ciFile(system string) string {
	return map[string]string{"github": ".github/workflows/rye.yml", "gitlab": ".gitlab-ci.yml"}[system]
}

// initExtra is what the flags of rye init made.
type initExtra struct {
	made  []string
	hooks []githook.Installed
	ci    *writtenCI
}

// initExtras installs the hooks and writes the workflow and the client's settings.
func initExtras(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	o *initOptions,
) (x initExtra, err error) {
	if o.hook {
		if x.hooks, err = hook.InstallHooks(ctx, c); err != nil {
			return x, err
		}
	}
	if o.ci != "" {
		if x.ci, err = writeCI(ctx, c, h, o); err != nil {
			return x, err
		}
		x.made = append(x.made, x.ci.created...)
	}
	if o.mcp != "" {
		file, err := writeClient(c, o.mcp)
		x.made = append(x.made, file...)
		return x, err
	}
	return x, nil
}

// writtenCI is what init --ci made, and what CI trusts.
type writtenCI struct {
	created []string
	Commit  []string        `json:"commit"`  // paths, relative to the project
	Version string          `json:"version"` // of rye, in the workflow
	Roots   []status.CIRoot `json:"roots"`
}

// writeCI writes the workflow of a system and the documents of the keys that it
// trusts. A workflow that exists stays.
func writeCI(
	ctx context.Context,
	c *cli.Call,
	h *project.Project,
	o *initOptions,
) (*writtenCI, error) {
	out := &writtenCI{Version: o.version}
	var err error
	if out.Roots, err = status.CIRoots(h); err != nil {
		return nil, err
	}
	name, made, err := writeWorkflow(ctx, c, o.ci, o.version, out.Roots)
	if err != nil {
		return nil, err
	}
	if made {
		out.created = append(out.created, name)
	}
	documents, err := status.PublishRoots(h, out.Roots)
	if err != nil {
		return nil, err
	}
	out.created = append(out.created, documents...)
	out.Commit = []string{name}
	for _, f := range []string{space.Dir, lock.ProjectFileName, lock.LockFile, lock.SumFile, ".gitattributes", ".gitignore"} {
		_, err := os.Stat(filepath.Join(c.Base, f))
		if err == nil {
			out.Commit = append(out.Commit, f)
		}
	}
	return out, nil
}

// showCI states what CI trusts and what remains to be done.
func showCI(c *cli.Call, w *writtenCI) {
	for _, r := range w.Roots {
		why := "your key"
		if len(r.Bundles) > 0 {
			why = "it signed " + strings.Join(r.Bundles, ", ")
		}
		c.UI.Note("CI trusts %s (%s): %s", r.Fingerprint, r.Owner, why)
	}
	c.UI.Note("Commit these: git add %s", strings.Join(w.Commit, " "))
}

// writeWorkflow writes the file of a system at the top of the repository, where the
// system reads it. It returns the path of the file relative to the project.
func writeWorkflow(
	ctx context.Context,
	c *cli.Call,
	system, version string,
	roots []status.CIRoot,
) (string, bool, error) {
	top := c.Base
	prefix := ""
	repo, err := env.Of(c).Repo(ctx)
	switch {
	case err == nil && repo.WorkTree != "":
		top = repo.WorkTree
		prefix = strings.TrimSuffix(project.Below(repo.WorkTree, c.Base), "/")
	case err != nil && diag.CodeOf(err) != diag.SourceNotFound:
		return "", false, err
	}
	name := ciFile(system)
	text, err := workflow(system, version, prefix, roots)
	if err != nil {
		return "", false, err
	}
	b, err := openat.ReadRegular(filepath.Join(top, filepath.FromSlash(name)), openat.MaxText)
	if err == nil && system == "gitlab" && string(b) != text {
		name = ".gitlab/rye.yml" // the existing pipeline is not changed
	}
	base := atomicfile.Project(c.Base).At(top)
	rel, err := filepath.Rel(c.Base, base.Path(name))
	if err != nil {
		rel = base.Path(name)
	}
	err = base.Create(name, []byte(text), 0o644)
	made := err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", false, err
	}
	b, err = openat.ReadRegular(base.Path(name), openat.MaxText)
	if !made && err == nil && string(b) != text {
		c.UI.Note("%s exists and is not changed; remove it and run the command again for the current text", filepath.ToSlash(rel))
	}
	if made && name == ".gitlab/rye.yml" {
		c.UI.Note("add to .gitlab-ci.yml:  include: [{local: .gitlab/rye.yml}]")
	}
	return filepath.ToSlash(rel), made, nil
}

// workflow fills the template of a system. dir is the project's directory below the
// top of the repository, "" for the top.
func workflow(system, version, dir string, roots []status.CIRoot) (string, error) {
	b, err := templates.Files.ReadFile("ci-" + system + ".txt")
	if err != nil {
		return "", err
	}
	in := ""
	if dir != "" {
		in = "-C " + cli.ShellArgument(dir) + " "
	}
	var fps []string
	for _, r := range roots {
		fps = append(fps, r.Fingerprint.String())
	}
	return strings.NewReplacer(
		"VERSION",
		version,
		"PROJECT ",
		in,
		"ROOTS",
		strings.Join(fps, ","),
	).Replace(string(b)), nil
}

// installable returns the version query of go install for this build: its release, else its
// commit. A branch or "latest" would install another program next month.
func installable(c *cli.Call) (string, error) {
	v := c.Program
	if r := env.ReleaseTag(v); r != "" {
		return r, nil
	}
	if v.Modified || strings.HasSuffix(v.Version, "+dirty") {
		c.UI.Warn("this rye was built with changes that no commit contains; CI installs the commit without them")
	}
	clean := strings.TrimSuffix(v.Version, "+dirty")
	switch {
	case v.Revision != "":
		return v.Revision, nil
	case env.IsPseudo(clean):
		return clean, nil // of a build that go install fetched; it ends with the commit
	}
	return "", diag.New(diag.Usage, "writing the workflow: this build of rye records no version and no commit, so CI could not install the same program").
		WithReason("no_version")
}
