package deps

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/pep723"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/wheels"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
)

// OfTool returns the wheels of a Python tool for its lock entry. The wheels of an
// entry of the same bytes stay. Others are resolved only by commands that change the lock.
func OfTool(ctx context.Context, p *project.Project, c *exec.Chain) ([]lock.Dep, error) {
	tool := c.Tool()
	block, err := exec.Script(tool)
	if block == nil || err != nil || len(block.Requirements) == 0 {
		return nil, err
	}
	var old []lock.Dep
	if p.Lock != nil {
		entry := p.Lock.Lock.Item(tool.Ref)
		if entry != nil && entry.Digest == tool.Digest {
			old = entry.Deps
		}
	}
	if !p.Env.Resolving {
		if old == nil {
			return nil, diag.New(diag.LockStale, "%s has no packages for the block # /// script of %s", lock.LockFile, tool.Ref).WithReason("relock")
		}
		return old, nil
	}
	return resolveDeps(ctx, p, c, block, old)
}

// resolveDeps resolves the requirements of a tool and fetches the wheels. With locked
// wheels it adds only wheels of the same versions that this machine needs.
func resolveDeps(
	ctx context.Context,
	p *project.Project,
	c *exec.Chain,
	block *pep723.Block,
	old []lock.Dep,
) ([]lock.Dep, error) {
	python, py, err := p.Executor.Machine(ctx, c)
	if err != nil {
		return old, err
	}
	if !pep723.Permits(block.Python, py.Version) {
		return old, diag.New(
			diag.MissingDependency,
			"resolving the packages of %s: it needs Python %s, and %s is %s",
			c.Tool().Ref,
			block.Python,
			python,
			py.Version,
		).
			WithReason("python_version").WithDetail("requires", block.Python)
	}
	store := wheels.NewStore(p.Cache, py.Tag)
	if old != nil && len(missing(store, old)) == 0 {
		return old, nil
	}
	uv, err := uv(p, python)
	if err != nil {
		return old, err
	}
	want := block.Requirements
	if old != nil {
		want = pins(old)
	}
	found, err := uv.Resolve(ctx, want, old != nil)
	if err != nil {
		return old, err
	}
	out := slices.Clone(old)
	for _, w := range found {
		d, err := item.ParseDigest("sha256:" + w.SHA256)
		if err == nil {
			err = store.Fetch(ctx, w, Proxy(p, w.URL))
		}
		if err != nil {
			return old, err
		}
		out = append(out, lock.Dep{Name: w.Name, Version: w.Version, Digest: d})
	}
	return lock.SortDeps(out), nil
}

// pins returns exact requirements of locked wheels.
func pins(deps []lock.Dep) []string {
	var out []string
	for _, d := range deps {
		out = append(out, d.Name+"=="+d.Version)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// missing returns the locked wheels of the packages of which the store has none.
func missing(store wheels.Store, deps []lock.Dep) []lock.Dep {
	has := map[string]bool{}
	for _, d := range deps {
		has[d.Name] = has[d.Name] ||
			store.Has(strings.TrimPrefix(d.Digest.String(), "sha256:"))
	}
	return slices.DeleteFunc(slices.Clone(deps), func(d lock.Dep) bool {
		return has[d.Name]
	})
}

// uv finds uv on the user's PATH, outside of the project.
func uv(p *project.Project, python string) (wheels.Uv, error) {
	env := p.Outside(p.Env.Environ())
	program, err := proc.LookPath("uv", env)
	if err != nil {
		return wheels.Uv{}, diag.New(diag.MissingDependency, "finding uv, which resolves the packages of Python tools: it is not installed").WithReason("no_uv")
	}
	return wheels.Uv{Path: program, Environ: env, Python: python}, nil
}

// Proxy returns the proxy that the user's environment names for a URL, "" for none.
func Proxy(p *project.Project, url string) string {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		v := p.Env.Getenv(name)
		if v != "" && strings.HasPrefix(url, "https:") {
			return v
		}
	}
	return ""
}

// SyncWheels fetches the locked wheels of the project's tools that this machine lacks. It
// resolves nothing: a wheel that is not locked is an error.
func SyncWheels(ctx context.Context, p *project.Project) (fetched int, err error) {
	if p.Lock == nil {
		return 0, nil
	}
	for _, entry := range p.Lock.Lock.Items {
		if len(entry.Deps) == 0 {
			continue
		}
		n, err := syncTool(ctx, p, entry)
		if fetched += n; err != nil {
			return fetched, diag.Doing("fetching the packages of "+entry.Ref.String(), err)
		}
	}
	return fetched, nil
}

func syncTool(ctx context.Context, p *project.Project, entry lock.Item) (int, error) {
	c, err := p.Executor.Walk(ctx, entry.Ref)
	if err != nil {
		return 0, err
	}
	python, py, err := p.Executor.Machine(ctx, c)
	if err != nil {
		return 0, err
	}
	store := wheels.NewStore(p.Cache, py.Tag)
	lacks := missing(store, entry.Deps)
	if len(lacks) == 0 {
		return 0, nil
	}
	uv, err := uv(p, python)
	if err != nil {
		return 0, err
	}
	found, err := uv.Resolve(ctx, pins(lacks), true)
	if err != nil {
		return 0, err
	}
	for i, w := range found {
		if !slices.ContainsFunc(entry.Deps, func(d lock.Dep) bool { return d.Digest.String() == "sha256:"+w.SHA256 }) {
			return i, diag.New(diag.MissingDependency, "%s %s: rye.lock has no wheel for this machine (%s)", w.Name, w.Version, py.Tag).
				WithReason("other_platform")
		}
		err := store.Fetch(ctx, w, Proxy(p, w.URL))
		if err != nil {
			return i, err
		}
	}
	return len(found), nil
}
