package modelsetup

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/credentials"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/linediff"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/signing"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/modelhost"
	"github.com/ryeos/rye/threads/models"
	"github.com/ryeos/rye/threads/provider"
)

// agentConfig is the configuration with the order of the providers.
// OPENAI_API_KEY chooses rye/agent/providers/openai_chat, as in earlier versions.
// rye/agent/providers/openai (Responses) is chosen by name.
const agentConfig = "agent/agent"

// Service is a service of models that is being added.
type Service struct {
	Ref  string
	Path string // of the item
	Text string // of the item; "" before it is known

	// Exists is what is at Path already; see the constants.
	Exists Existing
	// Difference is between the item that is replaced and the new one, "" if none is.
	Difference string
	Report     *Report  // of the test, nil without one
	Notes      []string // what a person has to know
	Item       *models.Item

	wish models.Wish
	p    *project.Project
	root *space.Root
	rel  string
	key  string
}

// Existing is what is at the path of an item that is to be written.
type Existing string

// The states of a path.
const (
	Absent  Existing = ""
	Broken  Existing = "broken"  // an item of the user's own that cannot be used
	Working Existing = "working" // another item that can be used, or that the user did not sign
	Equal   Existing = "equal"   // the same item
)

// NewService checks a wish before the service is asked. It sends and writes nothing.
func NewService(ctx context.Context, p *project.Project, w models.Wish) (*Service, error) {
	if err := w.Check(); err != nil {
		return nil, err
	}
	ref, err := item.ParseRef(w.ID, item.Tool)
	if err != nil {
		return nil, err
	}
	w.ID = ref.ID
	root, err := p.Verbs.Target(space.User)
	if err != nil {
		return nil, err
	}
	s := &Service{
		Ref:  ref.String(),
		wish: w,
		p:    p,
		root: root,
		rel:  "tools/" + ref.ID + ".yaml",
	}
	s.Path = root.Display(s.rel)
	entries, err := p.Resolver.Shadows(ctx, ref)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Root == root && e.Rel != s.rel {
			return nil, diag.New(diag.AmbiguousItem, "adding the provider %s: %s exists", ref.ID, root.Display(e.Rel)).
				WithReason("id_taken")
		}
	}
	if root.Exists(s.rel) {
		s.Exists = s.existing(ctx)
	}
	return s, nil
}

// existing judges the item that is at the path. One that the user signed and that does
// not load can be replaced: versions of rye before this one wrote such items.
func (s *Service) existing(ctx context.Context) Existing {
	it, err := s.p.Resolver.File(ctx, s.root, s.rel)
	if err != nil || !it.Verdict.OK() {
		return Working // it may be a draft of the user, who decides
	}
	bad := signing.DraftChecker(s.p, s.p.Resolver).Check(ctx, it)
	if len(bad) > 0 {
		return Broken
	}
	return Working
}

// FindKey finds the value of the key. It is missing if short and err are zero and the
// result is false.
func (s *Service) FindKey() (found, short bool, err error) {
	if s.wish.Key == "" {
		return true, false, nil
	}
	keys, err := s.p.Env.Keys().Find(s.wish.Key)
	if err != nil {
		return false, false, err
	}
	s.key = keys[s.wish.Key].Value
	return s.key != "", s.key != "" && credentials.Short(s.key), nil
}

// ServiceOptions are how a service is added.
type ServiceOptions struct {
	NoTest  bool
	Choose  func(names []string) (string, error) // one of several models; nil without a person
	Confirm func(worst policy.USD) error         // before calls that can cost that much
}

