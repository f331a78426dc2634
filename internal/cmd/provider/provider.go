package provider

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/credentials"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/modelhost"
	"github.com/ryeos/rye/threads/modelsetup"
)

func Command() *cli.Command {
	return &cli.Command{
		Name:  "provider",
		Group: "Items",
		Usage: "show model services, and store their keys",
		Subs: []*cli.Command{
			providerListCommand(),
			providerAddCommand(),
			providerPricesCommand(),
			providerTestCommand(),
			providerLoginCommand(),
			providerLogoutCommand(),
		},
	}
}

func providerListCommand() *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "list the providers of models, and whether they can be used here",
		Long: `A provider can be used if its item is trusted, the allowance permits it, and each of its
keys is in the environment or stored. The services of those are asked at once whether
they are there, for at most two seconds and without a key: "answers" or "no answer".
"not tested" is an item of your own or of the project that no test called since it was
written: rye provider test calls it.`,
		Examples: []string{"rye provider list", "rye provider list --offline  # asks no service"},
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			all, err := modelhost.States(ctx, p)
			if err != nil {
				return err
			}
			if all == nil {
				all = []*modelhost.State{}
			}
			if !c.Offline {
				modelhost.Ask(ctx, p, all)
			}
			if err := modelsetup.MarkTested(ctx, p, all); err != nil {
				return err
			}
			modelhost.Describe(all)
			return c.UI.Show(
				map[string]any{"providers": all},
				func() { showProviders(c.UI, all) },
			)
		},
	}
}

func showProviders(u *cli.UI, all []*modelhost.State) {
	if len(all) == 0 {
		u.Note("No providers.")
		return
	}
	t := cli.NewTable("providers")
	for _, s := range all {
		t.Add(providerName(s.Ref), s.State, providerDetail(s))
	}
	u.Table(t)
}

// providerName returns the part of the ref of a provider that names it.
func providerName(ref string) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref, "tool:"), modelhost.Dir)
}

// providerDetail returns the models of a provider that can be used, models of its tiers
// first, or why it cannot be used.
func providerDetail(s *modelhost.State) string {
	if s.State == "key missing" {
		var missing []string
		for _, k := range s.Keys {
			if k.Source == "" {
				missing = append(missing, k.Name)
			}
		}
		return strings.Join(missing, ", ")
	}
	if !s.Usable {
		return s.Why
	}
	var out []string
	for _, tier := range []string{"general", "high", "max", "fast"} {
		m := s.Tiers[tier]
		if m != "" && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	for _, m := range s.Models {
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return strings.Join(out, ", ")
}

func providerPricesCommand() *cli.Command {
	var check bool
	return &cli.Command{
		Name:  "prices",
		Usage: "show the prices of models, with their dates",
		Long: `Prices are part of provider items, in USD for a million tokens. They are never fetched.
config:agent/prices replaces them; a layer of a project can only raise them. A thread
warns if the prices of its model are older than max_age_days of that configuration.`,
		Examples: []string{"rye provider prices", "rye provider prices --check  # fail if one is missing or old"},
		Codes:    []diag.Code{diag.Drift},
		Flags:    []cli.Flag{cli.Bool(&check, "check", "fail if prices are missing, or older than max_age_days (90)")},
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			list, err := modelhost.Prices(ctx, p)
			if err != nil {
				return err
			}
			return runProviderPrices(c, list, check)
		},
	}
}

func runProviderPrices(c *cli.Call, list []modelhost.ModelPrices, check bool) error {
	data := map[string]any{"prices": list}
	bad := slices.ContainsFunc(list, func(m modelhost.ModelPrices) bool {
		return m.Problem != ""
	})
	if !check || !bad {
		return c.UI.Show(data, func() { showPrices(c.UI, list) })
	}
	if !c.UI.AsJSON {
		showPrices(c.UI, list)
	}
	return cli.Shown(diag.New(diag.Drift, "checking prices: some are missing or old"), data)
}

func showPrices(u *cli.UI, list []modelhost.ModelPrices) {
	if len(list) == 0 {
		u.Note("No providers.")
		return
	}
	t := cli.NewTable("prices")
	for _, m := range list {
		t.Add(
			providerName(m.Provider),
			m.Model,
			m.Prices["input"],
			m.Prices["cache_read"],
			m.Prices["cache_write_5m"],
			m.Prices["output"],
			m.AsOf,
			m.Source,
			m.Problem,
		)
		for _, a := range m.Above {
			t.Add(
				"",
				fmt.Sprintf("above %d input tokens", a.InputTokens),
				a.Prices["input"],
				a.Prices["cache_read"],
				a.Prices["cache_write_5m"],
				a.Prices["output"],
				"",
				"",
				"",
			)
		}
	}
	u.Table(t)
}

func providerLoginCommand() *cli.Command {
	return &cli.Command{
		Name:  "login",
		Args:  "NAME",
		Usage: "store the key of a provider",
		Long: `NAME is a provider of rye provider list, or the name of a variable such as
ANTHROPIC_API_KEY. The key is read without echo at a terminal, else from standard input,
and stored in credentials.toml in your configuration directory, which only you can read.
A variable of the environment is used before a stored key.`,
		Examples: []string{"rye provider login anthropic", "rye provider login ANTHROPIC_API_KEY < key.txt"},
		Codes:    []diag.Code{diag.ToolNotFound, diag.ValidationFailed, diag.ConfigError},
		Run:      runProviderLogin,
	}
}

func runProviderLogin(ctx context.Context, c *cli.Call) error {
	e := env.Of(c)
	names, err := keyNames(ctx, e, c.Args[0])
	if err != nil {
		return err
	}
	if e.Person.Secret == nil && len(names) > 1 {
		return diag.New(diag.Usage, "storing a key: %s has several keys: name one of %s", c.Args[0], strings.Join(names, ", "))
	}
	keys := e.Keys()
	for _, name := range names {
		value, err := readKey(c, e, name)
		if err != nil {
			return err
		}
		if err := keys.Store(ctx, name, value); err != nil {
			return err
		}
		if credentials.Short(value) {
			c.UI.Warn("the key %s is shorter than 8 characters: it is used, and not hidden in logs", name)
		}
		if c.Getenv(name) != "" {
			c.UI.Warn("%s is in the environment too, and that value is used", name)
		}
	}
	path := filepath.Join(keys.Dir, credentials.File)
	return c.UI.Show(
		map[string]any{"stored": names, "path": path},
		func() {
			c.UI.Out("stored %s in %s", strings.Join(names, ", "), path)
		},
	)
}

// keyNames returns the names of the keys of a provider, or the name of one key.
func keyNames(ctx context.Context, e *project.Env, name string) ([]string, error) {
	if credentials.IsName(name) && strings.ToUpper(name) == name {
		return []string{name}, nil
	}
	p, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return nil, err
	}
	s, err := modelhost.StateOf(ctx, p, name)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, k := range s.Keys {
		out = append(out, k.Name)
	}
	if len(out) == 0 {
		return nil, diag.New(diag.ConfigError, "finding the keys of %s: it needs none", s.Ref)
	}
	return out, nil
}

