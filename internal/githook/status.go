package githook

import (
	"context"
	"path/filepath"

	"github.com/ryeos/rye/internal/gitcmd"
)

// The states of a hook.
const (
	HookInstalled = "installed"
	HookMissing   = "missing"
	HookEdited    = "edited" // written by rye and changed since
	HookOther     = "other"  // of the user or of another program
)

// Status returns the state of each hook that Install writes, by name. It fails if
// another program manages the hooks, or several repositories share them.
func Status(ctx context.Context, repo *gitcmd.Repo) (map[string]string, error) {
	dir, err := hooksDir(ctx, repo)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, name := range Names() {
		is, _, err := inspect(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		out[name] = map[state]string{
			absent:  HookMissing,
			ours:    HookInstalled,
			edited:  HookEdited,
			foreign: HookOther,
		}[is]
	}
	return out, nil
}
