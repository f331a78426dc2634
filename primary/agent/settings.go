package agent

import (
	"context"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/glob"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// SettingsID is the id of the configuration of what agents see and may do.
const SettingsID = "agent/mcp"

// SignMode states whether an agent may sign.
type SignMode string

// The modes, from the most permissive to the most restrictive.
const (
	SignAgent SignMode = "agent" // with the agent's key
	SignAsk   SignMode = "ask"   // the same, after the user confirmed it
	SignDeny  SignMode = "deny"
)

func signModes() []SignMode {
	return []SignMode{SignAgent, SignAsk, SignDeny}
}

// Settings is the merged configuration SettingsID without its permissions. The zero
// value permits no signature once Sign is SignDeny.
type Settings struct {
	Instructions string
	Directions   string // precede the text of a directive
	Sign         SignMode
}

// ReadSettings merges the layers of SettingsID. Texts are overridden as in any
// configuration. Permissions are not: layers of the system and of the user's own
// items override each other, and each layer of the project or of a bundle only
// narrows them, as one more grant. If allowed is not nil it replaces the
// capabilities of the former: the user named it when starting the server.
func ReadSettings(
	ctx context.Context,
	r *resolve.Resolver,
	allowed policy.Set,
) (*Settings, policy.Held, error) {
	cfg, err := r.Config(ctx, SettingsID)
	if err != nil {
		return nil, nil, err
	}
	s := &Settings{Sign: SignDeny}
	s.Instructions, _ = cfg.Root["instructions"].(string)
	s.Directions, _ = cfg.Root["your_directions"].(string)
	first := policy.Grant{Source: serverSource}
	var errs []error
	var narrowing []*resolve.Item
	for _, layer := range cfg.Layers {
		if layer.Root.Space == space.Project ||
			layer.Root.Bundled() && !layer.Root.Embedded() {
			narrowing = append(narrowing, layer)
			continue
		}
		mode, caps, err := permissions(layer)
		if mode != "" {
			s.Sign = mode
		}
		if caps != nil {
			first.Caps = caps
		}
		errs = append(errs, err)
	}
	if allowed != nil {
		first.Caps = allowed
		first.Source = serverSource + " --capabilities"
	}
	held := policy.Held{first}
	// The order of layers is system, user, project: narrowing must come after
	// every layer that may widen, and after allowed.
	for _, layer := range narrowing {
		mode, caps, err := permissions(layer)
		if caps != nil {
			held = held.
				With(policy.Grant{Caps: caps, Source: layer.Ref.String() + " in " + layer.Root.Label()})
		}
		s.Within(&Settings{Sign: mode})
		errs = append(errs, err)
	}
	return s, held, diag.Join("reading "+cfg.Ref.String(), slices.DeleteFunc(errs, func(err error) bool { return err == nil }))
}

// serverSource names the grant of a server.
const serverSource = "server:rye serve"

// Within narrows s to what bound permits. A server applies the settings of its
// own project to every other project that it opens.
func (s *Settings) Within(bound *Settings) {
	if slices.Index(signModes(), bound.Sign) > slices.Index(signModes(), s.Sign) {
		s.Sign = bound.Sign
	}
}

// permissions returns the sign mode and the capabilities of one layer; "" and
// nil if it does not set them.
func permissions(layer *resolve.Item) (SignMode, policy.Set, error) {
	r := tree.NewReader(
		&tree.Doc{Root: layer.Meta.Fields, Pos: layer.Meta.Pos},
		diag.ConfigError,
	)
	mode := r.Enum("sign", "", string(SignAgent), string(SignAsk), string(SignDeny))
	var caps policy.Set
	if r.Has("capabilities") {
		caps = policy.Set{} // not nil: an invalid list permits nothing
		r.Texts("capabilities", func(s string) error {
			c, err := policy.Parse(s)
			if err == nil {
				caps = append(caps, c)
			}
			return err
		})
	}
	fs := r.Findings()
	if len(caps) > glob.MaxPatterns {
		caps, fs = policy.Set{}, append(fs, diag.Errorf(
			diag.ConfigError,
			0,
			0,
			"capabilities has %d patterns, more than %d",
			len(caps),
			glob.MaxPatterns,
		))
	}
	fs = diag.WithPath(fs, layer.Path())
	return SignMode(mode), caps, diag.FromFindings("reading "+layer.Path(), fs)
}
