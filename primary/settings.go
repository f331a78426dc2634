package primary

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// SettingsID names the configuration of what a surface for agents shows and
// allows.
const SettingsID = "agent/mcp"

// SignMode says whether a client of a surface may sign.
type SignMode string

// The modes, from the loosest to the tightest.
const (
	SignAgent SignMode = "agent" // with the agent's key
	SignAsk   SignMode = "ask"   // the same, after a person said yes
	SignDeny  SignMode = "deny"
)

// signModes lists them in that order.
func signModes() []SignMode { return []SignMode{SignAgent, SignAsk, SignDeny} }

// Settings is the configuration SettingsID, with what layers may not widen
// worked out.
type Settings struct {
	Instructions string
	Directions   string // said before the text of a directive
	Sign         SignMode
	Caller       policy.Set
}

// ReadSettings merges the layers of SettingsID. Texts are overridden as in any
// configuration. What is allowed is different: the layers of the system and of
// the user's own items override each other, a layer of the project or of a
// bundle only takes away. allowed stands for the former when it is not nil:
// what the person who starts a server names.
func ReadSettings(ctx context.Context, r *resolve.Resolver, allowed policy.Set) (*Settings, error) {
	cfg, err := r.Config(ctx, SettingsID)
	if err != nil {
		return nil, err
	}
	s := &Settings{Sign: SignDeny}
	s.Instructions, _ = cfg.Root["instructions"].(string)
	s.Directions, _ = cfg.Root["your_directions"].(string)
	var errs []error
	narrowing := []*resolve.Item{}
	for _, layer := range cfg.Layers {
		if layer.Root.Space == space.Project || layer.Root.Bundled() && !layer.Root.Embedded() {
			narrowing = append(narrowing, layer)
			continue
		}
		errs = append(errs, s.widen(layer))
	}
	if allowed != nil {
		s.Caller = allowed
	}
	for _, layer := range narrowing {
		errs = append(errs, s.narrow(layer))
	}
	return s, diag.Join("reading "+cfg.Ref.String(), slices.DeleteFunc(errs, func(err error) bool { return err == nil }))
}

func (s *Settings) widen(layer *resolve.Item) error {
	mode, caps, err := allowances(layer)
	if mode != "" {
		s.Sign = mode
	}
	if caps != nil {
		s.Caller = caps
	}
	return err
}

func (s *Settings) narrow(layer *resolve.Item) error {
	mode, caps, err := allowances(layer)
	if caps == nil {
		caps = s.Caller
	}
	s.Within(&Settings{Sign: mode, Caller: caps})
	return err
}

// Within takes away what others do not allow: those of the server's own project
// hold in every project that it is asked to work in.
func (s *Settings) Within(others *Settings) {
	if slices.Index(signModes(), others.Sign) > slices.Index(signModes(), s.Sign) {
		s.Sign = others.Sign
	}
	s.Caller = policy.Narrow(s.Caller, others.Caller)
}

// allowances reads what one layer says; "" and nil when it says nothing.
func allowances(layer *resolve.Item) (SignMode, policy.Set, error) {
	var fs []diag.Finding
	fail := func(key, format string, args ...any) {
		at := layer.Meta.Pos[key]
		f := diag.Errorf(diag.ConfigError, at.Line, at.Column, format, args...)
		f.Path = layer.Path()
		fs = append(fs, f)
	}
	text, isText := layer.Meta.Fields["sign"].(string)
	mode := SignMode(text)
	if layer.Meta.Fields["sign"] != nil && (!isText || !slices.Contains(signModes(), mode)) {
		fail("sign", "sign must be agent, ask or deny")
		mode = ""
	}
	var caps policy.Set
	if list := layer.Meta.Fields["capabilities"]; list != nil {
		texts, ok := list.([]any)
		if caps = (policy.Set{}); !ok {
			fail("capabilities", "capabilities must be a list of capabilities such as rye.execute.tool.gh.*")
		}
		for _, v := range texts {
			word, _ := v.(string)
			c, err := policy.Parse(word)
			if err != nil {
				fail("capabilities", "%s", err)
				continue
			}
			caps = append(caps, c)
		}
	}
	return mode, caps, diag.FromFindings("reading "+layer.Path(), fs)
}

// refOf returns a surface's item of the verb.
func verbRef(name string) item.Ref { return item.Ref{Kind: item.Tool, ID: "rye/primary/" + name} }
