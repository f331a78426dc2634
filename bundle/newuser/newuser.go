// Package newuser does what a user who knows nothing of the publisher does with a
// release: it adds a commit of a repository to a new project, with an empty user
// directory and git's own bytes of the files, and verifies it. It runs the program
// itself, so that nothing of the publisher takes part but the repository. The settings of
// the machine (/etc/rye) apply.
package newuser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
)

// Params name the release.
type Params struct {
	Program  string   // the path of rye
	WorkTree string   // the top of the work tree of the repository
	Folder   string   // of the bundle, relative to WorkTree, with slashes; "" for the top
	Commit   string   // to add
	Key      string   // the fingerprint that the publisher gives users
	Environ  []string // of the caller
}

// source returns the commit as rye add takes it, of a repository in a directory.
func (p Params) source(dir string) string {
	url := filepath.ToSlash(dir)
	if !strings.HasPrefix(url, "/") { // Windows: C:/dir
		url = "/" + url
	}
	if p.Folder != "" {
		url += "//" + p.Folder
	}
	return "file://" + url + "@" + p.Commit
}

// Outcome is the result of the new user's rye add.
type Outcome struct {
	Source string   `json:"source"`
	Key    string   `json:"key"`
	Items  []string `json:"items"`
}

// Add adds the release as a new user. An error is the one that such a user gets.
func Add(ctx context.Context, p Params) (*Outcome, error) {
	home, err := os.MkdirTemp("", "rye-new-user-")
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "making the directory of a new user: %w", err)
	}
	defer os.RemoveAll(home)
	u := user{p: p, home: home, project: filepath.Join(home, "project")}
	// An address may not have every character that a path can have, such as a blank.
	repository := filepath.Join(home, "repository")
	if err := os.Symlink(p.WorkTree, repository); err != nil { // Windows without the privilege
		repository = p.WorkTree
	}
	_, err = u.rye(ctx, home, "init", u.project)
	if err != nil {
		return nil, err
	}
	added, err := u.rye(
		ctx,
		u.project,
		"add",
		p.source(repository),
		"--trust",
		p.Key,
		"--yes",
	)
	if err != nil {
		return nil, err
	}
	_, err = u.rye(ctx, u.project, "verify")
	if err != nil {
		return nil, err
	}
	return &Outcome{Source: p.source(p.WorkTree), Key: p.Key, Items: itemsOf(added)}, nil
}

type user struct {
	p             Params
	home, project string
}

// environ returns the variables of a user who has set none: what names the publisher's
// files, keys and settings of git is left out.
func (u user) environ() []string {
	var out []string
	for _, kv := range u.p.Environ {
		name, _, _ := strings.Cut(kv, "=")
		upper := strings.ToUpper(name) // Windows takes names in any case
		switch {
		case strings.HasPrefix(upper, "RYE_"),
			strings.HasPrefix(upper, "XDG_"),
			strings.HasPrefix(upper, "GIT_"):
		case upper == "HOME", upper == "USERPROFILE", upper == "APPDATA", upper == "LOCALAPPDATA", upper == "SSH_AUTH_SOCK":
		default:
			out = append(out, kv)
		}
	}
	return append(out, "HOME="+u.home, "USERPROFILE="+u.home, "APPDATA="+filepath.Join(u.home, "roaming"), "LOCALAPPDATA="+filepath.Join(u.home, "local"),
		"GIT_CONFIG_NOSYSTEM=1")
}

// rye runs the program in a directory and returns the data that it prints.
func (u user) rye(ctx context.Context, dir string, args ...string) (json.RawMessage, error) {
	cmd := exec.CommandContext(ctx, u.p.Program, append(args, "--json")...)
	cmd.Dir, cmd.Env = dir, u.environ()
	var out, messages bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &messages
	failed := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var answer struct {
		Success bool            `json:"success"`
		Data    json.RawMessage `json:"data"`
		Error   struct {
			Code       diag.Code `json:"code"`
			Message    string    `json:"message"`
			Suggestion string    `json:"suggestion"`
		} `json:"error"`
	}
	err := json.Unmarshal(out.Bytes(), &answer)
	if err != nil {
		return nil, diag.New(
			diag.Internal,
			"running rye %s as a new user: %w: %s",
			args[0],
			errors.Join(failed, err),
			bytes.TrimSpace(messages.Bytes()),
		)
	}
	if answer.Success {
		return answer.Data, nil
	}
	advice := ""
	if answer.Error.Suggestion != "" {
		advice = " (the user's hint: " + answer.Error.Suggestion + ")"
	}
	return nil, diag.New(
		answer.Error.Code,
		"running rye %s as a new user: %s%s",
		args[0],
		answer.Error.Message,
		advice,
	)
}

// itemsOf returns the items that the added release brings.
func itemsOf(data json.RawMessage) []string {
	var added struct {
		Changes []struct {
			Items []struct {
				Name string `json:"name"`
			} `json:"items"`
		} `json:"changes"`
	}
	items := []string{}
	if json.Unmarshal(data, &added) != nil {
		return items
	}
	for _, c := range added.Changes {
		for _, it := range c.Items {
			if strings.Contains(it.Name, ":") { // not a file
				items = append(items, it.Name)
			}
		}
	}
	return items
}
