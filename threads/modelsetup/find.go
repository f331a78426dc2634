package modelsetup

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/setup"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/threads/modelhost"
	"github.com/ryeos/rye/threads/models"
)

// FindServices looks for the services of models that the user can use at once.
func FindServices(ctx context.Context, p *project.Project, all []*modelhost.State) (*setup.Found, error) {
	settings, err := p.Resolver.Config(ctx, models.RulesConfig)
	if err != nil {
		return nil, err
	}
	rules, err := models.ReadRules(settings.Root)
	if err != nil {
		return nil, err
	}
	agent, err := p.Resolver.Config(ctx, agentConfig)
	if err != nil {
		return nil, err
	}
	tier, _ := agent.Root["default_tier"].(string)
	in := setup.Params{
		URLs:    rules.Local,
		Rules:   rules,
		Within:  rules.LocalWait,
		Offline: p.Env.Offline,
	}
	order, _ := agent.Root["providers"].([]any)
	first := func(s *modelhost.State) int {
		i := slices.Index(order, any(strings.TrimPrefix(s.Ref, "tool:")))
		if i >= 0 {
			return i
		}
		return len(order)
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *modelhost.State) int {
		return first(a) - first(b)
	})
	for _, s := range all {
		if s.Config == nil ||
			!s.Usable && (len(s.Config.Keys) == 0 || s.Status() != "key missing") {
			continue
		}
		id := strings.TrimPrefix(s.Ref, "tool:")
		one := setup.Provider{
			ID:      id,
			Name:    strings.TrimPrefix(id, modelhost.Dir),
			HasKeys: s.Usable,
			Own:     s.Space == string(space.User),
			Model:   s.Tiers[tier],
			Models:  s.Models,
		}
		for _, k := range s.Keys {
			one.Keys = append(one.Keys, k.Name)
		}
		if s.Config.Program != nil {
			one.Program = s.Config.Program.Command[0]
			one.Logins = logins(s, p.Env.Home())
		}
		if len(one.Keys) == 0 && one.Program == "" {
			one.Address = serverAddress(s, p.Env.Getenv)
		}
		in.Providers = append(in.Providers, one)
	}
	return setup.Detect(ctx, in), nil
}

// logins returns the files with the login of a program: the files of the home directory that its
// item names.
func logins(s *modelhost.State, home string) (out []string) {
	if home == "" {
		return nil
	}
	stated, _ := s.Item.Confinement()
	if stated.Profile.Read == nil {
		return nil
	}
	for _, path := range *stated.Profile.Read {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			out = append(out, filepath.Join(home, filepath.FromSlash(rest)))
		}
	}
	return out
}

// serverPattern matches the address of a server as an item names it: of a variable with a default,
// or of this machine.
func serverPattern() *regexp.Regexp {
	return regexp.MustCompile(`\$\{([A-Za-z0-9_]+):-(https?://[^}/]+)\}|(http://127\.0\.0\.1:[0-9]+)`)
}

// serverAddress returns the address of the server on this machine that an item names, or "". A
// variable that the user set replaces it.
func serverAddress(s *modelhost.State, getenv func(string) string) string {
	var texts []string
	env, _ := s.Item.Meta.Fields["env_config"].(map[string]any)
	values, _ := env["env"].(map[string]any)
	for _, v := range values {
		text, _ := v.(string)
		texts = append(texts, text)
	}
	config, _ := s.Item.Meta.Fields["config"].(map[string]any)
	address, _ := config["url"].(string)
	pattern := serverPattern()
	for _, text := range append(texts, address) {
		m := pattern.FindStringSubmatch(text)
		switch {
		case m == nil:
		case m[1] != "" && getenv(m[1]) != "":
			return strings.TrimSuffix(getenv(m[1]), "/")
		case strings.HasPrefix(m[2], "http://127.0.0.1:"):
			return m[2]
		case m[3] != "":
			return m[3]
		}
	}
	return ""
}
