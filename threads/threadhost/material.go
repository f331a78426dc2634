package threadhost

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/applies"
	"github.com/ryeos/rye/internal/directive"
	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/copies"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/prepare"
	"github.com/ryeos/rye/threads/steps"
)

// material returns the material of the prompt. Every item in it is verified.
func (r *Run) material(ctx context.Context) (*steps.Material, error) {
	p := r.Project
	it := r.Item
	d := r.Directive
	s, err := p.Resolver.Config(ctx, steps.AgentConfig)
	if err != nil {
		return nil, err
	}
	cfg := tree.NewReader(&tree.Doc{Root: s.Root}, diag.ConfigError)
	m := &steps.Material{
		Directive: steps.DirectiveText{
			Ref:     it.Ref.String(),
			Digest:  it.Digest.String(),
			Name:    it.Meta.Name,
			Version: it.Meta.Version,
			Body:    d.Body,
		},
		Inputs:       promptInputs(r.Prepared),
		Attachments:  withoutData(r.attachments),
		Accepts:      accepts(r.Prepared),
		Outputs:      steps.Fields(d.Outputs),
		Capabilities: r.Caps(),
		Message:      r.Options.Message,
		Window:       window(r.Prepared),
		Facts:        r.facts(ctx),
	}
	if r.carried != nil && r.carried.Follows != "" {
		m.Attachments = nil // they belong to the message behind the conversation
	}
	if m.Directive.Name == "" {
		m.Directive.Name = filepath.Base(it.Ref.ID)
	}
	if id := cfg.Text("system"); id != "" {
		if m.System, err = r.systemItem(ctx, id); err != nil {
			return nil, err
		}
	}
	if m.Context, err = r.contextItems(ctx, cfg); err != nil {
		return nil, err
	}
	tools := cfg.Map("tools")
	if m.Direct, err = r.direct(ctx, tools.Texts("prefer", func(string) error { return nil }), int(tools.Int("max_direct", 24, 0, 1000))); err != nil {
		return nil, err
	}
	m.Verbs, err = r.verbs(ctx)
	return m, err
}

// facts returns the facts of the prompt about the machine and the day. A replay has the day and
// the working copy of its recording: a request would differ otherwise.
func (r *Run) facts(ctx context.Context) steps.Facts {
	if r.Options.Facts != nil {
		return *r.Options.Facts
	}
	w := copies.WorkingCopy(r.Project)
	if r.Options.Replay != nil {
		w = r.Options.Replay.Started.Workspace
	}
	f := steps.Facts{
		Date:      r.Project.Env.Now().UTC().Format(time.DateOnly),
		System:    runtime.GOOS,
		Project:   filepath.Base(cmp.Or(w.Dir, r.Project.Spaces.ProjectDir)),
		Workspace: w.Mode,
	}
	switch {
	case w.Empty:
		f.Project = "none"
		f.Workspace = "an empty directory; files cannot be written"
	case w.Mode == threads.Read:
		f.Workspace = "read: files cannot be changed"
	}
	if r.Options.Replay != nil {
		f.Date, _, _ = strings.Cut(r.Options.Replay.Started.Time, "T")
		f.Environment = r.Options.Replay.Environment()
		return f
	}
	f.Path = r.Project.ToolDir()
	f.Platform = runtime.GOOS + "/" + runtime.GOARCH
	f.Shell = "none"
	_, err := proc.LookPath("bash", proc.Own(
		r.Project.Env.Environ(),
		f.Path,
	))
	if err == nil {
		f.Shell = "bash"
	}
	f.Git = gitState(ctx, r.Project, f.Path)
	return f
}

// gitState states the branch of a directory and whether it has changes, or that it is not in a
// repository. An error of git, too, is stated: no thread ends for it.
func gitState(ctx context.Context, p *project.Project, dir string) string {
	const none = "not a repository"
	if !inRepository(dir) {
		return none
	}
	git, err := gitcmd.New(gitcmd.Params{Dir: dir, Environ: p.Env.Environ()})
	if err != nil {
		return "unknown"
	}
	repo, err := git.Repo(ctx)
	if err != nil {
		return none
	}
	branch, changed, err := repo.State(ctx)
	if err != nil {
		return "unknown"
	}
	state := map[bool]string{true: "with changes", false: "clean"}[changed]
	if branch == "" {
		return "no branch, " + state
	}
	return "branch " + branch + ", " + state
}

