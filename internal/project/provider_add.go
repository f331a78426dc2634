package project

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/credentials"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/threads/provider"
)

// agentConfig is the configuration with the order of the providers.
const agentConfig = "agent/agent"

// NewProvider describes a provider item to write.
type NewProvider struct {
	ID, URL, Dialect, Model string
	Window, MaxOutput       int
	InputPrice, OutputPrice string // USD for a million tokens; "" for a server of this machine is 0
	Key                     string // the variable with the key, "" if the service needs none
}

// AddedProvider is a provider item that is not written yet.
type AddedProvider struct {
	Ref  string `json:"ref"`
	Path string `json:"path"`
	Text string `json:"text"`

	root *space.Root
	rel  string
}

// PlanProvider returns the item of the user for a service that speaks a known dialect.
// It writes nothing.
func (p *Project) PlanProvider(n NewProvider) (*AddedProvider, error) {
	ref, err := item.ParseRef(n.ID, item.Tool)
	if err != nil || ref.Kind != item.Tool {
		return nil, diag.New(diag.Usage, "adding a provider: %q is not an id of a tool, such as acme/vllm", n.ID)
	}
	text, err := n.text(ref)
	if err != nil {
		return nil, err
	}
	doc, found := yamlx.Parse([]byte(text))
	if !diag.Failed(found) {
		_, found = provider.Parse(ref.ID, doc)
	}
	if err := diag.FromFindings("adding the provider "+ref.ID, found); err != nil {
		return nil, err
	}
	root, err := p.Verbs.Target(space.User)
	if err != nil {
		return nil, err
	}
	a := &AddedProvider{Ref: ref.String(), Text: text, root: root, rel: "tools/" + ref.ID + ".yaml"}
	a.Path = root.Display(a.rel)
	if root.Exists(a.rel) {
		return nil, diag.New(diag.ValidationFailed, "adding the provider %s: %s exists", ref.ID, a.Path)
	}
	return a, nil
}

// WriteProvider signs the item with the user's key and writes it.
func (p *Project) WriteProvider(ctx context.Context, a *AddedProvider) error {
	key, err := p.Signer(ctx)
	if err != nil {
		return err
	}
	_, files, err := p.SignFiles(ctx, a.root, key, map[string][]byte{a.rel: []byte(a.Text)})
	if err != nil {
		return err
	}
	return a.root.Create(a.rel, files[a.rel])
}

