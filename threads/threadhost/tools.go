package threadhost

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/resulttext"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/settings"
	"github.com/ryeos/rye/threads/steps"
	"github.com/ryeos/rye/threads/transcript"
)

// direct returns the tools that the capabilities match, in the order of their use to a model:
// tools that the capabilities name, then tools of tools.prefer, then tools of the project, of
// the user and of bundles. It returns one more than are offered, if there are more.
func (r *Run) direct(
	ctx context.Context,
	prefer []string,
	most int,
) ([]steps.Offer, error) {
	named := steps.ExactTools(r.Caps())
	ids, err := r.matched(ctx, named, prefer)
	if err != nil {
		return nil, err
	}
	out := []steps.Offer{}
	for i, id := range ids {
		exact := i < len(named)
		if !exact && (len(out) > most || i-len(named) >= maxTried) {
			break
		}
		ref := item.Ref{Kind: item.Tool, ID: id}
		if r.Held.Allows(policy.Execute, ref) != nil {
			continue
		}
		o, err := r.offer(ctx, ref, exact)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && exact:
			return nil, err
		case err == nil && o != nil:
			out = append(out, *o)
		}
	}
	return out, nil
}

// maxTried bounds the items that are read for wildcards.
const maxTried = 200

// offer returns the definition of a tool; nil if there is no such tool here, or it is an item
// that other items use and that does not run: a permission for it, as for the server of a
// tool, offers nothing. A wildcard does not offer models.
func (r *Run) offer(
	ctx context.Context,
	ref item.Ref,
	exact bool,
) (*steps.Offer, error) {
	it, err := r.Project.Resolver.Find(ctx, ref)
	if diag.CodeOf(err) == diag.ToolNotFound {
		return nil, nil // a directive may name a tool that this project does not have
	}
	if err != nil {
		return nil, err
	}
	if primary.Runnable(it) != nil || !exact && it.Meta.ToolType == "provider" {
		return nil, nil
	}
	chain, err := r.Project.Executor.Chain(ctx, ref)
	if err != nil {
		return nil, err
	}
	o, err := r.define(ctx, chain.Tool())
	return &o, err
}

// matched returns the ids of the tools that the capabilities permit, in the order of direct.
func (r *Run) matched(ctx context.Context, named, prefer []string) ([]string, error) {
	ids := slices.Clone(named)
	caps := r.Caps()
	if !steps.AnyTool(caps) {
		return ids, nil
	}
	entries, err := r.Project.Resolver.All(ctx, item.Tool)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, id := range ids {
		known[id] = true
	}
	add := func(id string) {
		if !known[id] {
			known[id] = true
			ids = append(ids, id)
		}
	}
	exists := map[string]bool{}
	for _, e := range entries {
		exists[e.Ref.ID] = true
	}
	for _, id := range prefer {
		if exists[id] &&
			caps.Holds(policy.Needed(policy.Execute, item.Ref{Kind: item.Tool, ID: id})) {
			add(id)
		}
	}
	for _, in := range []space.Name{space.Project, space.User, space.System} {
		for _, e := range entries {
			ref := e.Ref
			if e.Shadow ||
				e.Root.Space != in ||
				ofLoop(ref.ID) ||
				!caps.Holds(policy.Needed(policy.Execute, ref)) {
				continue
			}
			// A permission for everything does not put all of the system into a model's hand.
			if in != space.System || steps.Narrow(caps, ref.ID) {
				add(ref.ID)
			}
		}
	}
	return ids, nil
}

// ofLoop reports whether a tool is a part of rye's own loop, or has another name in a thread.
func ofLoop(id string) bool {
	return strings.HasPrefix(id, steps.Dir) || strings.HasPrefix(id, "rye/primary/") || id == "rye/agent/threads/runner"
}

// define describes a tool by its item.
func (r *Run) define(ctx context.Context, it *resolve.Item) (steps.Offer, error) {
	schema := any(it.Meta.Schema)
	if it.Meta.Schema == nil {
		schema = map[string]any{"type": "object"}
	}
	raw, err := jsonx.Marshal(schema)
	if err != nil {
		return steps.Offer{}, diag.New(diag.Internal, "offering %s: %w", it.Ref, err)
	}
	risk, err := resolve.Risk(ctx, r.Project.Resolver)
	if err != nil {
		return steps.Offer{}, err
	}
	rating, err := risk.Rate(it.Ref, it.Declared())
	if err != nil {
		return steps.Offer{}, diag.Doing("offering "+it.Ref.String(), err)
	}
	return steps.Offer{
		Description: it.Meta.Description,
		Schema:      raw,
		Ref:         it.Ref.String(),
		Digest:      it.Digest.String(),
		Tier:        rating.Tier,
	}, nil
}

