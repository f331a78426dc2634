// Package setup finds the services of models that a person can use at once: programs with a
// login, services whose key is set, and servers on this machine.
//
// It sends no key, starts no program and writes nothing. An open port alone is not a service:
// a server counts if it answers with a list of models.
package setup

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/threads/models"
)

// Kind states how much of a choice is known.
type Kind string

// The kinds, in the order in which choices are offered.
const (
	Program Kind = "program" // it is installed and has a login
	Key     Kind = "key"     // its key is set
	Server  Kind = "server"  // it answers on this machine
)

// Provider is a provider item, as package project knows it.
type Provider struct {
	ID      string // of the item
	Name    string // its short name
	Keys    []string
	HasKeys bool     // all of Keys are set
	Program string   // that it starts, or ""
	Logins  []string // files of which one must exist
	Address string   // of a server without a key, or ""
	Own     bool     // the person wrote it
	Model   string   // that threads use
	Models  []string
}

// Choice is a service that can be used.
type Choice struct {
	Kind     Kind     `json:"kind"`
	Name     string   `json:"name"`
	Provider string   `json:"provider,omitempty"` // the item that describes it; "" if one must be written
	URL      string   `json:"url,omitempty"`
	Items    []string `json:"items,omitempty"` // provider items for a server, those with a model that it has first
	Title    string   `json:"title"`
	Models   []string `json:"models"`
}

// Params are where services are looked for.
type Params struct {
	Providers []Provider
	URLs      []string // of servers, in addition to the URLs of the providers
	Rules     *models.Rules
	Within    time.Duration // for all questions together
	Offline   bool          // no server is asked
}

// Found has the services that answer, and the ones that were tried.
type Found struct {
	Choices []Choice `json:"choices"`
	Tried   []string `json:"tried"` // in plain words, what cannot be used
}

// Detect looks for services.
func Detect(ctx context.Context, p Params) *Found {
	out := &Found{Choices: []Choice{}, Tried: []string{}}
	for _, s := range p.Providers {
		switch {
		case s.Program == "":
		case len(s.Logins) > 0 && !slices.ContainsFunc(s.Logins, exists):
			out.Tried = append(out.Tried, s.Program+" is installed, without a login")
		default:
			out.Choices = append(out.Choices, Choice{
				Kind:     Program,
				Name:     s.Name,
				Provider: s.ID,
				Title:    s.Program + ", logged in, your subscription",
				Models:   s.Models,
			})
		}
	}
	for _, s := range p.Providers {
		switch keys := strings.Join(s.Keys, " and "); {
		case keys == "":
		case s.HasKeys && s.Program == "":
			out.Choices = append(out.Choices, Choice{
				Kind:     Key,
				Name:     s.Name,
				Provider: s.ID,
				Title:    keys + " is set",
				Models:   s.Models,
			})
		case s.Program == "" && !slices.Contains(out.Tried, keys+" is not set"):
			out.Tried = append(out.Tried, keys+" is not set")
		}
	}
	if !p.Offline {
		out.servers(ctx, p)
	}
	return out
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// servers asks the servers of this machine at once.
func (f *Found) servers(ctx context.Context, p Params) {
	var addresses []string
	byName := map[string]Provider{}
	for _, s := range p.Providers {
		if s.Address == "" {
			continue
		}
		addresses = append(addresses, s.Address)
		if _, ok := byName[s.Address]; s.Own && !ok {
			byName[s.Address] = s
		}
	}
	addresses = append(addresses, p.URLs...)
	slices.Sort(addresses)
	addresses = slices.Compact(addresses)
	within, cancel := context.WithTimeout(ctx, cmp.Or(p.Within, 300*time.Millisecond))
	defer cancel()
	found := make([]*models.Found, len(addresses))
	var asked sync.WaitGroup
	for i, address := range addresses {
		asked.Go(func() {
			s, err := models.Ask(within, p.Rules, models.Wish{URL: address}, "")
			if err == nil && s.Certain {
				found[i] = s
			}
		})
	}
	asked.Wait()
	names := map[string]bool{}
	for i, s := range found {
		host := host(addresses[i])
		if s == nil {
			f.Tried = append(f.Tried, "no service of models answers at "+host)
			continue
		}
		list := s.Names()
		if len(list) == 0 {
			f.Tried = append(f.Tried, cmp.Or(s.Software, "the server")+" at "+host+" has no models")
			continue
		}
		c := Choice{
			Kind:   Server,
			Name:   serverName(s.Software, host),
			URL:    addresses[i],
			Models: list,
		}
		if names[c.Name] {
			c.Name += "-" + port(host)
		}
		if mine, ok := byName[addresses[i]]; ok {
			c.Name = mine.Name
			c.Provider = mine.ID
			c.Models = mine.Models
		}
		names[c.Name] = true
		c.Items = itemsFor(p.Providers, addresses[i], list)
		c.Title = fmt.Sprintf(
			"%s on %s, %s",
			cmp.Or(s.Software, "a server"),
			host,
			count(len(list)),
		)
		f.Choices = append(f.Choices, c)
	}
}

// itemsFor returns the items that name a server, those with a model that it has first.
func itemsFor(all []Provider, address string, list []string) (out []string) {
	for _, withModel := range []bool{true, false} {
		for _, s := range all {
			has := slices.ContainsFunc(s.Models, func(m string) bool {
				return slices.Contains(list, m)
			})
			if s.Address == address && has == withModel {
				out = append(out, s.ID)
			}
		}
	}
	return out
}

func count(n int) string {
	if n == 1 {
		return "1 model"
	}
	return fmt.Sprintf("%d models", n)
}

func host(address string) string {
	u, err := url.Parse(address)
	if err == nil && u.Host != "" {
		return u.Host
	}
	return address
}

func port(host string) string {
	return host[strings.LastIndexByte(host, ':')+1:]
}

// serverName returns the name of a server, which is a segment of an id.
func serverName(software, host string) string {
	if software == "" {
		return "port-" + port(host)
	}
	return strings.NewReplacer(" ", "-", ".", "-").Replace(strings.ToLower(software))
}

// ByName returns the choice that --provider names.
func (f *Found) ByName(name string) (Choice, bool) {
	i := slices.IndexFunc(f.Choices, func(c Choice) bool {
		return c.Name == name || c.Provider != "" && c.Provider == name
	})
	if i < 0 {
		return Choice{}, false
	}
	return f.Choices[i], true
}