// text renders the item.
func (n *NewProvider) text(ref item.Ref) (string, error) {
	u, private, err := n.address()
	if err != nil {
		return "", err
	}
	if n.InputPrice == "" && n.OutputPrice == "" && private != "" {
		n.InputPrice, n.OutputPrice = "0", "0"
	}
	if n.InputPrice == "" || n.OutputPrice == "" {
		return "", diag.New(diag.Usage, "adding the provider %s: without prices its spend cannot be limited: give --input-price and --output-price in USD for a million tokens", ref.ID)
	}
	if n.Key != "" && !credentials.IsName(n.Key) {
		return "", diag.New(diag.Usage, "adding the provider %s: %q is not the name of a variable", ref.ID, n.Key)
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("version: \"1.0.0\"\ntool_type: provider\nexecutor_id: rye/core/primitives/http_client")
	if c := ref.Category(); c != "" {
		line("category: %s", quoted(c))
	}
	line("description: %s", quoted("Models of "+u.Host+"."))
	if n.Key != "" {
		line("env_config: {pass: [%s]}", n.Key)
	}
	line("config:\n  method: POST\n  url: %s", quoted(u.String()))
	if auth := n.auth(); auth != "" {
		line("%s", auth)
	}
	line("  body: \"{request}\"\n  mode: stream\n  framing: sse\n  sinks: [\"null\"]\n  redirects: 0\n  max_bytes: 67108864\n  timeout: 1800\n  idle_timeout: 300")
	if private != "" {
		line("  allow_private: [%s]", quoted(private))
	}
	line("provider:\n  dialect: %s", quoted(n.Dialect))
	if n.Key != "" {
		line("  keys: [%s]", n.Key)
	}
	line("  tiers: {fast: %s, general: %[1]s}", quoted(n.Model))
	if n.Dialect == provider.Chat {
		line("  body: {add: {stream_options: {include_usage: true}}}")
	}
	line("  prices_as_of: %s", quoted(time.Now().UTC().Format(time.DateOnly)))
	line("  models:\n    %s: {window: %d, max_output: %d, input: [text], prices: {input: %s, output: %s}}",
		quoted(n.Model), n.Window, n.MaxOutput, quoted(n.InputPrice), quoted(n.OutputPrice))
	return b.String(), nil
}

// quoted renders a text as JSON, which is YAML too.
func quoted(s string) string {
	b, _ := jsonx.Marshal(s) // a text has no error
	return string(b)
}

// auth renders how a dialect sends its key.
func (n *NewProvider) auth() string {
	switch {
	case n.Dialect == provider.Anthropic && n.Key != "":
		return "  auth: {type: api_key, header: x-api-key, key: \"${" + n.Key + "}\"}\n  headers: {anthropic-version: \"2023-06-01\"}"
	case n.Dialect == provider.Anthropic:
		return "  headers: {anthropic-version: \"2023-06-01\"}"
	case n.Key != "":
		return "  auth: {type: bearer, token: \"${" + n.Key + "}\"}"
	}
	return "" // a service without a key
}

// address completes the URL by the path of the dialect. private is the address if it is
// not public, which the item has to name.
func (n *NewProvider) address() (u *url.URL, private string, err error) {
	u, err = url.Parse(n.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return nil, "", diag.New(diag.Usage, "adding a provider: %q is not the address of a service, with http or https and without a query", n.URL)
	}
	end := map[string]string{provider.Chat: "/chat/completions", provider.Responses: "/responses", provider.Anthropic: "/messages"}[n.Dialect]
	path := strings.TrimRight(u.Path, "/")
	switch {
	case strings.HasSuffix(path, end):
	case path == "":
		path = "/v1" + end
	default:
		path += end
	}
	u.Path = path
	host := u.Hostname()
	if host == "localhost" {
		host = "127.0.0.1"
		u.Host = net.JoinHostPort(host, u.Port())
		if u.Port() == "" {
			u.Host = host
		}
	}
	if ip, err := netip.ParseAddr(host); err == nil && (ip.IsLoopback() || ip.IsPrivate()) {
		private = host
	}
	return u, private, nil
}

// PreferProvider returns the change of the user's configuration that makes a provider
// the first one of those that threads use. It is nil if it is the first one already.
func (p *Project) PreferProvider(ctx context.Context, s *ProviderState) (*SettingChange, error) {
	cfg, err := p.Resolver.Config(ctx, agentConfig)
	if err != nil {
		return nil, err
	}
	id := strings.TrimPrefix(s.Ref, "tool:")
	order := []string{id}
	have, _ := cfg.Root["providers"].([]any)
	for i, v := range have {
		name, _ := v.(string)
		if name == id && i == 0 {
			return nil, nil
		}
		if name != id && name != "" {
			order = append(order, name)
		}
	}
	for i := range order {
		order[i] = quoted(order[i])
	}
	return p.PlanSettings(ctx, agentConfig, []string{"providers=[" + strings.Join(order, ", ") + "]"})
}

// LocalProviders returns the usable providers of this machine, without a key, whose
// server answers.
func LocalProviders(ctx context.Context, all []*ProviderState) (out []*ProviderState) {
	for _, s := range all {
		addr := s.localAddress()
		if !s.Usable || addr == "" || len(s.Keys) > 0 {
			continue
		}
		d := net.Dialer{Timeout: 200 * time.Millisecond}
		if c, err := d.DialContext(ctx, "tcp", addr); err == nil {
			c.Close()
			out = append(out, s)
		}
	}
	return out
}

// localAddress returns the host and port of this machine that the item names, or "".
func (s *ProviderState) localAddress() string {
	const host = "127.0.0.1:"
	env, _ := s.item.Meta.Fields["env_config"].(map[string]any)
	texts := []string{fmt.Sprint(env["env"]), fmt.Sprint(s.item.Meta.Fields["config"])}
	for _, text := range texts {
		if _, after, ok := strings.Cut(text, "//"+host); ok {
			digits := after[:len(after)-len(strings.TrimLeft(after, "0123456789"))]
			return host + digits
		}
	}
	return ""
}