// inRepository reports whether a directory or one above it has a .git: without one no git is
// started.
func inRepository(dir string) bool {
	for {
		_, err := os.Lstat(filepath.Join(dir, ".git"))
		if err == nil {
			return true
		}
		above := filepath.Dir(dir)
		if above == dir {
			return false
		}
		dir = above
	}
}

func (r *Run) systemItem(ctx context.Context, id string) (*steps.SystemItem, error) {
	ref, err := item.ParseRef(id, item.Directive)
	if err != nil {
		return nil, diag.New(diag.ConfigError, "reading config:%s: system: %w", steps.AgentConfig, err)
	}
	it, err := r.Project.Resolver.Find(ctx, ref)
	if err != nil {
		return nil, err
	}
	if err := primary.CheckDraft(r.LoopHeld, it); err != nil {
		return nil, err
	}
	d, _, err := r.Project.Resolver.Directive(ctx, it)
	if err != nil {
		return nil, err
	}
	return &steps.SystemItem{Ref: it.Ref.String(), Digest: it.Digest.String(), Text: d.Body}, nil
}

// contextItems returns the entries of the configuration, then the entries of the directive.
func (r *Run) contextItems(ctx context.Context, cfg *tree.Reader) ([]steps.ContextItem, error) {
	var list []directive.Context
	for _, m := range cfg.Maps("context") {
		c := directive.Context{At: m.Text("at"), MaxTokens: m.Int("max_tokens", 0, 0, 1<<40), Optional: m.Bool("optional", false)}
		if !m.Has("ref") && m.Text("apply") == string(applies.Always) {
			always, err := r.Project.Resolver.Always(ctx)
			if err != nil {
				return nil, err
			}
			for _, c.Ref = range always {
				if !slices.ContainsFunc(r.Directive.Context, func(own directive.Context) bool { return own.Ref == c.Ref }) {
					list = append(list, c)
				}
			}
			continue
		}
		var err error
		if c.Ref, err = item.ParseRef(m.Text("ref"), item.Knowledge); err != nil {
			return nil, diag.New(diag.ConfigError, "reading config:%s: context: %w", steps.AgentConfig, err)
		}
		list = append(list, c)
	}
	general := len(list) // entries that a directive did not name
	var out []steps.ContextItem
	seen := map[item.Ref]bool{}
	for i, c := range append(list, r.Directive.Context...) {
		if i < general && seen[c.Ref] { // by its ref, and because it states apply: always
			continue
		}
		seen[c.Ref] = true
		e := steps.ContextItem{
			Ref:       c.Ref.String(),
			At:        c.At,
			MaxTokens: c.MaxTokens,
			Optional:  c.Optional,
		}
		if e.Missing, _ = r.Project.Resolver.Missing(ctx, c.Ref); e.Missing { // Inspect reports the error
			out = append(out, e)
			continue
		}
		it, err := r.Project.Resolver.Inspect(ctx, c.Ref)
		switch code := diag.CodeOf(err); {
		case code == diag.ItemNotFound || code == diag.ToolNotFound:
			e.Missing = true
		case err != nil:
			return nil, err
		case i < general && slices.Contains([]applies.Mode{applies.Paths, applies.Search}, applies.Of(it.Meta.Fields)):
			continue // its author excludes it from what every thread reads
		default:
			e.Digest, e.Verdict, e.Text = it.Digest.String(), it.Verdict.Word(), primary.Body(it)
			e.Draft = r.Held.Allows(policy.Draft, c.Ref) == nil
		}
		out = append(out, e)
	}
	return out, nil
}

