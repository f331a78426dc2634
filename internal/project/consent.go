package project

import (
	"context"
	"crypto/sha256"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/owner"
	"github.com/ryeos/rye/item"
)

// Consents remembers, for one user, what programs may do that no signature covers:
// a key that names the program, and the digest of what the user consented to.
type Consents map[string]string

// Files of consents, in the user's state directory.
const (
	InterpreterConsents = "interpreters.json"     // programs inside projects, by absolute path
	ServerConsents      = "language-servers.json" // language servers, by project and id
	DirectoryConsents   = "directories.json"      // projects of other users, by real path; the value is the users' ids
)

// maxConsents bounds a file of consents.
const maxConsents = 16 << 20

func (p *Project) consentFile(name string) string {
	if p.Dirs.State == "" {
		return ""
	}
	return filepath.Join(p.Dirs.State, name)
}

// ReadConsents fails closed: what cannot be read, or others may have written, is
// not a consent.
func (p *Project) ReadConsents(name string) Consents {
	out := Consents{}
	fi, err := os.Lstat(p.consentFile(name))
	if err != nil || !owner.OnlyMine(fi) {
		return out
	}
	b, err := openat.ReadRegular(p.consentFile(name), maxConsents)
	if err != nil {
		return out
	}
	doc, fs := jsonx.Parse(b)
	if diag.Failed(fs) {
		return out
	}
	for path, v := range doc.Root {
		out[path], _ = v.(string)
	}
	return out
}

// WriteConsents records the consents of the user.
func (p *Project) WriteConsents(name string, all Consents) error {
	file := p.consentFile(name)
	if file == "" {
		return diag.New(diag.FileSystemError, "remembering consent: the environment names no state directory").WithReason("no_state")
	}
	b, err := jsonx.MarshalIndent(map[string]string(all))
	if err != nil {
		return err
	}
	return atomicfile.Private(filepath.Dir(file)).Write(
		filepath.Base(file),
		append(b, '\n'),
		0o600,
	)
}

// Consent returns the check that the executor makes before a program of the
// project itself interprets a tool.
func (p *Project) Consent() func(exec.Interpreter) error {
	return func(in exec.Interpreter) error {
		was, known := p.ReadConsents(InterpreterConsents)[in.Path]
		if was == in.Digest.String() {
			return nil
		}
		why := "it is a program of the project and is not verified"
		if known {
			why = "it changed since you consented to it"
		}
		if len(in.Modules) > 0 {
			why = in.Tool + " imports " + strings.Join(in.Modules, ", ") + "; " + why
		}
		return diag.New(diag.ConsentRequired, "running %s as interpreter: %s", in.Path, why).
			WithReason("interpreter").
			WithDetail("path", in.Path).
			WithDetail("tool", in.Tool).
			WithDetail("found", in.Digest.String()).WithDetail("expected", was)
	}
}

// ConsentToInterpreter records that a program of a project may run tools while it has
// the digest that the user was asked about.
func (p *Project) ConsentToInterpreter(path, digest string) error {
	all := p.ReadConsents(InterpreterConsents)
	all[path] = digest
	return p.WriteConsents(InterpreterConsents, all)
}

// languageServers is the configuration that lists language servers.
const languageServers = "lsp/servers"

// consented returns the ids of the servers in a configuration that may run for this
// project. A server runs code that files of the project name (a compiler plugin, a
// build script), so each needs the consent of the user, for one project and for the
// server's definition at the time.
func (p *Project) consented(config string, settings map[string]any) []string {
	if config != languageServers {
		return nil
	}
	var out []string
	all := p.ReadConsents(ServerConsents)
	for id, digest := range serverDigests(settings) {
		if all[p.serverKey(id)] == digest {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// serverKey names a language server of this project in the file of consents.
func (p *Project) serverKey(id string) string {
	dir := p.Spaces.ProjectDir
	if at, err := filepath.EvalSymlinks(dir); err == nil {
		dir = at
	}
	return dir + "\t" + id
}

// serverDigests returns the digest of the definition of each server.
func serverDigests(settings map[string]any) map[string]string {
	out := map[string]string{}
	list, _ := settings["servers"].([]any)
	for _, v := range list {
		server, _ := v.(map[string]any)
		id, _ := server["id"].(string)
		if b, err := jsonx.Marshal(server); err == nil && id != "" {
			out[id] = item.Digest(sha256.Sum256(b)).String()
		}
	}
	return out
}

// ConsentToServers records that language servers may run for this project, and
// returns the digests of their definitions by id.
func (p *Project) ConsentToServers(ctx context.Context, ids []string) (map[string]string, error) {
	if _, err := p.NeedProject(); err != nil {
		return nil, err
	}
	s, err := p.Resolver.Config(ctx, languageServers)
	if err != nil {
		return nil, err
	}
	known := serverDigests(s.Root)
	given := map[string]string{}
	all := p.ReadConsents(ServerConsents)
	for _, id := range ids {
		if known[id] == "" {
			return nil, diag.New(diag.Usage, "config:%s has no server %q, only %s", languageServers, id,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		given[id] = known[id]
		all[p.serverKey(id)] = known[id]
	}
	return given, p.WriteConsents(ServerConsents, all)
}
