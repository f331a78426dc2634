// Package consent remembers the consents of a user to programs that no signature covers: interpreters
// inside projects and language servers, and to projects of other users of the machine.
//
// It asks no user: package internal/cmd/ask does.
package consent

import (
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

// Given has the consents of one file: a key that names a program, and the digest of its state when
// the user consented to it.
type Given map[string]string

// Record is the directory with the consents of a user, "" if the environment names none.
type Record string

// Files of consents, in the user's state directory.
const (
	Interpreters = "interpreters.json"     // programs inside projects, by absolute path
	Servers      = "language-servers.json" // language servers, by project and id
	Directories  = "directories.json"      // projects of other users, by real path; the value is the users' ids
)

// maxConsents bounds a file of consents.
const maxConsents = 16 << 20

func (r Record) file(name string) string {
	if r == "" {
		return ""
	}
	return filepath.Join(string(r), name)
}

// Read fails closed: a file that cannot be read, or that others may have written, has no
// consent.
func (r Record) Read(name string) Given {
	out := Given{}
	fi, err := os.Lstat(r.file(name))
	if err != nil || !owner.OnlyMine(fi) {
		return out
	}
	b, err := openat.ReadRegular(r.file(name), maxConsents)
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

// Write records the consents of the user.
func (r Record) Write(name string, all Given) error {
	file := r.file(name)
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

// CheckInterpreter is the check that the executor makes before a program of the
// project itself interprets a tool.
func (r Record) CheckInterpreter(in exec.Interpreter) error {
	was, known := r.Read(Interpreters)[in.Path]
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

// GiveInterpreter records that a program of a project may run tools while it has
// the digest that the user was asked about.
func (r Record) GiveInterpreter(path, digest string) error {
	all := r.Read(Interpreters)
	all[path] = digest
	return r.Write(Interpreters, all)
}

// ServerConfig is the configuration that lists language servers.
const ServerConfig = "lsp/servers"

// ServersOf returns the ids of the servers in a configuration that may run for a
// project. A server runs code that files of the project name (a compiler plugin, a
// build script), so each needs the consent of the user, for one project and for the
// server's definition at the time.
func (r Record) ServersOf(project, config string, settings map[string]any) []string {
	if config != ServerConfig {
		return nil
	}
	var out []string
	all := r.Read(Servers)
	for id, digest := range serverDigests(settings) {
		if all[serverKey(project, id)] == digest {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// serverKey names a language server of a project in the file of consents.
func serverKey(project, id string) string {
	if at, err := filepath.EvalSymlinks(project); err == nil {
		project = at
	}
	return project + "\t" + id
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

// GiveServers records that language servers of the configuration of servers may run for a project,
// and returns the digests of their definitions by id.
func (r Record) GiveServers(project string, settings map[string]any, ids []string) (map[string]string, error) {
	known := serverDigests(settings)
	given := map[string]string{}
	all := r.Read(Servers)
	for _, id := range ids {
		if known[id] == "" {
			return nil, diag.New(diag.Usage, "config:%s has no server %q, only %s", ServerConfig, id,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		given[id] = known[id]
		all[serverKey(project, id)] = known[id]
	}
	return given, r.Write(Servers, all)
}
