package exec

import (
	"context"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cas"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/resolve"
)

// config is the merged config of the elements of a chain.
type config struct {
	Command   string
	Args      []string
	Cwd       string
	Input     string
	HasInput  bool
	Env       map[string]string
	ParamEnv  string
	Applet    string
	Reads     []string // ids of configurations
	Timeout   time.Duration
	MaxOutput int64
	Lib       []string
	LibEnv    map[string]string // variables of a program that has the broker
	libOwner  *resolve.Item
}

// mergeConfig merges the config of the elements from the primitive to the tool. A
// tool with a runtime sets timeout, applet and reads only: its other keys are data
// of its own, and the runtime decides on the command.
func mergeConfig(c *Chain) (*config, error) {
	cfg := &config{Timeout: defaultTimeout, Env: map[string]string{}, LibEnv: map[string]string{}}
	var fs []diag.Finding
	for i, el := range slices.Backward(c.Elements) {
		whole := i > 0 || len(c.Elements) == 2
		r := fieldsOf(el)
		cfg.merge(r.Map("config"), whole)
		if lib := r.Texts("lib", nil); lib != nil && i > 0 {
			cfg.Lib = lib
			cfg.libOwner = el
		}
		fs = append(fs, diag.WithPath(r.Findings(), el.Path())...)
	}
	if cfg.Command == "" && len(fs) == 0 {
		return nil, diag.New(diag.ConfigError, "reading the chain of %s: no element sets config.command", c.Tool().Ref)
	}
	return cfg, diag.FromFindings("reading the configuration of "+c.Tool().Ref.String(), fs)
}

// merge lays the config of one element over c.
func (c *config) merge(r *tree.Reader, whole bool) {
	text := func(to *string, key string) {
		if s := r.Text(key); r.Has(key) {
			*to = s
		}
	}
	c.Timeout = readTimeout(r, c.Timeout)
	text(&c.Applet, "applet")
	c.Reads = append(c.Reads, r.Texts("reads", nil)...)
	if !whole {
		return // the other keys are the tool's own data
	}
	r.Only("timeout", "applet", "reads", "command", "args", "cwd", "input_data", "param_env", "max_output", "env", "lib_env")
	text(&c.Command, "command")
	text(&c.Cwd, "cwd")
	text(&c.Input, "input_data")
	c.HasInput = c.HasInput || r.Has("input_data")
	text(&c.ParamEnv, "param_env")
	c.MaxOutput = r.Int("max_output", c.MaxOutput, 1, math.MaxInt64)
	maps.Copy(c.Env, r.TextMap("env"))
	maps.Copy(c.LibEnv, r.TextMap("lib_env"))
	if args := r.Texts("args", nil); args != nil {
		c.Args = args
	}
}

// defaultTimeout applies to a chain that sets no timeout.
const defaultTimeout = 300 * time.Second

func readTimeout(r *tree.Reader, def time.Duration) time.Duration {
	return r.Seconds("timeout", def, time.Second, 24*time.Hour)
}

// vars returns the values of {name} templates. It materialises only the files
// that the command names.
func (e *Executor) vars(
	ctx context.Context,
	p *Plan,
	cfg *config,
	a *anchor,
) (map[string]string, error) {
	vars := map[string]string{
		"params_json":  string(p.Stdin),
		"project_path": e.p.Dir,
		"user_space":   e.p.UserSpace,
		"system_space": e.p.SystemSpace,
		"applet":       cfg.Applet,
	}
	all := strings.Join(
		slices.Concat(
			[]string{cfg.Command, cfg.Cwd, cfg.Input},
			cfg.Args,
			a.texts(),
		),
		"\n",
	)
	file := ""
	if a != nil {
		file, vars["anchor_path"] = a.tool, a.dir
		p.copies = append(p.copies, copied{a.dir, a.original})
		p.fixed = append(p.fixed, a.dir)
	} else if strings.Contains(all, "{tool_") {
		var err error
		if file, err = e.materialise(p.Chain.Tool()); err != nil {
			return nil, err
		}
		p.copies = append(p.copies, copied{file, p.Chain.Tool().Path()})
		p.fixed = append(p.fixed, filepath.Dir(file))
	}
	if file != "" {
		dir := filepath.Dir(file)
		vars["tool_path"], vars["tool_dir"], vars["tool_parent"] = file, dir, filepath.Dir(dir)
	}
	if strings.Contains(all, "{runtime_lib}") {
		lib, err := e.library(ctx, p, cfg)
		if err != nil {
			return nil, err
		}
		vars["runtime_lib"] = lib
	}
	return vars, nil
}

