package items

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/exec/graph/graphhost"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/lock"
	"github.com/ryeos/rye/packages"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
	"github.com/ryeos/rye/registry/publish"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/trust"
)

// registryItems are the items of registries as agents use them. It implements
// agent.Registry.
type registryItems struct{ p *project.Project }

// RegistryItems returns the items of the registries that the user pinned.
func RegistryItems(p *project.Project) agent.Registry {
	return registryItems{p}
}

// Pinned implements agent.Registry. A registry that only rye.yaml pins is not one of the
// user's: a repository does not decide where an agent searches.
func (r registryItems) Pinned() bool {
	return len(r.p.Trust.Registries()) > 0
}

// Search implements agent.Registry.
func (r registryItems) Search(ctx context.Context, q search.Query) (*agent.RegistryResult, error) {
	found, err := Search(ctx, r.p, Searched{
		Hosts: r.p.Trust.Registries(),
		Query: q,
		Items: true,
	})
	if err != nil {
		return nil, err
	}
	out := &agent.RegistryResult{
		Hits:       []agent.RegistryHit{},
		Total:      found.Total,
		NextOffset: found.NextOffset,
		Note:       found.Note,
	}
	for _, h := range found.Hits {
		out.Hits = append(out.Hits, agentHit(h))
	}
	return out, nil
}

// The numbers of capabilities and of signers in a hit.
const (
	maxHitCaps    = 20
	maxHitSigners = 4
)

// agentHit renders the hit of an item for agents.
func agentHit(h Hit) agent.RegistryHit {
	from := agent.RegistryRef{Ref: h.Ref, Bundle: h.ID, Version: h.Version}
	out := agent.RegistryHit{
		Type:        h.Ref.Kind,
		ID:          from.String(),
		Source:      h.ID,
		Version:     h.Version,
		Score:       h.Score,
		Trust:       agent.Unverified,
		Signers:     []string{},
		Caps:        h.Caps[:min(len(h.Caps), maxHitCaps)],
		First:       h.First,
		State:       h.State,
		Description: "not shown, because no signature of it was verified",
	}
	for _, s := range h.Signers[:min(len(h.Signers), maxHitSigners)] {
		out.Signers = append(out.Signers, strings.TrimSpace(
			s.Key+" "+string(s.Trust)+" "+s.Owner,
		))
	}
	if more := len(h.Signers) - maxHitSigners; more > 0 {
		out.Signers = append(out.Signers, fmt.Sprintf("and %d more", more))
	}
	if h.Description != "" {
		out.Description = search.OneLine(h.Description)
	}
	return out
}

// Fetch implements agent.Registry.
func (r registryItems) Fetch(ctx context.Context, from agent.RegistryRef) (*agent.RegistryItem, error) {
	q, err := r.query(from)
	if err != nil {
		return nil, err
	}
	from.Bundle = q.ID.String()
	it, err := r.installed(ctx, from)
	if it != nil || err != nil {
		return it, err
	}
	release, err := r.release(ctx, q)
	if err != nil {
		return nil, err
	}
	if release.Unsafe() {
		return nil, release.Refused
	}
	from.Version = release.Bundle.Version
	out := &agent.RegistryItem{
		From:     from,
		Refused:  release.Refused,
		Caps:     release.Bundle.Caps,
		Notes:    release.Notes,
		Manifest: release.Bundle.Manifest,
	}
	if out.Item, err = r.itemOf(ctx, release, from); err != nil {
		return nil, err
	}
	for _, s := range release.Bundle.Signers {
		out.Signers = append(out.Signers, r.signer(s))
	}
	out.Sandbox = statedSandbox(out.Item)
	return out, nil
}

// query reads the bundle of a ref. The registry must be one that the user pinned.
func (r registryItems) query(from agent.RegistryRef) (packages.Query, error) {
	return r.bundleOf(from.Bundle, from.Version)
}