// loadHooks reads the hooks of a thread: the hooks of the user, of the directive, of the
// project and of the system.
func (r *Run) loadHooks(ctx context.Context) error {
	s, err := r.Project.Resolver.Config(ctx, steps.HooksConfig)
	if err != nil {
		return err
	}
	var layers []steps.HookLayer
	ofUser := map[string]item.Digest{}
	for _, it := range s.Layers {
		source := steps.ProjectHooks
		switch {
		case it.Root.Space == space.System:
			source = steps.BuiltinHooks
		case it.Root.Space == space.User && !it.Root.Bundled():
			source = steps.UserHooks
			ofUser[it.Path()] = it.Digest
		}
		layers = append(layers, steps.HookLayer{Source: source, Path: it.Path(), Doc: &tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos}})
	}
	events, err := r.config(ctx, steps.EventsConfig)
	if err != nil {
		return err
	}
	rules, err := steps.ReadRules(events)
	if err != nil {
		return err
	}
	hooks, findings := steps.LoadHooks(layers, r.Directive.Hooks, r.Ref, rules)
	if err := diag.FromFindings("reading the hooks of "+r.Ref, findings); err != nil {
		return err
	}
	for _, h := range hooks {
		if digest, ok := ofUser[h.From]; ok && h.Event == guardEvent {
			r.guards = append(r.guards, h)
			r.guardItem = threads.Identity{Ref: item.Ref{Kind: item.Config, ID: steps.HooksConfig}.String(), Digest: digest}
		} else {
			r.hooks = append(r.hooks, h)
		}
	}
	return nil
}

// hooksFor returns the hooks that the step run_hooks receives: a program gets all of the
// thread, the function of rye only the event's.
func (r *Run) hooksFor(ctx context.Context, event any) ([]steps.Hook, error) {
	chain, err := r.chain(ctx, item.Ref{Kind: item.Tool, ID: steps.Dir + "run_hooks"})
	if err != nil ||
		chain.Primitive().Ref.ID != exec.NativeStep ||
		chain.Tool().Meta.Config["func"] != stepFunc("run_hooks") {
		return r.hooks, err
	}
	own := []steps.Hook{}
	for _, h := range r.hooks {
		if h.Event == event {
			own = append(own, h)
		}
	}
	return own, nil
}

// hookContext adds what the conditions of every hook can read.
func (r *Run) hookContext(t *threads.Thread, p map[string]any) {
	c, _ := p["context"].(map[string]any)
	if c == nil {
		c = map[string]any{}
	}
	u := t.Used()
	facts := map[string]any{
		"turn": t.Turn(), "inputs": r.Inputs, "directive": r.Ref, "model": t.Service().Model, "thread_id": t.ID(),
		"present": r.Options.Ask != nil && r.suspends(), "headless": r.headless,
		"cost":   map[string]any{"turns": u.Turns, "spend": u.Spend.String()},
		"limits": t.Params().Limits,
		"usage":  map[string]any{"input_tokens": u.InputTokens, "output_tokens": u.OutputTokens},
	}
	if !r.suspends() {
		facts["headless"] = "deny"
	}
	if u.Window > 0 {
		facts["context_ratio"] = float64(u.ContextTokens) / float64(u.Window)
	}
	for k, v := range facts {
		if c[k] == nil {
			c[k] = v
		}
	}
	p["context"] = c
}

// periods returns the user's costs of the day and the month, with the maxima, for the step that
// warns of them.
func (r *Run) periods(ctx context.Context) (map[string]any, error) {
	a, _, err := r.Project.Allowance(ctx)
	if err != nil || r.Account == nil || r.Account.Store == nil { // the account of a run has it
		return map[string]any{"warn_at": a.Spend.WarnAt}, err
	}
	now, err := r.Account.Store.Periods(ctx, a.Spend)
	list := []any{}
	for _, s := range now {
		list = append(list, map[string]any{"scope": s.Scope, "value": s.Actual, "max": s.Max})
	}
	return map[string]any{"warn_at": a.Spend.WarnAt, "periods": list}, err
}

// Rendered is what a model would read first.
type Rendered struct {
	Ref       string          `json:"ref"`
	Prompt    *threads.Prompt `json:"prompt"`
	Tokens    int64           `json:"tokens"`     // estimate
	FirstCall policy.USD      `json:"first_call"` // the most that it can cost
	Ceiling   policy.USD      `json:"ceiling"`    // of the thread
	Model     string          `json:"model"`
}