// verbs returns the verbs that the thread may use for any item.
func (r *Run) verbs(ctx context.Context) ([]steps.VerbTool, error) {
	w, err := r.Project.Workspace(ctx, r.within())
	if err != nil {
		return nil, err
	}
	w.InThread = true
	defs, err := w.Definitions(ctx, r.Held)
	if err != nil {
		return nil, err
	}
	var out []steps.VerbTool
	for _, d := range defs.Tools {
		ref := item.Ref{Kind: item.Tool, ID: "rye/primary/" + d.Name}
		it, err := r.Project.Resolver.Find(ctx, ref)
		if err != nil {
			return nil, err
		}
		o := steps.Offer{
			Name:        d.Name,
			Description: d.Description,
			Schema:      d.InputSchema,
			Ref:         ref.String(),
			Digest:      it.Digest.String(),
			Verb:        policy.Verb(d.Name),
		}
		if o.Verb == policy.Execute || o.Verb == policy.Sign {
			o.Tier = policy.T3
		}
		out = append(out, steps.VerbTool{Offer: o})
	}
	return out, nil
}

// CallWithin returns call for a program that makes the calls.
func (r *Run) CallWithin(within exec.Call) threads.Runner {
	return func(ctx context.Context, c *threads.ToolCall) (*threads.ToolResult, error) {
		return r.call(ctx, within, c)
	}
}

// call runs one call of the model through the gates of every caller.
func (r *Run) call(
	ctx context.Context,
	within exec.Call,
	c *threads.ToolCall,
) (*threads.ToolResult, error) {
	if err := r.Account.Permitted(ctx); err != nil {
		return nil, err
	}
	if skipped, err := r.guarded(ctx, within, c); err != nil || skipped != nil {
		return skipped, err
	}
	r.asking.Store(c.ID, r.approver(ctx, within, c))
	defer r.asking.Delete(c.ID)
	within.Step = "" // a program that runs for this call is not the step that made it
	within.ID = c.ID
	within.Again = c.Again
	within.Started = c.Start
	switch {
	case c.Tool.Name == threads.ArtifactTool:
		err := c.Start("", item.Digest{}, policy.T0.String(), "run")
		if err != nil {
			return nil, err
		}
		return r.artifact(ctx, c.Input)
	case c.Tool.Verb != "":
		return r.verb(ctx, within, c)
	}
	ref, err := item.ParseRef(c.Tool.Ref, item.Tool)
	if err != nil {
		return nil, err
	}
	within.Key = c.Key
	call := primary.Call{
		Ref:    ref,
		Held:   c.Held,
		Within: within,
		Params: c.Input,
		Ask:    r.Options.Ask,
		OnLine: func(s proc.Stream, line []byte) {
			c.Output(streamName(s), string(line))
		},
	}
	run, err := r.Project.Verbs.Tool(ctx, call)
	if err != nil && (run == nil || run.Result == nil) {
		return nil, err
	}
	out, err := r.read(ctx, c, agent.Ran(call, run, err))
	if err != nil {
		return nil, err
	}
	if run.Result.Sandbox != nil {
		out.Sandbox = run.Result.Sandbox
	}
	return out, nil
}

// read returns a result as the model reads it, and as a program does.
func (r *Run) read(
	ctx context.Context,
	c *threads.ToolCall,
	env *diag.Envelope,
) (*threads.ToolResult, error) {
	limit, err := r.pageBytes(ctx, calledItem(c))
	if err != nil {
		return nil, err
	}
	res := agent.Result{Envelope: env, PageBytes: limit}
	blocks, data := agent.Blocks(res)
	out := &threads.ToolResult{
		Blocks:  blocks,
		Data:    data,
		IsError: !env.Success,
		Page:    res.IsPage(),
	}
	if c.Tool.Verb != "" {
		out.Data = map[string]any{"success": env.Success}
		if data != nil {
			out.Data = map[string]any{"success": env.Success, "data": data}
		}
	}
	if env.Error != nil {
		failure := map[string]any{"code": string(env.Error.Code), "message": env.Error.Message}
		if len(env.Error.Details) > 0 {
			failure["details"] = env.Error.Details
		}
		out.Data = map[string]any{"success": false, "error": failure, "data": data}
	}
	return out, nil
}

// pageBytes returns the length of the longest page of a text in bytes: the parts of a file,
// and of an artifact, are not cut again.
func (r *Run) pageBytes(ctx context.Context, ref string) (int, error) {
	cfg, err := settings.Resilience(ctx, r.Project.Resolver)
	if err != nil {
		return 0, err
	}
	var usage steps.Usage
	if t := r.thread(); t != nil {
		u := t.Used()
		usage = steps.Usage{ContextTokens: u.ContextTokens, Window: u.Window}
	}
	return int(cfg.Budget(usage, r.resultTokens(ctx, ref), true)) * 4, nil
}

func streamName(s proc.Stream) string {
	if s == proc.Stderr {
		return "stderr"
	}
	return "stdout"
}

