package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
	"github.com/ryeos/rye/verify"
)

func bundleVerifyCommand() *command {
	return &command{
		name: "verify", usage: "verify a bundle's manifest and every file it lists", args: "ID [DIR]",
		long: `Checks every signature of the manifest and every file that it lists, and says what
is missing, extra or changed. A signature of a key that does not count is shown and
not counted.`,
		examples: []string{"rye bundle verify acme-tools"},
		complete: completeBundles,
		codes:    []diag.Code{diag.BundleFileMissing, diag.BundleFileExtra, diag.HashMismatch, diag.KeyUnknown, diag.Unsigned},
		run:      runBundleVerify,
	}
}

func runBundleVerify(ctx context.Context, c *call) error {
	h, tree, dir, err := c.openBundle(ctx, c.arg(1))
	if err != nil {
		return err
	}
	defer tree.Close()
	v, err := h.verifyBundle(ctx, tree, dir, c.arg(0))
	if err != nil {
		return err
	}
	return c.ui.report(v.Err(v.id), v, v.Findings, func() {
		for _, f := range v.Findings {
			c.ui.finding(f)
		}
		c.ui.signatures(v)
		c.ui.Out("%s: %s checked, %d missing, %d extra, %d changed", v.id, plural(v.FilesChecked, "file"), len(v.Missing), len(v.Extra), len(v.Changed))
	})
}

// verifiedBundle is what was found out about a bundle of this project.
type verifiedBundle struct {
	*bundle.Report
	Needs []demand `json:"needs"`
	id    string
}

// demand is what a rule demands of the signers of a bundle.
type demand struct {
	From      string `json:"from"`
	Threshold int    `json:"threshold"`
	Of        int    `json:"of"`
	Have      int    `json:"have"`
}

// verifyBundle verifies a bundle where it is made.
func (h *house) verifyBundle(ctx context.Context, tree bundle.Tree, dir, id string) (*verifiedBundle, error) {
	r, err := bundle.Verify(ctx, bundle.VerifyParams{Tree: tree, ID: id,
		Judge:       verify.JudgeManifest(h.trust, string(space.Project), bundle.ManifestPath(id)),
		JudgeBeside: verify.JudgeBeside(h.trust, string(space.Project))})
	if err != nil {
		return nil, err
	}
	v := &verifiedBundle{Report: r, id: id}
	v.Needs, err = h.demands(dir, id, packages.SignerTexts(r.Signers()))
	return v, err
}

// demands returns what the rules of the rye.yaml next to a bundle, and those of
// its publishers, demand of its signers.
func (h *house) demands(dir, id string, signers []string) ([]demand, error) {
	m := &lock.Manifest{}
	text, _, err := openat.Read(dir, lock.ManifestFile, lock.MaxManifest)
	if err != nil && !space.IsMissing(err) {
		return nil, diag.New(diag.FileSystemError, "reading %s: %w", lock.ManifestFile, err)
	}
	if err == nil {
		var fs []diag.Finding
		if m, fs = lock.ParseManifest(text); m == nil {
			return nil, diag.FromFindings("reading "+lock.ManifestFile, diag.WithPath(fs, lock.ManifestFile))
		}
	}
	out := []demand{}
	for _, r := range withManifest(nil, m).SignerRules(h.trust, lock.Module{ID: id}, "") {
		out = append(out, demand{From: r.String(), Threshold: r.Threshold, Of: len(r.Signers), Have: r.Signed(signers)})
	}
	return out, nil
}

// signatures shows who signed a manifest and what is demanded.
func (u *ui) signatures(v *verifiedBundle) {
	for _, s := range v.Signatures {
		u.Out("signed by %s", signatureLabel(s))
	}
	for _, n := range v.Needs {
		u.Out("%s demands %d of %d signers, %d signed", n.From, n.Threshold, n.Of, n.Have)
	}
}

// signatureLabel names a key, its owner, and why its signature does not count.
func signatureLabel(s bundle.Signature) string {
	label := s.Key.Short()
	v, _ := s.Verdict.(trust.Verdict)
	if v.Owner != "" {
		label += " (" + v.Owner + ")"
	}
	if !s.Counts() {
		label += ", does not count: " + string(v.Code)
	}
	return label
}

func bundleListCommand() *command {
	return &command{
		name: "list", usage: "list the bundles that this project makes, and who signed them",
		long:     `What was installed from elsewhere is listed by rye list --bundles.`,
		examples: []string{"rye bundle list", "rye bundle list --json"},
		run:      runBundleList,
	}
}