// materialise writes an element's verified bytes to a read-only file.
func (e *Executor) materialise(it *resolve.Item) (string, error) {
	return e.store.File(it.Digest, path.Base(it.Rel), it.Bytes)
}

// library materialises a runtime's verified support files as one tree.
func (e *Executor) library(ctx context.Context, p *Plan, cfg *config) (string, error) {
	if cfg.libOwner == nil || len(cfg.Lib) == 0 {
		return "", diag.New(diag.ConfigError, "filling in {runtime_lib}: the runtime lists no lib")
	}
	lib, err := e.libFiles(ctx, cfg)
	if err != nil {
		return "", err
	}
	p.Deps = append(p.Deps, lib...)
	files := make([]cas.TreeFile, len(lib))
	for i, it := range lib {
		files[i] = cas.TreeFile{Rel: path.Base(it.Rel), Bytes: it.Bytes}
	}
	dir, err := e.store.Tree(files)
	p.fixed = append(p.fixed, dir)
	return dir, err
}

// libFiles reads and verifies the support files of a runtime.
func (e *Executor) libFiles(ctx context.Context, cfg *config) ([]*resolve.Item, error) {
	var out []*resolve.Item
	for _, rel := range cfg.Lib {
		it, err := e.p.Resolver.FileFrom(
			ctx,
			path.Join(path.Dir(cfg.libOwner.Rel), rel),
			cfg.libOwner.Root,
		)
		if err == nil {
			err = it.Verdict.Err(it.Path())
		}
		if err != nil {
			return nil, err
		}
		out = append(out, it)
	}
	return out, nil
}

// command fills in the templates of the command. It does not expand the values
// again: a parameter that contains a template stays text.
func (e *Executor) command(
	p *Plan,
	cfg *config,
	env, vars map[string]string,
) (err error) {
	expand := func(s string) string {
		out, xerr := tmpl.Expand(s, env, vars)
		if xerr != nil && err == nil {
			err = diag.New(diag.ConfigError, "filling in %q for %s: %w", s, p.Chain.Tool().Ref, xerr)
		}
		return out
	}
	stdin := vars["params_json"]
	if cfg.HasInput {
		var xerr error
		if stdin, xerr = tmpl.ExpandInput(cfg.Input, env, vars, p.Parameters); xerr != nil {
			err = diag.New(
				diag.ConfigError,
				"filling in %q for %s: %w",
				cfg.Input,
				p.Chain.Tool().Ref,
				xerr,
			)
		}
	}
	p.Stdin = []byte(stdin)
	if len(vars["params_json"]) >= MaxArgJSON {
		vars["params_json"] = "-"
	}
	command := expand(cfg.Command)
	dir := expand(cfg.Cwd)
	args, xerr := tmpl.ExpandArgv(cfg.Args, env, vars, p.Parameters)
	if err == nil && xerr != nil {
		err = diag.New(diag.ConfigError, "filling in args for %s: %w", p.Chain.Tool().Ref, xerr)
	}
	if err != nil {
		return err
	}
	p.Dir = absolute(dir, e.p.Dir)
	p.Timeout = cfg.Timeout
	p.MaxOutput = cfg.MaxOutput
	p.Argv = append([]string{command}, args...)
	p.Program, err = e.program(p, command)
	return err
}
