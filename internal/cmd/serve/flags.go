package serve

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
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/mcpserve"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary/agent"
)

// serveAddress is the default host of --http.
const serveAddress = "127.0.0.1"

// listenAddress adds the default host to a port.
func listenAddress(s string) string {
	if s != "" && strings.Trim(s, "0123456789") == "" {
		return net.JoinHostPort(serveAddress, s)
	}
	return s
}

// checkAddress returns an error if s is not a port or HOST:PORT.
func checkAddress(s string) error {
	_, port, err := net.SplitHostPort(listenAddress(s))
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return diag.New(diag.Usage, "reading flag --http: %q is not a port or HOST:PORT", s).WithReason("address")
	}
	return nil
}

// listenReason returns the reason of an error of listening, for its hint.
func listenReason(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "port_in_use"
	case errors.Is(err, fs.ErrPermission):
		return "port_privileged"
	}
	return "address"
}

// toolsWarner warns the user who starts a server that offers no tools, or not all
// that the project declares.
type toolsWarner struct {
	mcpserve.Verbs
	ui *cli.UI
}

// Definitions returns the definitions of the verbs.
func (w toolsWarner) Definitions(ctx context.Context) (*agent.Definitions, error) {
	defs, err := w.Verbs.Definitions(ctx)
	if err == nil && len(defs.Tools) == 0 {
		w.ui.Warn("this server offers no tool: --capabilities and the configuration agent/mcp have no verb in common (rye config show agent/mcp)")
	}
	if err == nil {
		for _, why := range defs.Refused {
			w.ui.Warn("a text or kind of the project is not offered: %s", why)
		}
	}
	return defs, err
}

// parseCapabilities parses the values of --capabilities. An empty list is nil.
func parseCapabilities(words []string) (policy.Set, error) {
	if len(words) > glob.MaxPatterns {
		return nil, diag.New(diag.Usage, "reading flag --capabilities: %d patterns, more than %d", len(words), glob.MaxPatterns)
	}
	var out policy.Set
	var errs []error
	for _, word := range words {
		capability, err := parseCapability(word)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, capability)
	}
	return out, diag.Join("reading flag --capabilities", errs)
}

// parseCapability parses a verb or a capability. An unknown verb is an error: the
// server would offer nothing without a message.
func parseCapability(word string) (policy.Cap, error) {
	if !strings.HasPrefix(word, "rye.") {
		if !slices.Contains(agentVerbs(), word) {
			return "", unknownVerb(word, word)
		}
		word = "rye." + word + ".*"
	}
	capability, err := policy.Parse(word)
	if err != nil {
		return "", err
	}
	verb, _, _ := strings.Cut(strings.TrimPrefix(word, "rye."), ".")
	known := func(v string) bool {
		return policy.Cap("rye." + verb).Covers(policy.Cap("rye." + v))
	} // it may be a pattern
	if !slices.ContainsFunc(agentVerbs(), known) {
		return "", unknownVerb(word, verb)
	}
	return capability, nil
}

func unknownVerb(word, verb string) error {
	e := diag.New(diag.Usage, "reading capability %q: %q is not one of the verbs %s", word, verb, strings.Join(agentVerbs(), ", "))
	if near := cli.Nearest(verb, agentVerbs()); near != "" {
		return e.WithReason("nearest").WithDetail("nearest", near)
	}
	return e.WithReason("capabilities")
}

func agentVerbs() []string {
	return []string{
		string(policy.Search),
		string(policy.Load),
		string(policy.Execute),
		string(policy.Sign),
		string(policy.Draft),
	}
}