func (r registryItems) bundleOf(word, version string) (packages.Query, error) {
	if version != "" {
		word += "@" + version
	}
	full, err := deps.FullRegistryID(r.p.Env, word)
	if err != nil {
		return packages.Query{}, err
	}
	q, err := packages.ParseQuery(full)
	if err != nil {
		return q, err
	}
	host, _, err := wire.ParseFull(q.ID.String())
	if err == nil {
		err = deps.NeedPin(r.p, host)
	}
	return q, err
}

// release fetches and judges a release: by the lock and the rules of the project, and by the
// lock and the rules of the user's space, which would record it.
func (r registryItems) release(ctx context.Context, q packages.Query) (*packages.Release, error) {
	var out *packages.Release
	for _, s := range recordingSpaces(r.p) {
		x, err := r.packages(ctx, deps.Params{Space: s, Look: true})
		if err != nil {
			return nil, err
		}
		defer x.Close()
		one, err := x.Release(ctx, q)
		if err != nil {
			return nil, err
		}
		if out != nil {
			one.After(out)
		}
		// both judge the same release
		out = one
		q.Version = one.Bundle.Version
	}
	return out, nil
}

// packages opens the package manager of a space for one call of a server.
func (r registryItems) packages(ctx context.Context, params deps.Params) (*deps.Packages, error) {
	return servingPackages(ctx, *r.p.Env, params)
}

func servingPackages(ctx context.Context, env project.Env, params deps.Params) (*deps.Packages, error) {
	env.Locked = env.KeepsLock()
	return deps.Open(ctx, &env, params)
}

// itemOf returns the item of a release, judged as if the release were installed in the
// user's space. An item with characters that a reader cannot see is refused.
func (r registryItems) itemOf(
	ctx context.Context,
	release *packages.Release,
	from agent.RegistryRef,
) (*resolve.Item, error) {
	resolver, err := publish.ResolverOf(ctx, r.p, release)
	if err != nil {
		return nil, err
	}
	return itemIn(ctx, resolver, from)
}

// itemIn is itemOf with the resolver of the release.
func itemIn(ctx context.Context, resolver *resolve.Resolver, from agent.RegistryRef) (*resolve.Item, error) {
	it, err := resolver.Inspect(ctx, from.Ref)
	switch code := diag.CodeOf(err); {
	case code == diag.ToolNotFound || code == diag.ItemNotFound || err == nil && (it.Root.Layer != from.Bundle || it.Support()):
		return nil, diag.New(diag.ItemNotFound, "looking for %s: %s %s does not have it", from.Ref, from.Bundle, from.Version).
			WithReason("registry_item")
	case err != nil:
		return nil, err
	}
	if diag.Failed(hidden.Encoding(it.Bytes)) ||
		diag.Failed(trust.Hidden(string(it.Ref.Kind), it.Bytes)) {
		return nil, diag.New(diag.HiddenChars, "reading %s of %s %s: its text has characters that a reader cannot see, or is not UTF-8", from.Ref, from.Bundle, from.Version)
	}
	return it, nil
}

// installed returns the item if a lock of the project or of the user has its bundle: then
// execute uses that version, and nothing is fetched.
func (r registryItems) installed(ctx context.Context, from agent.RegistryRef) (*agent.RegistryItem, error) {
	i := slices.IndexFunc(r.p.Spaces.Roots, func(root *space.Root) bool {
		return root.Layer == from.Bundle
	})
	if i < 0 {
		return nil, nil
	}
	root := r.p.Spaces.Roots[i]
	switch {
	case from.Version == "" || from.Version == root.Version():
	default:
		return nil, diag.New(
			diag.LockMismatch,
			"looking for %s: the %s space has %s %s installed, not %s",
			from.Ref,
			root.Space,
			from.Bundle,
			root.Version(),
			from.Version,
		).
			WithReason("registry_version").WithDetail("bundle", from.Bundle)
	}
	if !root.Offers(from.Ref) {
		return nil, nil // use of the project file names other items of the bundle
	}
	it, err := r.p.Resolver.Inspect(ctx, from.Ref)
	if err != nil {
		return nil, err
	}
	if it.Root != root {
		return nil, r.shadowed(it, from)
	}
	from.Version = root.Version()
	return &agent.RegistryItem{
		From:      from,
		Item:      it,
		Signers:   []string{r.signer(packages.SignerText(it.Verdict.Signer))},
		Sandbox:   statedSandbox(it),
		Installed: true,
	}, nil
}

