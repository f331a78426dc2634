package items

import (
	"context"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/signing"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/verify"
)

// BundlerTool is the function of the tool with which models read the bundles of the project.
// It writes and signs nothing: rye bundle create makes the same manifest for a person.
func BundlerTool(
	ctx context.Context,
	p *project.Project,
	in exec.NativeCall,
) (map[string]any, error) {
	c := bundlerCall{p, in.Parameters}
	root, err := p.NeedProject()
	if err != nil {
		return nil, err
	}
	tree, err := bundle.Folder(root.Base)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "opening the directory of the bundle: %w", err)
	}
	defer tree.Close()
	var out any
	switch operation := c.text("operation"); operation {
	case "list":
		out, err = c.list(ctx, tree)
	case "create":
		out, err = c.create(ctx, tree)
	case "verify":
		out, err = c.verify(ctx, tree)
	case "inspect":
		out, err = c.inspect(tree)
	case "diff":
		out, err = c.diff(ctx)
	default:
		err = diag.New(diag.ValidationFailed, "calling rye/core/bundler/bundler: unknown operation %q", operation)
	}
	if err != nil {
		return nil, err
	}
	return jsonx.Object(out)
}

type bundlerCall struct {
	p      *project.Project
	params map[string]any
}

func (c bundlerCall) text(name string) string { s, _ := c.params[name].(string); return s }

// bundle returns the id that the operation needs.
func (c bundlerCall) bundle() (string, error) {
	id := c.text("bundle")
	if id == "" {
		return "", diag.New(diag.ValidationFailed, "calling rye/core/bundler/bundler: operation %q needs bundle", c.text("operation"))
	}
	return id, nil
}

// VerifyOwnBundle verifies a bundle of which dir is the work tree of its author.
func VerifyOwnBundle(
	ctx context.Context,
	p *project.Project,
	tree bundle.Tree,
	dir, id string,
) (*bundle.Report, error) {
	return bundle.Verify(ctx, bundle.VerifyParams{
		Tree:             tree,
		ID:               id,
		LeftOut:          signing.LeftOutOf(p.Env, dir),
		Shared:           true,
		Judge:            verify.JudgeManifest(p.Trust, string(space.Project), bundle.ManifestPath(id)),
		JudgeCosignature: verify.JudgeCosignature(p.Trust, string(space.Project)),
	})
}

// OwnBundles returns the ids of the bundles that the project has manifests of.
func OwnBundles(p *project.Project) []string {
	root := p.Spaces.Of(space.Project)
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

func (c bundlerCall) list(ctx context.Context, tree bundle.Tree) (any, error) {
	list := []map[string]any{}
	for _, id := range OwnBundles(c.p) {
		r, err := VerifyOwnBundle(ctx, c.p, tree, c.p.Spaces.ProjectDir, id)
		if err != nil {
			return nil, err
		}
		b := map[string]any{"id": id, "state": "sound"}
		if r.Manifest != nil {
			b["version"], b["description"], b["files"] = r.Manifest.Version, r.Manifest.Description, len(r.Manifest.Files)
		}
		if err := r.Err(id); err != nil {
			b["state"] = string(diag.CodeOf(err))
		}
		list = append(list, b)
	}
	return map[string]any{"bundles": list, "total": len(list)}, nil
}

// create returns the manifest that rye bundle create would sign.
func (c bundlerCall) create(ctx context.Context, tree bundle.Tree) (any, error) {
	id, err := c.bundle()
	if err != nil {
		return nil, err
	}
	params := signing.ManifestParams(c.p, tree, c.p.Spaces.ProjectDir, id)
	command := "rye bundle create " + id
	if v := c.text("version"); v != "" {
		params.Version = v
		command += " --version " + v
	}
	if d := c.text("description"); d != "" {
		params.Description = d
	}
	body, err := bundle.Create(ctx, tree, params)
	if err != nil {
		return nil, err
	}
	m, _ := bundle.Parse(body)
	return map[string]any{"bundle": m, "manifest": string(body), "path": bundle.ManifestPath(id), "written": false,
		"note": "nothing is written or signed. A person makes this manifest with: " + command}, nil
}

func (c bundlerCall) verify(ctx context.Context, tree bundle.Tree) (any, error) {
	id, err := c.bundle()
	if err != nil {
		return nil, err
	}
	r, err := VerifyOwnBundle(ctx, c.p, tree, c.p.Spaces.ProjectDir, id)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"report": r, "verified": true}
	if err := r.Err(id); err != nil {
		out["verified"], out["code"] = false, string(diag.CodeOf(err))
	}
	return out, nil
}

func (c bundlerCall) inspect(tree bundle.Tree) (any, error) {
	id, err := c.bundle()
	if err != nil {
		return nil, err
	}
	if err := bundle.CheckID(id); err != nil {
		return nil, err
	}
	text, _, err := tree.Read(bundle.ManifestPath(id), bundle.MaxManifest)
	if err != nil {
		return nil, diag.New(diag.BundleFileMissing, "reading the manifest of %s: %w", id, err)
	}
	in, fs := bundle.Inspect(text)
	err = diag.FromFindings("reading the manifest", diag.WithPath(fs, bundle.ManifestPath(id)))
	if err != nil {
		return nil, err
	}
	return map[string]any{"inspection": in, "verified": false}, nil
}

// diff compares a locked bundle with another version of it.
func (c bundlerCall) diff(ctx context.Context) (any, error) {
	id, err := c.bundle()
	if err != nil {
		return nil, err
	}
	x, err := registryItems{c.p}.packages(ctx, deps.Params{Space: space.Project})
	if err != nil {
		return nil, err
	}
	defer x.Close()
	return x.Diff(ctx, id, c.text("version"))
}
