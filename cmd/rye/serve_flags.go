package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/mcpserve"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
)

// serveAddress is where HTTP is served when nothing but a port is named.
const serveAddress = "127.0.0.1"

// listenAddress completes a port to an address of this machine only.
func listenAddress(s string) string {
	if s != "" && strings.Trim(s, "0123456789") == "" {
		return net.JoinHostPort(serveAddress, s)
	}
	return s
}

// checkAddress refuses what no server can listen on, whatever the machine.
func checkAddress(s string) error {
	_, port, err := net.SplitHostPort(listenAddress(s))
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return diag.New(diag.Usage, "reading flag --http: %q is no port and no HOST:PORT", s).
			WithHint("name a port up to 65535 or HOST:PORT, such as --http 7333 or --http %s:7333", serveAddress)
	}
	return nil
}

// listenHint says what to change when nobody can be served at an address.
func listenHint(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "another program serves there: name another port with --http, or --http 0 for any that is free"
	case errors.Is(err, fs.ErrPermission):
		return "this port is for the administrator of the machine: name one above 1023 with --http"
	}
	return "name a free port of this machine with --http, such as 7333, or HOST:PORT"
}

// warner tells the person who starts a server when it offers nothing.
type warner struct {
	mcpserve.Verbs
	ui *cli.UI
}

// Definitions is that of the verbs.
func (w warner) Definitions(ctx context.Context) (*agent.Definitions, error) {
	defs, err := w.Verbs.Definitions(ctx)
	if err == nil && len(defs.Tools) == 0 {
		w.ui.Warn("this server offers no tool: --capabilities and the configuration agent/mcp have no verb in common; rye config show agent/mcp")
	}
	return defs, err
}

// capabilityList reads what --capabilities names; nil when it names nothing.
func capabilityList(lists []string) (policy.Set, error) {
	var out policy.Set
	var errs []error
	for word := range strings.SplitSeq(strings.Join(lists, ","), ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		capability, err := readCapability(word)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, capability)
	}
	if len(lists) > 0 && len(out) == 0 && len(errs) == 0 {
		return nil, diag.New(diag.Usage, "reading flag --capabilities: it names nothing").WithHint("name verbs: search,load,execute,sign")
	}
	return out, diag.Join("reading flag --capabilities", errs)
}

// readCapability reads a verb or a capability. A verb that no server knows
// would offer nothing, and nobody would learn why.
func readCapability(word string) (policy.Cap, error) {
	if !strings.HasPrefix(word, "rye.") {
		if !slices.Contains(agentVerbs(), word) {
			return "", noVerb(word, word)
		}
		word = "rye." + word + ".*"
	}
	capability, err := policy.Parse(word)
	if err != nil {
		return "", err
	}
	verb, _, _ := strings.Cut(strings.TrimPrefix(word, "rye."), ".")
	known := func(v string) bool { return policy.Cap("rye." + verb).Covers(policy.Cap("rye." + v)) } // it may be a pattern
	if !slices.ContainsFunc(agentVerbs(), known) {
		return "", noVerb(word, verb)
	}
	return capability, nil
}

func noVerb(word, verb string) error {
	e := diag.New(diag.Usage, "reading capability %q: %q is none of the verbs %s", word, verb, strings.Join(agentVerbs(), ", "))
	if near := cli.Nearest(verb, agentVerbs()); near != "" {
		return e.WithHint("did you mean %s?", near)
	}
	return e.WithHint("name verbs, such as search,load, or capabilities, such as rye.execute.tool.gh.*")
}

func agentVerbs() []string {
	return []string{string(policy.Search), string(policy.Load), string(policy.Execute), string(policy.Sign), string(policy.Draft)}
}
