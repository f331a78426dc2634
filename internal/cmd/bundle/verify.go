package bundle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/bundle/newuser"
	"github.com/ryeos/rye/bundle/release"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/ask"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/cmd/view"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/registry/items"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

func bundleVerifyCommand() *cli.Command {
	var asUser bool
	return &cli.Command{
		Name:  "verify",
		Usage: "verify a bundle's manifest and every file it lists",
		Args:  "ID [DIR]",
		Long: `Checks every signature of the manifest and every listed file, and reports files that
are missing, extra or changed. Signatures of untrusted keys are shown but not used.

With --as-user rye then adds the current commit to a new project with an empty user
directory, as a user who trusts only the fingerprint of the signer, and verifies it there.`,
		Examples: []string{"rye bundle verify acme-tools", "rye bundle verify acme-tools --as-user"},
		Flags:    []cli.Flag{cli.Bool(&asUser, "as-user", "add the commit as a new user does, and verify it")},
		Complete: completeBundles,
		Codes:    []diag.Code{diag.BundleFileMissing, diag.BundleFileExtra, diag.HashMismatch, diag.KeyUnknown, diag.Unsigned},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runBundleVerify(ctx, c, asUser)
		},
	}
}

func runBundleVerify(ctx context.Context, c *cli.Call, asUser bool) error {
	h, tree, dir, err := openBundle(ctx, c, c.Arg(1), "")
	if err != nil {
		return err
	}
	defer tree.Close()
	v, err := verifyBundle(ctx, h, tree, dir, c.Arg(0))
	if err != nil {
		return err
	}
	if asUser && v.Err(v.id) == nil {
		if v.NewUser, err = addAsNewUser(ctx, c, dir, v); err != nil {
			return err
		}
	}
	return c.UI.Report(v.Err(v.id), v, v.Findings, func() {
		for _, f := range v.Findings {
			c.UI.Finding(f)
		}
		showSignatures(c.UI, v)
		c.UI.Out(
			"%s: %s checked, %d missing, %d extra, %d changed",
			v.id,
			cli.Plural(v.FilesChecked, "file"),
			len(v.Missing),
			len(v.Extra),
			len(v.Changed),
		)
		if v.NewUser != nil {
			c.UI.Out("a new user who trusts %s adds and verifies it: %s", v.NewUser.Key, strings.Join(v.NewUser.Items, ", "))
		}
	})
}

