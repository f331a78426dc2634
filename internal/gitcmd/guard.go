package gitcmd

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
)

// transports are the protocols that git may use to reach a remote, if the user's
// environment does not set them. Protocols such as ext run a program that an address
// names.
const transports = "http:https:ssh:file"

// noTransports keeps commands that need no remote from fetching missing objects.
const noTransports = "none"

// ignored is the reason of an error that a program of the repository's configuration
// may have prevented.
const ignored = "ignored_settings"

// setting is one value of a setting of git.
type setting struct {
	name, value string
	repository  bool // it is in the configuration of the repository
}

// guarded is run for commands that can start programs which the configuration names.
// A repository may come from an archive, with its configuration: programs that this
// names are not started. Programs of the user's own configuration are.
func (g *Git) guarded(
	ctx context.Context,
	stdin io.Reader,
	args ...string,
) ([]byte, error) {
	return g.guardedOver(ctx, noTransports, stdin, args...)
}

// remote is guarded for commands that reach a remote.
func (g *Git) remote(ctx context.Context, args ...string) ([]byte, error) {
	allowed := transports
	if protocols, ok := proc.Lookup(g.env, "GIT_ALLOW_PROTOCOL"); ok {
		allowed = protocols
	}
	return g.guardedOver(ctx, allowed, nil, args...)
}

func (g *Git) guardedOver(
	ctx context.Context,
	protocols string,
	stdin io.Reader,
	args ...string,
) ([]byte, error) {
	list, err := g.readSettings(ctx)
	if err != nil {
		return nil, err
	}
	options, names := overrides(list)
	cmd := g.command(ctx, append(options, args...)...)
	cmd.Env = append(slices.Clone(g.env), "GIT_ALLOW_PROTOCOL="+protocols)
	out, err := output(ctx, cmd, stdin, args[0])
	if err != nil && len(names) > 0 && diag.CodeOf(err) == diag.ExecutionFailed {
		return out, diag.New(diag.ExecutionFailed, "%w (rye ignores %s in the configuration of the repository)", err, strings.Join(names, ", ")).
			WithReason(ignored).WithDetail("settings", strings.Join(names, ", "))
	}
	return out, err
}

// ReadAhead returns a Git that reads the settings now, while the caller does other work,
// for the commands that can start programs which the settings name.
func (g *Git) ReadAhead(ctx context.Context) *Git {
	c := *g
	c.ahead = sync.OnceValues(func() ([]setting, error) {
		return g.settings(ctx)
	})
	go func() { _, _ = c.ahead() }()
	return &c
}

// readSettings returns the settings that were read ahead, or reads them.
func (g *Git) readSettings(ctx context.Context) ([]setting, error) {
	if g.ahead != nil {
		return g.ahead()
	}
	return g.settings(ctx)
}

// settings returns all settings in the order of their precedence.
func (g *Git) settings(ctx context.Context) ([]setting, error) {
	out, err := g.run(ctx, nil, "config", "--list", "--show-scope", "--includes", "-z")
	if err != nil {
		return nil, err
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(words)%2 != 0 {
		return nil, unreadable("config", words[len(words)-1])
	}
	var list []setting
	for w := range slices.Chunk(words, 2) { // scope, name and value
		name, value, _ := strings.Cut(w[1], "\n")
		list = append(list, setting{name, value, w[0] == "local" || w[0] == "worktree"})
	}
	return list, nil
}

// overrides returns options that give the settings of the repository which name
// programs the values that they have without the repository, and their names.
func overrides(list []setting) (options, names []string) {
	helpers := false
	for _, s := range list {
		fallback, program := programOf(s.name)
		if !s.repository || !program || slices.Contains(names, s.name) {
			continue
		}
		names = append(names, s.name)
		if isHelper(s.name) {
			helpers = true
			continue
		}
		for _, o := range list {
			if o.name == s.name && !o.repository {
				fallback = o.value
			}
		}
		options = append(options, "-c", s.name+"="+fallback)
	}
	if !helpers {
		return options, names
	}
	options = append(options, "-c", "credential.helper=") // forgets all helpers before it
	for _, s := range list {
		if isHelper(s.name) && !s.repository {
			options = append(options, "-c", s.name+"="+s.value)
		}
	}
	return options, names
}

func isHelper(name string) bool {
	return strings.HasPrefix(name, "credential.") && strings.HasSuffix(name, ".helper")
}

// programOf reports whether a setting names a program that one of the guarded
// commands can start, and returns git's own value of the setting.
func programOf(name string) (fallback string, ok bool) {
	section, rest, _ := strings.Cut(name, ".")
	last := rest[strings.LastIndexByte(rest, '.')+1:]
	switch {
	case isHelper(name):
		return "", true
	case section == "filter":
		if last == "required" {
			return "false", true
		}
		return "", last == "clean" || last == "smudge" || last == "process"
	}
	fallback, ok = map[string]string{
		"core.sshcommand": "ssh", "core.askpass": "", "core.gitproxy": "", "core.alternaterefscommand": "",
		"core.editor": "false", "sequence.editor": "false",
		"gpg.program": "gpg", "gpg.openpgp.program": "gpg", "gpg.x509.program": "gpgsm", "gpg.ssh.program": "ssh-keygen",
		"gpg.ssh.defaultkeycommand": "",
	}[name]
	return fallback, ok
}
