package exec

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/pep723"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/wheels"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// Script returns the block # /// script of a Python tool, nil if it has none. The block is
// part of the signed bytes.
func Script(it *resolve.Item) (*pep723.Block, error) {
	if it.Type.Codec != extract.CodecPython {
		return nil, nil
	}
	b, found := pep723.Parse(it.Bytes)
	return b, diag.FromFindings(
		"reading the dependencies of "+it.Ref.String(),
		diag.WithPath(found, it.Path()),
	)
}

// Machine returns the interpreter of this machine that runs a chain with packages of its
// own: the fallback of its runtime. A program of the project is never used.
func (e *Executor) Machine(ctx context.Context, c *Chain) (path string, py wheels.Python, err error) {
	envs, err := readEnvConfigs(c)
	if err != nil {
		return "", py, err
	}
	i := slices.IndexFunc(envs, func(ec *envConfig) bool {
		return ec.interpreter != nil && ec.interpreter.kind == "venv_python"
	})
	if i < 0 || envs[i].interpreter.fallback == "" {
		return "", py, diag.New(diag.ConfigError, "finding the Python of %s: its runtime has no interpreter of type venv_python with a fallback, so # /// script does not apply", c.Tool().Ref)
	}
	path, env, err := e.machine(envs[i].interpreter.fallback)
	if err != nil {
		return "", py, err
	}
	py, err = wheels.Probe(ctx, path, env)
	return path, py, err
}

func (e *Executor) machine(name string) (path string, env []string, err error) {
	vars := map[string]string{}
	for _, kv := range proc.Base(e.p.Environ) {
		k, v, _ := strings.Cut(kv, "=")
		vars[k] = v
	}
	vars["PATH"] = e.paths.Path(vars["PATH"], e.p.Project)
	env = proc.Environ(vars)
	path, err = proc.LookPath(name, env)
	if err != nil || inside(path, e.p.Project) {
		return "", nil, diag.New(diag.ExecutionFailed, "finding the interpreter: %q is not installed", name).
			WithReason("not_installed").WithDetail("return_code", 127).WithDetail("program", name)
	}
	return path, env, nil
}

// packages is what a tool with a block # /// script runs with.
type packages struct {
	python string // the interpreter
	dir    string // of the unpacked wheels, "" without any
}

// packages verifies the wheels of a tool and unpacks them into the cache. The wheels are
// read and hashed, and the copy compared, before every run. Nothing is fetched.
func (e *Executor) packages(ctx context.Context, c *Chain) (*packages, error) {
	tool := c.Tool()
	block, err := Script(tool)
	if block == nil || err != nil {
		return nil, err
	}
	python, py, err := e.Machine(ctx, c)
	if err != nil {
		return nil, err
	}
	if !pep723.Permits(block.Python, py.Version) {
		return nil, diag.New(
			diag.MissingDependency,
			"running %s: it needs Python %s, and %s is %s",
			tool.Ref,
			block.Python,
			python,
			py.Version,
		).
			WithReason("python_version").WithDetail("requires", block.Python)
	}
	if len(block.Requirements) == 0 {
		return &packages{python: python}, nil
	}
	deps, err := e.lockedDeps(tool, block)
	if err != nil {
		return nil, err
	}
	store := wheels.NewStore(e.p.Cache, py.Tag)
	files, err := readWheels(store, deps, tool)
	if err != nil {
		return nil, err
	}
	for _, d := range deps {
		store.Used(strings.TrimPrefix(d.Digest.String(), "sha256:"), e.p.Now())
	}
	tree, err := wheels.Unpack(py.Stdlib, files...)
	if err != nil {
		return nil, diag.Doing("unpacking the packages of "+tool.Ref.String(), err)
	}
	dir, err := e.store.Tree(tree)
	return &packages{python, dir}, err
}

// lockedDeps returns the wheels that the lock has for a tool. Each requirement must be
// among them.
// Signing without uv writes no wheels, with a warning, because it must not depend on a network.
// Then rye run reports LOCK_STALE until rye lock.
func (e *Executor) lockedDeps(tool *resolve.Item, block *pep723.Block) ([]lock.Dep, error) {
	if tool.Root.Space != space.Project || tool.Root.Bundled() {
		return nil, diag.New(diag.MissingDependency, "running %s: packages are locked for the project's own tools only, and it is in %s", tool.Ref, tool.Root.Label()).
			WithReason("deps_own")
	}
	var entry *lock.Item
	if e.p.Lock != nil {
		entry = e.p.Lock.Item(tool.Ref)
	}
	if entry == nil || entry.Digest != tool.Digest {
		return nil, diag.New(diag.LockStale, "running %s: %s has no packages for its block # /// script", tool.Ref, lock.LockFile).WithReason("relock")
	}
	for _, r := range block.Requirements {
		name := depName(r)
		if !strings.Contains(r, ";") &&
			!slices.ContainsFunc(entry.Deps, func(d lock.Dep) bool { return d.Name == name }) {
			return nil, diag.New(diag.LockStale, "running %s: %s has no wheel of %s", tool.Ref, lock.LockFile, name).
				WithReason("relock")
		}
	}
	return entry.Deps, nil
}

var separators = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[-_.]+`)
})

// depName returns the normalized name of a requirement.
func depName(requirement string) string {
	name := requirement[:len(requirement)-len(strings.TrimLeft(requirement, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"))]
	return strings.Trim(separators().ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// readWheels reads the wheel of each package that is for this machine.
func readWheels(
	store wheels.Store,
	deps []lock.Dep,
	tool *resolve.Item,
) ([][]byte, error) {
	var out [][]byte
	found := map[string]bool{}
	for _, d := range deps {
		b, err := store.Read(strings.TrimPrefix(d.Digest.String(), "sha256:"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !found[d.Name] {
			out, found[d.Name] = append(out, b), true
		}
	}
	for _, d := range deps {
		if !found[d.Name] {
			return nil, diag.New(diag.MissingDependency, "running %s: %s %s is not in the cache for this Python", tool.Ref, d.Name, d.Version).
				WithReason("not_fetched").WithDetail("package", d.Name)
		}
	}
	return out, nil
}

// use sets the interpreter and the module path of a run.
func (k *packages) use(p *Plan, env map[string]string) {
	if k == nil {
		return
	}
	if k.dir != "" {
		// First, so that no other sitecustomize.py hides the one that adds the packages.
		env["PYTHONPATH"] = strings.TrimSuffix(
			filepath.Join(k.dir, wheels.SiteDir)+string(os.PathListSeparator)+env["PYTHONPATH"],
			string(os.PathListSeparator),
		)
		env["PYTHONNOUSERSITE"] = "1"
		p.Packages = k.dir
	}
}
