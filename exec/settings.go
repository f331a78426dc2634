package exec

import (
	"context"
	"crypto/sha256"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
)

// settingsVar names the variable that holds the path of a tool's settings.
const settingsVar = "RYE_SETTINGS"

// consentsKey is the key of the consents of the user by id of a configuration. An
// id contains no colon.
const consentsKey = "rye:consents"

// settings writes the configurations in config.reads to a read-only file, as one
// JSON object by id, each merged over all spaces from verified layers. The program
// then needs no trust check of its own.
func (e *Executor) settings(
	ctx context.Context,
	p *Plan,
	cfg *config,
	env map[string]string,
) error {
	if len(cfg.Reads) == 0 {
		return nil
	}
	all := make(map[string]any, len(cfg.Reads)+1)
	consents := map[string]any{}
	all[consentsKey] = consents
	for _, id := range cfg.Reads {
		s, err := e.p.Resolver.Config(ctx, id)
		if err != nil {
			return err
		}
		p.Deps = append(p.Deps, s.Layers...)
		all[id] = s.Root
		if e.p.Consented != nil {
			agreed := e.p.Consented(id, s.Root)
			consents[id] = agreed
			if id == languageServers {
				p.servers = consentedServers(s.Root, agreed)
			}
		}
	}
	b, err := jsonx.Marshal(all)
	if err != nil {
		return diag.New(diag.ConfigError, "writing settings: %w", err)
	}
	file, err := e.store.File(sha256.Sum256(b), "settings.json", b)
	env[settingsVar] = file
	p.fixed = append(p.fixed, filepath.Dir(file))
	return err
}
