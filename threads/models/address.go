package models

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/provider"
)

// Address is where a service is. It is made of a URL that a person has: of the host, of
// an API root such as /v1, or of one endpoint.
type Address struct {
	Host    string // scheme, host and port, such as http://127.0.0.1:8000
	Base    string // path without the endpoint and a trailing slash, such as /v1; "" for the root
	Dialect string // of the endpoint that the URL names, "" if it names none
	// Private is the host if it is an address that is not public: an item has to permit it.
	Private string
}

// endpoint is the end of a path that belongs to one dialect.
type endpoint struct {
	end     string
	dialect string // "" for an endpoint that several dialects have
}

// endpoints are the ends of paths that are recognised. A longer one comes first.
func endpoints() []endpoint {
	return []endpoint{
		{"/chat/completions", provider.Chat},
		{"/completions", ""},
		{"/responses", provider.Responses},
		{"/messages/count_tokens", provider.Anthropic},
		{"/messages", provider.Anthropic},
		{"/api/chat", provider.Ollama},
		{"/api/generate", provider.Ollama},
		{"/api/tags", provider.Ollama},
		{"/models", ""},
	}
}

// ParseAddress parses the URL of a service. Without a scheme it is https, or http for a
// host of this machine or of a private network.
func ParseAddress(text string) (*Address, error) {
	full := text
	if !strings.Contains(text, "://") {
		full = "https://" + text
		u, err := url.Parse(full)
		if err == nil && isLocal(u.Hostname()) {
			full = "http://" + text
		}
	}
	u, err := url.Parse(full)
	if err != nil ||
		u.Hostname() == "" ||
		u.Scheme != "http" && u.Scheme != "https" ||
		u.User != nil {
		return nil, diag.New(diag.Usage, "adding a provider: %q is not the address of a service, with http or https and without a user", shownURL(text))
	}
	gemini, end, isGemini := strings.Cut(u.Path, "/models/")
	isGemini = isGemini && strings.Contains(end, ":")
	if u.RawQuery != "" && !(isGemini && u.RawQuery == "alt=sse") ||
		strings.ContainsAny(u.Path, "{}$") {
		return nil, diag.New(diag.Usage, "adding a provider: the address %q has a query or a template; a provider item that is written by hand can have them", shownURL(text))
	}
	a := &Address{}
	host := u.Hostname()
	if host == "localhost" {
		host = "127.0.0.1" // an item permits addresses one by one
	}
	authority := host
	switch {
	case u.Port() != "":
		authority = net.JoinHostPort(host, u.Port())
	case strings.Contains(host, ":"):
		authority = "[" + host + "]"
	}
	a.Host = u.Scheme + "://" + authority
	if isLocal(host) {
		a.Private = host
	}
	a.Base = strings.TrimRight(u.EscapedPath(), "/")
	if isGemini {
		a.Base = strings.TrimRight(gemini, "/")
		a.Dialect = provider.Gemini
		return a, nil
	}
	for _, e := range endpoints() {
		base, found := strings.CutSuffix(a.Base, e.end)
		if found {
			a.Base = strings.TrimRight(base, "/")
			a.Dialect = e.dialect
			break
		}
	}
	return a, nil
}

// shownURL returns an address without a user, for messages.
func shownURL(text string) string {
	if before, after, found := strings.Cut(text, "@"); found {
		scheme, _, _ := strings.Cut(before, "://")
		return scheme + "://…@" + after
	}
	return text
}

// isLocal reports whether a host is this machine or an address of a private network.
func isLocal(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsLoopback() || ip.IsPrivate())
}

// version returns the last part of a path if it is one such as /v1, /v1beta or the end of
// /api/paas/v4; else "".
func version(path string) string {
	at := strings.LastIndexByte(path, '/')
	if at < 0 ||
		len(path) < at+3 ||
		path[at+1] != 'v' ||
		path[at+2] < '0' ||
		path[at+2] > '9' {
		return ""
	}
	return path[at:]
}

// roots returns the paths below which the endpoints of the dialects of OpenAI and
// Anthropic may be, the most probable first.
func (a *Address) roots() []string {
	switch {
	case a.Base == "":
		return []string{"/v1", ""}
	case version(a.Base) != "":
		return []string{a.Base}
	}
	return []string{a.Base, a.Base + "/v1"}
}

// ollamaRoot returns the path below which Ollama has /api.
func (a *Address) ollamaRoot() string {
	return strings.TrimSuffix(strings.TrimSuffix(a.Base, version(a.Base)), "/api")
}

// geminiRoot returns the path below which the Gemini API has /models.
func (a *Address) geminiRoot() string {
	if version(a.Base) != "" {
		return a.Base
	}
	return a.Base + "/v1beta"
}

// Endpoint returns the address to which calls in a dialect go. root is the path of the
// API, as roots returns it.
func (a *Address) Endpoint(dialect, root string) string {
	switch dialect {
	case provider.Gemini:
		return a.Host + a.geminiRoot() + "/models/{model}:streamGenerateContent?alt=sse"
	case provider.Ollama:
		return a.Host + a.ollamaRoot() + "/api/chat"
	case provider.Responses:
		return a.Host + root + "/responses"
	case provider.Anthropic:
		return a.Host + root + "/messages"
	}
	return a.Host + root + "/chat/completions"
}