// madeBundle is one line of the list.
type madeBundle struct {
	ID      string `json:"id"`
	Version string `json:"version,omitempty"`
	State   string `json:"state"` // sound, or the code of what is wrong
	Files   int    `json:"files"`
	*verifiedBundle
}

func runBundleList(ctx context.Context, c *call) error {
	h, tree, dir, err := c.openBundle(ctx, "")
	if err != nil {
		return err
	}
	defer tree.Close()
	list := []madeBundle{}
	for _, id := range h.bundleIDs() {
		v, err := h.verifyBundle(ctx, tree, dir, id)
		if err != nil {
			return err
		}
		b := madeBundle{ID: id, State: "sound", verifiedBundle: v}
		if v.Manifest != nil {
			b.Version, b.Files = v.Manifest.Version, len(v.Manifest.Files)
		}
		if err := v.Err(id); err != nil {
			b.State = string(diag.CodeOf(err))
		}
		list = append(list, b)
	}
	return c.ui.Show(map[string]any{"bundles": list, "total": len(list)}, func() { c.ui.madeBundles(list) })
}

func (u *ui) madeBundles(list []madeBundle) {
	if len(list) == 0 {
		u.Note("No bundles: rye bundle create ID makes one of this project. rye list --bundles shows what is installed.")
		return
	}
	t := &table{header: []string{"BUNDLE", "VERSION", "FILES", "SIGNED BY", "STATE"}}
	for _, b := range list {
		var who []string
		for _, s := range b.Signatures {
			if s.Counts() {
				who = append(who, signatureLabel(s))
			}
		}
		t.add(b.ID, b.Version, strconv.Itoa(b.Files), strings.Join(who, ", "), b.State)
	}
	u.Table(t)
}

// completeBundles offers the bundles that the project makes.
func completeBundles(ctx context.Context, c *call) []string {
	h, err := c.house(ctx, lenient)
	if err != nil || len(c.args) > 0 {
		return nil
	}
	out := h.bundleIDs()
	for i := range out {
		out[i] += "\tbundle"
	}
	return out
}

// bundleIDs returns the bundles that the project makes.
func (h *house) bundleIDs() []string {
	root := h.spaces.Of(space.Project)
	if root == nil {
		return nil
	}
	var out []string
	manifests, _ := resolve.Manifests(root)
	for _, m := range manifests {
		out = append(out, m.ID)
	}
	return out
}

func bundleInspectCommand() *command {
	return &command{
		name: "inspect", usage: "print what a manifest says, without verifying it", args: "FILE",
		examples: []string{"rye bundle inspect .ai/bundles/acme-tools/manifest.yaml"},
		codes:    []diag.Code{diag.ParsingError, diag.ValidationFailed},
		run:      runBundleInspect,
	}
}

func runBundleInspect(_ context.Context, c *call) error {
	file := c.path(c.arg(0))
	b, err := os.ReadFile(file)
	if err != nil {
		return diag.New(diag.FileSystemError, "reading the manifest: %w", err)
	}
	in, fs := bundle.Inspect(b)
	if err := diag.FromFindings("reading the manifest", diag.WithPath(fs, c.arg(0))); err != nil {
		return err
	}
	in.Claimed = append(in.Claimed, claimedBeside(file)...)
	return c.ui.Show(in, func() {
		c.ui.Note("Nothing was verified: this is what the file says.")
		head := fmt.Sprintf("%s %s (%s) %s", in.Manifest.ID, in.Manifest.Version, in.Manifest.Type, in.Manifest.Description)
		c.ui.Out("%s", strings.TrimSpace(head))
		for _, fp := range in.Claimed {
			c.ui.Out("claims to be signed by %s", fp)
		}
		t := &table{}
		for _, f := range in.Manifest.Files {
			t.add(f.Path, f.Mode(), f.Digest.String()[:19])
		}
		c.ui.Table(t)
	})
}

// claimedBeside returns the keys that the signatures beside a manifest name.
func claimedBeside(file string) []sign.Fingerprint {
	var out []sign.Fingerprint
	beside, _ := os.ReadDir(filepath.Dir(file)) // what cannot be listed claims nothing
	for _, d := range beside {
		at := filepath.Join(filepath.Dir(file), d.Name())
		of, ok := bundle.CosignedManifest(filepath.ToSlash(at))
		if !ok || of != filepath.ToSlash(file) {
			continue
		}
		b, err := os.ReadFile(at)
		if line, bad := sign.ParseLine(b, sign.StyleBare); err == nil && bad == nil {
			out = append(out, line.Key)
		}
	}
	return out
}