// Discover asks the service what it is, and tests its item with a few calls, which are in
// the ledger. Nothing is written: the item exists in memory only.
func (s *Service) Discover(ctx context.Context, o ServiceOptions) error {
	p := s.p
	settings, err := p.Resolver.Config(ctx, models.RulesConfig)
	if err != nil {
		return err
	}
	rules, err := models.ReadRules(settings.Root)
	if err != nil {
		return err
	}
	it, found, notes, err := models.Plan(ctx, s.wish, models.Params{
		Rules:  rules,
		Key:    s.key,
		NoTest: o.NoTest,
		Now:    p.Env.Now(),
		Choose: o.Choose,
	})
	if err != nil {
		return err
	}
	s.Item = it
	s.Notes = notes
	if !o.NoTest {
		if err := s.test(ctx, found, o.Confirm); err != nil {
			return err
		}
	}
	_, err = s.load(ctx)
	return err
}

// draftOf returns the item with a text that is not written, and a resolver that finds it.
func (s *Service) draftOf(ctx context.Context, text string) (*resolve.Item, *resolve.Resolver, error) {
	mem := space.NewFiles(s.root.Space, signing.Memory{s.rel: []byte(text)})
	spaces := *s.p.Spaces
	spaces.Roots = slices.Clone(spaces.Roots)
	for i, r := range spaces.Roots {
		if r == s.root {
			spaces.Roots[i] = mem
		}
	}
	r := s.p.Verifier(&spaces)
	it, err := r.File(ctx, mem, s.rel)
	return it, r, err
}

// load renders the item and loads it as a call would.
func (s *Service) load(ctx context.Context) (*draftProvider, error) {
	s.Text = s.Item.Text()
	it, r, err := s.draftOf(ctx, s.Text)
	if err != nil {
		return nil, err
	}
	fs := append(
		slices.Clone(it.Findings),
		signing.DraftChecker(s.p, r).Check(ctx, it)...,
	)
	err = diag.FromFindings("adding the provider "+s.wish.ID, fs)
	if err != nil {
		return nil, err
	}
	config, fs := provider.Parse(
		it.Ref.ID,
		&tree.Doc{Root: it.Meta.Fields, Pos: it.Meta.Pos},
	)
	err = diag.FromFindings("adding the provider "+s.wish.ID, fs)
	if err != nil {
		return nil, err
	}
	vars := map[string]string{}
	if s.wish.Key != "" {
		vars[s.wish.Key] = s.key
	}
	config.Send, err = s.p.Executor.WithResolver(r).DraftSender(ctx, it, vars)
	return &draftProvider{item: it, config: config}, err
}

// draftProvider is a provider item that is not signed yet, with its calls.
type draftProvider struct {
	item   *resolve.Item
	config *provider.Config
}

// test calls the service and changes the item until it is answered.
func (s *Service) test(
	ctx context.Context,
	found *models.Found,
	confirm func(policy.USD) error,
) error {
	first, err := s.load(ctx)
	if err != nil {
		return err
	}
	s.Report = &Report{Provider: s.Ref, Model: s.Item.Model.ID, Calls: []TryCall{}}
	model, err := first.config.Model(s.Item.Model.ID)
	if err != nil {
		return err
	}
	for _, req := range tryRequests(model) {
		worst, err := first.config.WorstCase(req, nil)
		if err != nil {
			return err
		}
		s.Report.Worst += policy.USD(worst.Amount)
	}
	if err := confirm(s.Report.Worst); err != nil {
		return err
	}
	account, err := openAccount(ctx, s.p, s.Report, contentDigest(first.item))
	if err != nil {
		return err
	}
	call := func(ctx context.Context, it *models.Item, purpose string, req message.Request) (message.Response, []models.Deviation, error) {
		s.Item = it
		d, err := s.load(ctx)
		if err != nil {
			return message.Response{}, nil, err
		}
		var odd []provider.Oddity
		r, err := account.call(
			ctx,
			d.config,
			purpose,
			req,
			func(ctx context.Context, req message.Request) (r message.Response, err error) {
				r, odd, err = d.config.Probe(ctx, req)
				return r, err
			},
		)
		return r, models.Deviations(it, odd), err
	}
	report, err := models.Fit(ctx, s.Item, found, call)
	s.Report.Notes = report.Notes
	if err == nil {
		var last *draftProvider
		if last, err = s.load(ctx); err == nil {
			err = account.owner.SetDigest(ctx, contentDigest(last.item).String())
		}
	}
	if err = account.close(ctx, err); err != nil {
		s.Notes = nil // they are about an item that is not written
		other := models.OtherDialect(ctx, s.Item.Rules, s.wish, s.key)
		if other != "" {
			s.Notes = append(s.Notes, "the service shows itself in the dialect "+other+", and not in "+s.wish.Dialect+": leave out --dialect")
		}
		return err
	}
	if !report.Called && !s.Item.Model.NoTools {
		s.Notes = append(s.Notes, "the model "+s.Item.Model.ID+" answered without calling the tool of the test: it may not be able to do the work of a directive")
	}
	return nil
}