// Render composes the prompt of a thread without starting it.
func Render(ctx context.Context, p *project.Project, o *Options) (*Rendered, error) {
	p, err := Planned(ctx, p, o)
	if err != nil {
		return nil, err
	}
	prepared, err := prepare.Directive(ctx, p, o.Request())
	if err != nil {
		return nil, err
	}
	r := &Run{Prepared: prepared, Project: p, Options: o}
	if r.attachments, err = Attachments(ctx, p, o, prepared); err != nil {
		return nil, err
	}
	prompt, err := r.Compose(ctx)
	if err != nil {
		return nil, err
	}
	out := &Rendered{Ref: prepared.Ref, Prompt: prompt, Ceiling: prepared.Limits.Spend}
	if len(prepared.Services) == 0 {
		out.Tokens, err = sizeOfPrompt(prompt)
		return out, err
	}
	s := prepared.Services[0]
	req := firstRequest(prepared, s, prompt)
	e, err := s.WorstCase(req, nil)
	if err != nil {
		return nil, err
	}
	out.Tokens = e.Bytes / 4
	out.FirstCall = e.Cost
	out.Model = s.Model
	return out, nil
}

// firstRequest returns the request of a prompt.
func firstRequest(r *prepare.Prepared, s *threads.Service, prompt *threads.Prompt) *message.Request {
	req := &message.Request{Model: s.Model, MaxOutput: min(s.MaxOutput, r.MaxOutput), Messages: []message.Message{{Role: message.User, Blocks: prompt.Message.Blocks}}}
	for _, b := range prompt.System {
		req.System = append(req.System, message.TextBlock(b.Text))
	}
	for _, t := range prompt.Tools {
		req.Tools = append(req.Tools, t.ToolDef)
	}
	return req
}

// sizeOfPrompt estimates the tokens of a prompt by its bytes.
func sizeOfPrompt(p *threads.Prompt) (int64, error) {
	b, err := jsonx.Marshal(p)
	return int64(len(b)) / 4, err
}

// window returns the window of the model, 0 if there is none.
func window(r *prepare.Prepared) int64 {
	if len(r.Services) == 0 {
		return 0
	}
	return r.Services[0].Window
}

// accepts returns the kinds of input of the model. A recording does not state them.
func accepts(r *prepare.Prepared) []string {
	if len(r.Services) == 0 {
		return acceptedBy(&threads.Service{})
	}
	return acceptedBy(r.Services[0])
}

func acceptedBy(s *threads.Service) []string {
	if s.Inputs == nil {
		return []string{"text", "image", "pdf", "audio"}
	}
	return s.Inputs
}

// Compose runs the step compose outside of a thread.
func (r *Run) Compose(ctx context.Context) (*threads.Prompt, error) {
	m, err := r.material(ctx)
	if err != nil {
		return nil, err
	}
	params, err := jsonx.Object(m)
	if err != nil {
		return nil, err
	}
	in := steps.Input{Limits: r.Limits, Usage: steps.Usage{Window: window(r.Prepared)}, Params: params}
	id, data, err := r.runStep(ctx, r.Options.Within, nil, "compose", in)
	if err != nil {
		return nil, err
	}
	inner, _ := data["data"].(map[string]any)
	raw, err := jsonx.Marshal(inner)
	prompt := &threads.Prompt{}
	if err == nil {
		err = json.Unmarshal(raw, prompt)
	}
	if err != nil {
		return nil, diag.New(diag.ExecutionFailed, "running the step %s: its result is not a prompt: %w", id.Ref, err)
	}
	return prompt, nil
}

// Planned returns the project in which a thread would work. It makes no copy.
func Planned(ctx context.Context, p *project.Project, o *Options) (*project.Project, error) {
	p, err := project.InAccount(p)
	if err != nil || o.Workspace == threads.Worktree || o.Workspace == threads.FullCopy {
		return p, err
	}
	return copies.WorksIn(ctx, p, o.Wish(), "")
}
