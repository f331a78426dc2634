package signing

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve/space"
	"github.com/ryeos/rye/sign"
)

// Setting is one value of a configuration to change.
type Setting struct {
	Key string `json:"key"`
	Old string `json:"old"` // the effective value as JSON, "" without one
	New string `json:"new"` // as the user wrote it, in YAML
}

// SettingChange is a change of the user's own item of a configuration.
type SettingChange struct {
	Ref      item.Ref  `json:"ref"`
	Path     string    `json:"path"`
	Settings []Setting `json:"settings"`

	root *space.Root
	rel  string
	text []byte
}

// PlanSettings returns the change that sets KEY=VALUE in the user's own item of a
// configuration. It writes nothing.
func PlanSettings(ctx context.Context, p *project.Project, id string, words []string) (*SettingChange, error) {
	ref := item.Ref{Kind: item.Config, ID: id}
	root, err := p.Verbs.Target(space.User)
	if err != nil {
		return nil, err
	}
	c := &SettingChange{Ref: ref, root: root, rel: "config/" + id + ".yaml"}
	c.Path = root.Display(c.rel)
	old, err := effective(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if c.text, err = ownLayer(p, ref, c); err != nil {
		return nil, err
	}
	for _, word := range words {
		key, value, found := strings.Cut(word, "=")
		if !found || key == "" || value == "" || strings.Contains(key, "..") {
			return nil, diag.New(diag.Usage, "reading %q: want KEY=VALUE, such as sandbox.minimum=basic", word).WithReason("setting_form")
		}
		if c.text, err = yamlx.Set(c.text, strings.Split(key, "."), value); err != nil {
			return nil, err
		}
		c.Settings = append(c.Settings, Setting{Key: key, Old: old(key), New: value})
	}
	return c, nil
}

// ownLayer returns the text of the user's own item, or a new one.
func ownLayer(p *project.Project, ref item.Ref, c *SettingChange) ([]byte, error) {
	if !c.root.Exists(c.rel) {
		text := "schema_version: \"1.0.0\"\n"
		if category := ref.Category(); category != "" {
			text += "category: " + category + "\n"
		}
		return []byte(text), nil
	}
	return c.root.Read(c.rel, 1<<20)
}

// effective returns the values of a configuration by dotted key.
func effective(ctx context.Context, p *project.Project, id string) (func(key string) string, error) {
	if id == policy.AllowanceID {
		_, origins, err := p.Allowance(ctx)
		return func(key string) string {
			i := slices.IndexFunc(origins, func(o policy.Origin) bool {
				return o.Key == key
			})
			if i < 0 {
				return ""
			}
			b, _ := jsonx.Marshal(origins[i].Value)
			return string(b)
		}, err
	}
	s, err := p.Resolver.Config(ctx, id)
	if err != nil {
		return nil, err
	}
	return func(key string) string {
		var v any = s.Root
		for name := range strings.SplitSeq(key, ".") {
			m, _ := v.(map[string]any)
			if v = m[name]; v == nil {
				return ""
			}
		}
		b, _ := jsonx.Marshal(v)
		return string(b)
	}, nil
}

// WriteSettings signs the change with the user's key and writes it. It returns the restrictions
// of other sources, because of which a value that was set is not the effective one.
func WriteSettings(ctx context.Context, p *project.Project, c *SettingChange) (restricted []policy.Origin, err error) {
	key, err := p.Keys.Signer(ctx)
	if err != nil {
		return nil, err
	}
	k, ok := p.Trust.Key(sign.FingerprintOf(key.Public()))
	if ok && k.Agent() {
		return nil, diag.New(diag.Scope, "setting values of %s: the key %s is an agent's, and its items permit nothing", c.Ref, k.Fingerprint.Short()).
			WithReason("setting_agent")
	}
	_, files, err := Files(ctx, p, c.root, key, map[string][]byte{c.rel: c.text})
	if err != nil {
		return nil, err
	}
	put := c.root.Create
	if c.root.Exists(c.rel) {
		put = c.root.Write
	}
	if err := put(c.rel, files[c.rel]); err != nil ||
		c.Ref.ID != policy.AllowanceID {
		return nil, err
	}
	p.ForgetAllowance()
	_, origins, err := p.Allowance(ctx)
	for _, o := range origins {
		if o.File != c.Path &&
			slices.ContainsFunc(c.Settings, func(s Setting) bool { return s.Key == o.Key }) {
			restricted = append(restricted, o)
		}
	}
	return restricted, err
}
