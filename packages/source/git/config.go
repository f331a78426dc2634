package git

import (
	"context"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
)

// setting is one setting of git's configuration. Its name is lower case except for
// the part between the first and the last dot, as git prints it.
type setting struct{ name, value string }

// config is what the user and the machine configured for transports.
type config struct {
	settings []setting
	// extra are settings of conditional includes that git does not read in the
	// directories of the cache, where rye runs it.
	extra []setting
}

// config reads git's configuration, once. Without a git command there is none.
func (s *Source) config(ctx context.Context) (*config, error) {
	return s.conf.Get(ctx, "", func() (*config, error) {
		c, err := newCommand(s.p.Environ, false, s.p.Cache.GitDir())
		if err != nil || s.p.Offline {
			return &config{}, nil
		}
		if err := c.ensure(); err != nil {
			return nil, err
		}
		plain, conditional, err := c.settings(ctx, c.dir)
		if err != nil {
			return nil, diag.New(diag.ConfigError, "reading git's configuration: %w", err).WithReason("git_config")
		}
		out := &config{settings: plain}
		if s.p.Dir == "" || !conditional {
			return out, nil
		}
		// The conditions of includeIf see the project. An error is not
		// fatal: the directory may be in a repository of another user.
		here, _, err := c.settings(ctx, s.p.Dir)
		for _, x := range here {
			if err == nil && !slices.Contains(plain, x) {
				out.extra = append(out.extra, x)
			}
		}
		out.settings = append(out.settings, out.extra...)
		return out, nil
	})
}

// settings returns the settings of the user, the machine and the environment for
// transports, as git reads them in a directory. The settings of a repository there
// are left out: a project does not choose how rye reaches a host. conditional reports
// whether other settings may apply in another directory.
func (c *command) settings(ctx context.Context, dir string) (out []setting, conditional bool, err error) {
	env := slices.DeleteFunc(slices.Clone(c.env), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_CEILING_DIRECTORIES=")
	})
	res, err := proc.Run(ctx, proc.Cmd{
		Path:      c.path,
		Argv:      []string{"git", "--no-pager", "config", "--includes", "--show-scope", "--null", "--list"},
		Dir:       dir,
		Env:       env,
		Stdin:     strings.NewReader(""),
		Grace:     300 * time.Millisecond,
		MaxStdout: 4 << 20,
		MaxStderr: 64 << 10,
	})
	switch {
	case err != nil:
		return nil, false, err
	case res.ExitCode != 0:
		return nil, false, &gitError{text: string(res.Stderr)}
	}
	parts := strings.Split(string(res.Stdout), "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		name, value, _ := strings.Cut(parts[i+1], "\n")
		section, _, _ := strings.Cut(name, ".")
		local := parts[i] == "local" || parts[i] == "worktree"
		conditional = conditional || !local && section == "includeif" // listed whether its condition is met or not
		if !local && slices.Contains([]string{"url", "http", "credential", "core"}, section) {
			out = append(out, setting{name, value})
		}
	}
	return out, conditional, nil
}

// harmless are settings of the section http that do not change which server answers,
// and what it is sent.
var harmless = []string{"postbuffer", "lowspeedlimit", "lowspeedtime", "maxrequests", "minsessions", "version", "followredirects", "useragent", "emptyauth"}

// about returns the name of the first setting that decides how an address is
// reached, "" if there is none. A setting for another path of the same host is
// included: then the git command, which knows the whole rule, is used for both.
func (c *config) about(address string) string {
	scheme, _, _ := strings.Cut(address, "://")
	web := scheme == "http" || scheme == "https"
	for _, x := range c.settings {
		section, rest, _ := strings.Cut(x.name, ".")
		dot := strings.LastIndexByte(rest, '.')
		base := rest[:max(dot, 0)]
		key := rest[dot+1:]
		switch {
		case section == "url" && key == "insteadof" && strings.HasPrefix(address, x.value),
			section == "http" && web && !slices.Contains(harmless, key) && sameHost(base, address),
			section == "credential" && web && sameHost(base, address),
			x.name == "core.gitproxy" && scheme == "git",
			x.name == "core.sshcommand" && !strings.Contains("http:https:file", scheme):
			return x.name
		}
	}
	return ""
}

// sameHost reports whether a pattern, which may be without scheme, port or path and
// may have "*" as an element of its host, is about the host of an address. The empty
// pattern is about every host.
func sameHost(pattern, address string) bool {
	if pattern == "" {
		return true
	}
	if !strings.Contains(pattern, "://") {
		pattern = "//" + pattern
	}
	// A star is not valid in some positions of a URL: a letter represents it.
	p, err := url.Parse(strings.ReplaceAll(pattern, "*", "x-any-x"))
	u, other := url.Parse(address)
	if err != nil || other != nil {
		return true
	}
	want := strings.Split(strings.ToLower(p.Hostname()), ".")
	have := strings.Split(strings.ToLower(u.Hostname()), ".")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		ok, _ := path.Match(strings.ReplaceAll(want[i], "x-any-x", "*"), have[i])
		if !ok {
			return false
		}
	}
	return true
}

// environ returns variables that add the settings of conditional includes to those
// that git reads in the cache.
func (c *config) environ(env []string) []string {
	if len(c.extra) == 0 {
		return env
	}
	text, _ := proc.Lookup(env, "GIT_CONFIG_COUNT")
	n, _ := strconv.Atoi(text)
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_CONFIG_COUNT=")
	})
	for _, x := range c.extra {
		i := strconv.Itoa(n)
		env = append(env, "GIT_CONFIG_KEY_"+i+"="+x.name, "GIT_CONFIG_VALUE_"+i+"="+x.value)
		n++
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(n))
}

// tlsVariable returns a variable of the environment that changes how git connects
// and that the built-in client does not know, or "".
func tlsVariable(environ []string) string {
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if value != "" && (strings.HasPrefix(name, "GIT_SSL_") || name == "GIT_PROXY_SSL_CAINFO") {
			return name
		}
	}
	return ""
}