// addAsNewUser adds the current commit of a bundle's directory as a user who trusts the
// first trusted signer of the bundle and has nothing else.
func addAsNewUser(
	ctx context.Context,
	c *cli.Call,
	dir string,
	v *verifiedBundle,
) (*newuser.Outcome, error) {
	first := slices.IndexFunc(v.Signatures, bundle.Signature.Trusted)
	if first < 0 {
		return nil, diag.New(diag.Unsigned, "verifying %s as a new user: no trusted key has signed its manifest", v.id)
	}
	e := env.Of(c)
	git, err := gitcmd.New(gitcmd.Params{Dir: dir, Cwd: e.Cwd, Environ: e.Environ()})
	if err != nil {
		return nil, err
	}
	repo, err := git.Repo(ctx)
	if err != nil {
		return nil, err
	}
	if repo.WorkTree == "" {
		return nil, diag.New(diag.SourceNotFound, "verifying %s as a new user: %s is not in a work tree of git", v.id, dir)
	}
	commit, err := repo.Commit(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	folder := strings.TrimSuffix(project.Below(repo.WorkTree, dir), "/")
	differ, err := repo.Unclean(ctx, folder)
	if err != nil {
		return nil, err
	}
	if len(differ) > 0 {
		c.UI.Note(
			"The commit %s is added. It lacks the changes of %s: %s",
			commit[:12],
			cli.Plural(len(differ), "file"),
			strings.Join(differ[:min(len(differ), 3)], ", "),
		)
	}
	out, err := newuser.Add(ctx, newuser.Params{
		Program:  e.Self,
		WorkTree: repo.WorkTree,
		Folder:   folder,
		Commit:   commit,
		Key:      v.Signatures[first].Key.String(),
		Environ:  e.Environ(),
	})
	typed := diag.Typed(err)
	if err != nil && typed.Code == diag.Unsigned && len(differ) > 0 {
		err = typed.WithReason("not_committed")
	}
	return out, err
}

// verifiedBundle is the result of verifying a bundle of this project.
type verifiedBundle struct {
	*bundle.Report
	Needs   []release.Demand `json:"needs"`
	NewUser *newuser.Outcome `json:"new_user,omitempty"` // with --as-user
	id      string
}

// verifyBundle verifies a bundle in the project of its author.
func verifyBundle(
	ctx context.Context,
	h *project.Project,
	tree bundle.Tree,
	dir, id string,
) (*verifiedBundle, error) {
	r, err := items.VerifyOwnBundle(ctx, h, tree, dir, id)
	if err != nil {
		return nil, err
	}
	v := &verifiedBundle{Report: r, id: id}
	v.Needs, err = demands(h, dir, id, packages.SignerTexts(r.Signers()))
	return v, err
}

// demands returns the rules about a bundle's signers, of the rye.yaml in dir and of
// publishers, and how many of the signers each one has.
func demands(
	h *project.Project,
	dir, id string,
	signers []string,
) ([]release.Demand, error) {
	m := &lock.ProjectFile{}
	text, _, err := openat.Read(dir, lock.ProjectFileName, lock.MaxProjectFile)
	if err != nil && !space.IsMissing(err) {
		return nil, diag.New(diag.FileSystemError, "reading %s: %w", lock.ProjectFileName, err)
	}
	if err == nil {
		var fs []diag.Finding
		if m, fs = lock.ParseProjectFile(text); m == nil {
			return nil, diag.FromFindings("reading "+lock.ProjectFileName, diag.WithPath(fs, lock.ProjectFileName))
		}
	}
	out := []release.Demand{}
	for _, r := range project.WithManifest(nil, m).SignerRulesOf(h.Trust, id) {
		out = append(out, release.Demand{
			From:      r.String(),
			Threshold: r.Threshold,
			Of:        len(r.Signers),
			Have:      r.Signed(signers),
		})
	}
	return out, nil
}

// showSignatures prints the signers of a manifest and the rules about them.
func showSignatures(u *cli.UI, v *verifiedBundle) {
	for _, s := range v.Signatures {
		u.Out("signed by %s", signatureLabel(s))
	}
	for _, n := range v.Needs {
		u.Out("%s demands %d of %d signers, %d signed", n.From, n.Threshold, n.Of, n.Have)
	}
}

// signatureLabel returns a key, its owner, and why its signature is not trusted.
func signatureLabel(s bundle.Signature) string {
	label := s.Key.Short()
	v, _ := s.Verdict.(trust.Verdict)
	if v.Owner != "" {
		label += " (" + v.Owner + ")"
	}
	if !s.Trusted() {
		label += ", not trusted: " + string(v.Code)
	}
	return label
}

// trustedSigners returns the labels of the trusted signatures, joined by commas.
func trustedSigners(signatures []bundle.Signature) string {
	var labels []string
	for _, s := range signatures {
		if s.Trusted() {
			labels = append(labels, signatureLabel(s))
		}
	}
	return strings.Join(labels, ", ")
}

func bundleListCommand() *cli.Command {
	return &cli.Command{
		Name:     "list",
		Usage:    "list the bundles of this project and their signers",
		Long:     `rye list --bundles lists the installed bundles of other publishers.`,
		Examples: []string{"rye bundle list", "rye bundle list --json"},
		Run:      runBundleList,
	}
}

// madeBundle is one line of the list.
type madeBundle struct {
	ID      string `json:"id"`
	Version string `json:"version,omitempty"`
	State   string `json:"state"` // "sound" or the code of the error
	Files   int    `json:"files"`
	*verifiedBundle
}

func runBundleList(ctx context.Context, c *cli.Call) error {
	h, tree, dir, err := openBundle(ctx, c, "", "")
	if err != nil {
		return err
	}
	defer tree.Close()
	list := []madeBundle{}
	for _, id := range items.OwnBundles(h) {
		v, err := verifyBundle(ctx, h, tree, dir, id)
		if err != nil {
			return err
		}
		b := madeBundle{ID: id, State: "sound", verifiedBundle: v}
		if v.Manifest != nil {
			b.Version = v.Manifest.Version
			b.Files = len(v.Manifest.Files)
		}
		if err := v.Err(id); err != nil {
			b.State = string(diag.CodeOf(err))
		}
		list = append(list, b)
	}
	return c.UI.Show(
		map[string]any{"bundles": list, "total": len(list)},
		func() { showMadeBundles(c.UI, list) },
	)
}

func showMadeBundles(u *cli.UI, list []madeBundle) {
	if len(list) == 0 {
		u.Note("No bundles. rye bundle create ID makes this project a bundle; rye list --bundles lists installed ones.")
		return
	}
	t := cli.NewTable("own bundles")
	for _, b := range list {
		t.Add(
			b.ID,
			b.Version,
			strconv.Itoa(b.Files),
			trustedSigners(b.Signatures),
			b.State,
		)
	}
	u.Table(t)
}

// completeBundles returns the bundles of the project.
func completeBundles(ctx context.Context, c *cli.Call) []string {
	h, err := env.Of(c).Open(ctx, project.Lenient)
	if err != nil || len(c.Args) > 0 {
		return nil
	}
	out := items.OwnBundles(h)
	for i := range out {
		out[i] += "\tbundle"
	}
	return out
}

func bundleInspectCommand() *cli.Command {
	return &cli.Command{
		Name:  "inspect",
		Usage: "print a manifest or a release without verifying it",
		Args:  "FILE|SOURCE[@VERSION]",
		Long: `FILE is a manifest. Of a SOURCE, as for rye add, rye prints the signers, items,
capabilities, executables and hosts of a release. Nothing is verified or installed.`,
		Examples: []string{"rye bundle inspect .ai/bundles/acme-tools/manifest.yaml", "rye bundle inspect github.com/acme/tools@v1.4.0"},
		Codes: []diag.Code{
			diag.ParsingError,
			diag.ValidationFailed,
			diag.SourceNotFound,
			diag.VersionNotFound,
			diag.Network,
			diag.AuthRequired,
		},
		Run: runBundleInspect,
	}
}

func runBundleInspect(ctx context.Context, c *cli.Call) error {
	file := c.Path(c.Arg(0))
	b, err := openat.ReadBounded(file, openat.MaxText)
	if err != nil {
		// A word that is not a readable file may be a source.
		q, wrong := env.ParseQuery(c, c.Arg(0))
		if wrong == nil && !strings.HasSuffix(c.Arg(0), ".yaml") {
			in, err := ask.Inspect(ctx, c, &env.PackageOptions{Space: space.Project}, q)
			if err != nil {
				return err
			}
			return c.UI.Show(in, func() {
				view.Release(c.UI, in)
			})
		}
	}
	if err != nil {
		return diag.New(diag.FileSystemError, "reading the manifest: %w", err)
	}
	in, fs := bundle.Inspect(b)
	err = diag.FromFindings("reading the manifest", diag.WithPath(fs, c.Arg(0)))
	if err != nil {
		return err
	}
	in.Claimed = append(in.Claimed, claimedKeys(file)...)
	return c.UI.Show(in, func() {
		c.UI.Note("Not verified: these are the contents of the file.")
		head := fmt.Sprintf(
			"%s %s (%s) %s",
			in.Manifest.ID,
			in.Manifest.Version,
			in.Manifest.Type,
			in.Manifest.Description,
		)
		c.UI.Out("%s", strings.TrimSpace(head))
		for _, fp := range in.Claimed {
			c.UI.Out("claims to be signed by %s", fp)
		}
		t := cli.NewTable("files")
		for _, f := range in.Manifest.Files {
			t.Add(f.Path, f.Mode(), f.Digest.String()[:19])
		}
		c.UI.Table(t)
	})
}

// claimedKeys returns the keys that the signature files next to a manifest name.
func claimedKeys(file string) []sign.Fingerprint {
	var out []sign.Fingerprint
	entries, _ := os.ReadDir(filepath.Dir(file)) // no error: the keys are only shown
	for _, d := range entries {
		at := filepath.Join(filepath.Dir(file), d.Name())
		of, ok := bundle.CosignedManifest(filepath.ToSlash(at))
		if !ok || of != filepath.ToSlash(file) {
			continue
		}
		b, err := openat.ReadRegular(at, openat.MaxText)
		line, bad := sign.ParseLine(b, sign.StyleBare)
		if err == nil && bad == nil {
			out = append(out, line.Key)
		}
	}
	return out
}