func (r registryItems) shadowed(it *resolve.Item, from agent.RegistryRef) error {
	return diag.New(diag.AmbiguousItem, "using %s of %s: %s has an item with this id, which every run uses instead", from.Ref, from.Bundle, it.Path()).
		WithReason("registry_shadowed")
}

// signer describes a key by the user's trust documents.
func (r registryItems) signer(key string) string {
	s := registrySigner(r.p, key)
	return strings.TrimSpace(s.Key + " " + string(s.Trust) + " " + s.Owner)
}

// statedSandbox returns the sandbox that an item declares.
func statedSandbox(it *resolve.Item) string {
	if it.Ref.Kind != item.Tool {
		return "it starts no program"
	}
	c, _ := it.Confinement()
	if !c.Stated {
		return "it states none, so the default applies"
	}
	b, err := json.Marshal(c.Profile)
	if err != nil {
		return "it cannot be shown"
	}
	return string(b)
}

// Adopt implements agent.Registry.
func (r registryItems) Adopt(
	ctx context.Context,
	call exec.Call,
	it *agent.RegistryItem,
	dryRun bool,
) (*agent.Workspace, error) {
	ask := call.Ask
	p := r.p
	a, _, err := p.Allowance(ctx)
	if err != nil {
		return nil, err
	}
	fail := func(code diag.Code, reason, why string) error {
		return diag.New(
			code,
			"executing %s of %s %s: %s",
			it.From.Ref,
			it.From.Bundle,
			it.From.Version,
			why,
		).
			WithReason(reason).
			WithDetail("bundle", it.From.Bundle).
			WithDetail("item", it.From.Ref.String())
	}
	switch {
	case p.ReadOnly:
		return nil, fail(diag.PermissionDenied, "registry_copy", "it is not installed, and a thread that changes no file installs nothing")
	case p.Copied != nil:
		return nil, fail(diag.PermissionDenied, "registry_copy", "it is not installed, and a thread that works in a copy of the project installs nothing")
	case a.Registry == "deny" || a.Registry != "run" && a.Registry != "ask":
		return nil, fail(diag.PolicyDenied, "registry_deny", "it is not installed, and registry of config:"+policy.AllowanceID+" refuses such items")
	case a.Registry == "ask" && ask == nil && !dryRun:
		return nil, fail(diag.ApprovalRequired, "registry_ask", "it is not installed, and rye cannot ask a person here")
	}
	have, err := p.Resolver.Inspect(ctx, it.From.Ref)
	if err == nil {
		return nil, r.shadowed(have, it.From)
	}
	if dryRun {
		return nil, nil
	}
	review := func([]packages.Change) error { return nil }
	if a.Registry == "ask" {
		review = func(changes []packages.Change) error {
			return r.ask(
				ctx,
				it,
				changes,
				a.Approvals.Timeout(project.AtTerminal(p, call)),
				call,
			)
		}
	}
	if err := r.add(ctx, it, review); err != nil {
		return nil, err
	}
	return r.reopen(ctx, call, it)
}

// add records the release in the user's lock, for this item only.
func (r registryItems) add(ctx context.Context, it *agent.RegistryItem, review packages.Approve) error {
	id, err := lock.ParseID(it.From.Bundle)
	if err != nil {
		return err
	}
	mod := lock.Module{ID: id, Version: it.From.Version}
	x, err := r.packages(ctx, deps.Params{Space: space.User, Expect: map[lock.Module]item.Digest{mod: it.Manifest}})
	if err != nil {
		return err
	}
	defer x.Close()
	_, err = x.Add(ctx, packages.AddParams{Queries: []packages.Query{{ID: id, Version: it.From.Version, Item: it.From.Ref.String()}}, Review: review})
	return err
}