// maxKeyInput bounds what is read of standard input.
const maxKeyInput = 64 << 10

// readKey reads a key without echo, or from standard input if that is not a terminal.
func readKey(c *cli.Call, e *project.Env, name string) (string, error) {
	var b []byte
	var err error
	if e.Person.Secret != nil {
		if b, err = e.Person.Secret(name + " (not shown): "); err != nil {
			return "", err
		}
	} else if b, err = io.ReadAll(io.LimitReader(c.Stdin, maxKeyInput)); err != nil {
		return "", diag.Doing("reading the key "+name, err)
	}
	value := strings.TrimRight(string(b), "\r\n")
	if value == "" {
		if e.Person.Secret != nil {
			return "", diag.New(diag.Usage, "reading the key %s: nothing was typed; nothing is stored", name)
		}
		return "", diag.New(diag.Usage, "reading the key %s: standard input has no key: write it there, or run the command at a terminal", name)
	}
	if strings.HasPrefix(strings.TrimPrefix(value, "export "), name+"=") {
		return "", diag.New(diag.Usage, "reading the key %s: it begins with the name of the variable: type the key alone; nothing is stored", name)
	}
	return value, nil
}

func providerLogoutCommand() *cli.Command {
	return &cli.Command{
		Name:     "logout",
		Args:     "NAME",
		Usage:    "remove the stored key of a provider",
		Long:     "Removes the key from your credentials.toml. A variable of the environment stays, and the service still accepts the key.",
		Examples: []string{"rye provider logout anthropic"},
		Codes:    []diag.Code{diag.ToolNotFound, diag.ConfigError},
		Run: func(ctx context.Context, c *cli.Call) error {
			e := env.Of(c)
			names, err := keyNames(ctx, e, c.Args[0])
			if err != nil {
				return err
			}
			removed := []string{}
			for _, name := range names {
				existed, err := e.Keys().Remove(ctx, name)
				if err != nil {
					return err
				}
				if existed {
					removed = append(removed, name)
				}
			}
			return c.UI.Show(map[string]any{"removed": removed}, func() {
				if len(removed) == 0 {
					c.UI.Note("%s is not stored", strings.Join(names, ", "))
					return
				}
				c.UI.Out("removed %s", strings.Join(removed, ", "))
			})
		},
	}
}