// SignIn has the item signed in p: the same project, opened again with a key that it did not have.
func (s *Service) SignIn(p *project.Project) (err error) {
	s.p = p
	s.root, err = p.Verbs.Target(space.User)
	return err
}

// Write signs the item with the user's key and writes it. replace permits it to replace an
// existing item.
func (s *Service) Write(ctx context.Context, replace bool) error {
	key, err := s.p.Keys.Signer(ctx)
	if err != nil {
		return err
	}
	_, files, err := signing.Files(ctx, s.p, s.root, key, map[string][]byte{s.rel: []byte(s.Text)})
	if err != nil {
		return err
	}
	if replace || s.Exists == Broken {
		return s.root.Write(s.rel, files[s.rel])
	}
	return s.root.Create(s.rel, files[s.rel])
}

// Settle compares the new item with the one that exists. It is an error if that would be
// replaced without being asked for.
func (s *Service) Settle(ctx context.Context, replace bool) error {
	if s.Exists == Absent {
		return nil
	}
	old, err := s.p.Resolver.File(ctx, s.root, s.rel)
	if err == nil {
		body := old.Bytes
		f, serr := sign.SplitFile(old.Bytes, old.Type.Style)
		if serr == nil {
			body = slices.Concat(f.Head, f.Tail)
		}
		if s.Exists == Working && old.Verdict.OK() && string(body) == s.Text {
			s.Exists = Equal
			return nil
		}
		s.Difference = linediff.Unified(s.Path, s.Path, body, []byte(s.Text))
	}
	if replace || s.Exists == Broken {
		return nil
	}
	return diag.New(diag.ValidationFailed, "adding the provider %s: %s exists", s.wish.ID, s.Path).
		WithReason("provider_exists").
		WithDetail("provider", s.wish.ID).
		WithDetail("path", s.Path)
}

// Prefer returns the change of the user's configuration that makes a provider
// the first one of those that threads use, and tier the one of threads that name none; ""
// leaves that. It is nil if nothing changes.
func Prefer(ctx context.Context, p *project.Project, s *modelhost.State, tier string) (*signing.SettingChange, error) {
	cfg, err := p.Resolver.Config(ctx, agentConfig)
	if err != nil {
		return nil, err
	}
	var words []string
	id := strings.TrimPrefix(s.Ref, "tool:")
	have, _ := cfg.Root["providers"].([]any)
	if len(have) == 0 || have[0] != any(id) {
		order := []string{id}
		for _, v := range have {
			if name, _ := v.(string); name != id && name != "" {
				order = append(order, name)
			}
		}
		for i := range order {
			b, err := jsonx.Marshal(order[i]) // YAML too
			if err != nil {
				return nil, err
			}
			order[i] = string(b)
		}
		words = append(words, "providers=["+strings.Join(order, ", ")+"]")
	}
	if tier != "" && cfg.Root["default_tier"] != any(tier) {
		words = append(words, "default_tier="+tier)
	}
	if len(words) == 0 {
		return nil, nil
	}
	return signing.PlanSettings(ctx, p, agentConfig, words)
}