// ask asks the user whether the changes may be made and the item executed.
func (r registryItems) ask(
	ctx context.Context,
	it *agent.RegistryItem,
	changes []packages.Change,
	timeout time.Duration,
	call exec.Call,
) error {
	text := r.question(it, changes)
	// An answer is one to this text: the same release may be asked about with other signers.
	q := &threads.Question{
		Tier:       policy.T3.String(),
		Text:       text,
		Capability: string(policy.Needed(policy.Execute, it.From.Ref)),
		Rule:       "the release " + it.From.Bundle + " " + it.From.Version + ", asked as " + item.DigestOf([]byte(text)).String(),
		Timeout:    timeout,
	}
	reply, err := graphhost.Confirm(ctx, r.p, call, project.CallQuestion{
		Recorded: q,
		Shown:    exec.Asked{Question: text},
	})
	denied := diag.New(
		diag.ApprovalDenied,
		"executing %s of %s %s: the user refused it",
		it.From.Ref,
		it.From.Bundle,
		it.From.Version,
	)
	switch {
	case err != nil:
		return err
	case reply == nil: // no person can be asked now
		return denied
	case reply.Late():
		denied.Message = fmt.Sprintf(
			"executing %s of %s %s: no answer came within %d s, which is a refusal",
			it.From.Ref,
			it.From.Bundle,
			it.From.Version,
			int(timeout.Seconds()),
		)
		return denied.WithReason("approval_timeout")
	case reply.Decision != threads.Deny:
		return nil
	case reply.Feedback != "":
		denied.Message += ": " + reply.Feedback
	}
	return denied
}

// question states what the user permits: who signed the release, what it may do, and what
// else is installed with it.
func (r registryItems) question(it *agent.RegistryItem, changes []packages.Change) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Run %s of %s %s, which is not installed?\n", it.From.Ref, it.From.Bundle, it.From.Version)
	for _, c := range changes {
		if c.To == "" {
			continue
		}
		fmt.Fprintf(&b, "It adds %s %s to your user space", c.ID, c.To)
		for i, s := range c.Signers {
			b.WriteString(
				map[bool]string{true: ", signed by ", false: " and "}[i == 0] + r.signer(s),
			)
		}
		if len(c.Caps) > 0 {
			caps := strings.Join(
				printables(c.Caps[:min(len(c.Caps), maxHitCaps)]),
				", ",
			)
			fmt.Fprintf(&b, "; its items may ask for %s", caps)
			if more := len(c.Caps) - maxHitCaps; more > 0 {
				fmt.Fprintf(&b, " and %d more", more)
			}
		}
		b.WriteString(".\n")
	}
	fmt.Fprintf(&b, "Sandbox of the item: %s.", it.Sandbox)
	for _, n := range it.Notes {
		b.WriteString("\n" + n)
	}
	return b.String()
}

// reopen opens the project with the changed user space. The item that a run would use must
// be the one that the user was asked about.
func (r registryItems) reopen(
	ctx context.Context,
	call exec.Call,
	was *agent.RegistryItem,
) (*agent.Workspace, error) {
	p, err := r.p.Env.Open(ctx, project.Strict)
	if err != nil {
		return nil, err
	}
	p = project.SameCaller(p, r.p)
	p.Settings = r.p.Settings
	it, err := p.Resolver.Inspect(ctx, was.From.Ref)
	if err != nil {
		return nil, err
	}
	if it.Root.Layer != was.From.Bundle || it.Digest != was.Item.Digest {
		return nil, r.shadowed(it, was.From)
	}
	return p.Workspace(ctx, call)
}
