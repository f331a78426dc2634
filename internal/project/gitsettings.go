package project

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/gitcmd"
	"github.com/ryeos/rye/internal/memo"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/runsoutside"
	"github.com/ryeos/rye/policy"
)

// settingsDir is the directory of the answers of git about its settings, below the directory
// of the user's state.
const settingsDir = "git-settings"

// maxAsking bounds a question to git about its settings.
const maxAsking = 10 * time.Second

// GitFinder returns a finder of the paths that the settings of git name.
func (p *Project) GitFinder() *runsoutside.Finder {
	f := &runsoutside.Finder{Environ: p.Env.Environ(), Home: p.Env.Home()}
	if ctx := p.asking; ctx != nil {
		f.Ask = func(dir string) []byte {
			return p.askGit(ctx, dir)
		}
	}
	if p.memo != nil && p.Dirs.State != "" {
		f.Store = p.ownFiles(settingsDir, memo.Settings)
	}
	return f
}

// askGit returns the settings of git in a directory, nil without git: the settings that rye
// finds itself remain.
func (p *Project) askGit(ctx context.Context, dir string) []byte {
	ctx, cancel := context.WithTimeout(ctx, maxAsking)
	defer cancel()
	environ := slices.DeleteFunc(slices.Clone(p.Env.Environ()), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == "GIT_DIR" || name == "GIT_WORK_TREE" || name == "GIT_COMMON_DIR" || name == "GIT_INDEX_FILE" // another repository
	})
	g, err := gitcmd.New(gitcmd.Params{Dir: dir, Cwd: dir, Environ: environ})
	if err != nil {
		return nil
	}
	out, err := g.Configuration(ctx)
	if err != nil {
		return nil
	}
	return out
}

// gitSettings returns where the settings of git are that apply to every repository.
func (p *Project) gitSettings() policy.GitSettings {
	out := policy.GitSettings{Home: p.Env.Home()}
	environ := p.Env.Environ()
	for _, name := range []string{"XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"} {
		if v, set := proc.Lookup(environ, name); set {
			out.Environ = append(out.Environ, name+"="+v)
		}
	}
	return out
}