// verb runs one of the four verbs, as for a client of the MCP surface.
func (r *Run) verb(
	ctx context.Context,
	within exec.Call,
	c *threads.ToolCall,
) (*threads.ToolResult, error) {
	p := r.Project
	if c.By != "" {
		p = p.ForBroker()
	}
	w, err := p.Workspace(ctx, within)
	if err != nil {
		return nil, err
	}
	w.InThread = c.By == ""
	args, err := jsonx.Marshal(c.Input)
	if err != nil {
		return nil, diag.New(diag.ValidationFailed, "reading the arguments: %w", err)
	}
	if c.Tool.Verb != policy.Execute {
		tier := policy.T0
		if c.Tool.Verb == policy.Sign {
			tier = policy.T2
		}
		err := c.Start(c.Tool.Ref, c.Tool.Digest, tier.String(), "run")
		if err != nil {
			return nil, err
		}
	}
	env := w.Do(ctx, agent.Request{
		Name:     string(c.Tool.Verb),
		Args:     args,
		Held:     c.Held,
		Within:   within,
		Ask:      r.Options.Ask,
		Progress: func(line string) { c.Output("stdout", line) },
	})
	if env.Error != nil && refused(env.Error.Code) {
		e := diag.New(env.Error.Code, "%s", env.Error.Message)
		e.Details = maps.Clone(env.Error.Details)
		return nil, e
	}
	return r.read(ctx, c, env)
}

// refused reports whether a gate returns a code.
func refused(c diag.Code) bool {
	return slices.Contains(
		[]diag.Code{diag.PermissionDenied, diag.PolicyDenied, diag.ApprovalRequired, diag.ApprovalDenied},
		c,
	)
}

// maxArtifact is the longest artifact that is read, in bytes.
const maxArtifact = 64 << 20

// artifact reads lines of an artifact of the thread.
func (r *Run) artifact(ctx context.Context, in map[string]any) (*threads.ToolResult, error) {
	id, _ := in["id"].(string)
	offset := WholeOf(in["offset"])
	wanted := WholeOf(in["limit"])
	cfg, err := settings.Resilience(ctx, r.Project.Resolver)
	if err != nil {
		return nil, err
	}
	limit := wanted
	if limit <= 0 {
		limit = cfg.ArtifactLines
	}
	missing := threads.FailedResult(diag.ItemNotFound, fmt.Sprintf("the artifact %q does not exist in this thread", id))
	if len(id) != 64 || strings.Trim(id, "0123456789abcdef") != "" {
		return missing, nil
	}
	b, err := r.storedArtifact(id)
	if err != nil {
		return missing, nil
	}
	bytes, err := r.pageBytes(ctx, "")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	total := int64(len(lines))
	first := min(max(offset, 0), total)
	until := min(first+limit, total)
	last := first + int64(resulttext.Lines(lines[first:until], bytes-artifactNote))
	text := strings.Join(lines[first:last], "\n")
	data := map[string]any{
		"text":        text,
		"first_line":  first,
		"lines":       last - first,
		"total_lines": total,
	}
	return &threads.ToolResult{Data: data, Blocks: []message.Block{message.TextBlock(text + artifactEnd(id, first, last, total, wanted))}, Page: true}, nil
}

// artifactNote are the bytes that are left for the note below a part of an artifact.
const artifactNote = 240

// artifactEnd returns the note below a part of an artifact, with the call that reads the
// next part of those that were asked for.
func artifactEnd(id string, first, last, total, wanted int64) string {
	if first >= total {
		return fmt.Sprintf("[the artifact has %d lines]", total)
	}
	note := "\n[" + resulttext.LinesNote(first+1, last, total)
	next := map[string]any{"id": id, "offset": last}
	rest := total - last
	if wanted > 0 {
		rest = min(rest, first+wanted-last)
		next["limit"] = rest
	}
	if rest > 0 {
		call, _ := jsonx.Marshal(next) // a text and numbers
		note += "; the next: " + threads.ArtifactTool + " " + string(call)
	}
	return note + "]"
}

// storedArtifact returns an artifact of the thread, or of one that it continues: what was
// carried from there names it.
func (r *Run) storedArtifact(id string) ([]byte, error) {
	read := func(thread string) ([]byte, error) {
		b, _, err := openat.Read(
			r.Project.Spaces.ProjectDir,
			transcript.Dir+"/"+thread+"/"+transcript.ArtifactsDir+"/"+id+".txt",
			maxArtifact,
		)
		return b, err
	}
	b, err := read(r.id)
	for c := r.carried; err != nil && c != nil; {
		if b, err = read(c.Source()); err == nil {
			break
		}
		before, startErr := threads.ReadStarted(r.Project.Spaces.ProjectDir, c.Source())
		if startErr != nil {
			break
		}
		c = before.Carried
	}
	return b, err
}
