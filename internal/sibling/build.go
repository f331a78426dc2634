package sibling

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os/exec"
	"time"

	"github.com/ryeos/rye/diag"
)

// Build identifies the source of a program.
type Build struct {
	Version  string `json:"version"`       // of the module; "(devel)" or "" if the build records none
	Revision string `json:"revision"`      // of the commit, "" if the build records none
	Bundle   string `json:"system_bundle"` // the digest of the embedded system bundle
}

// devel is the version of a build that records none.
const devel = "(devel)"

// Released reports whether the build records the version of the module.
func (b Build) Released() bool {
	return b.Version != "" && b.Version != devel
}

// Same reports whether two programs were built from the same source: by their versions and, if both
// have one, their revisions. go run, go test and -buildvcs=false record neither. Such a program
// is the same as one with the same system bundle.
func (b Build) Same(o Build) bool {
	if !b.Released() || !o.Released() {
		return b.Bundle != "" && b.Bundle == o.Bundle
	}
	return b.Version == o.Version &&
		(b.Revision == "" || o.Revision == "" || b.Revision == o.Revision)
}

// text returns the build for messages. It has the fact by which two builds differ.
func (b Build) text(o Build) string {
	switch {
	case !b.Released() || !o.Released():
		return cmp.Or(b.Version, devel) + " and has the system bundle " + cmp.Or(b.Bundle, "none")
	case b.Version == o.Version:
		return b.Version + " of the revision " + b.Revision
	}
	return b.Version
}

// Program is one of the two programs.
type Program struct {
	Path  string
	Build Build
}

// Compare returns an error if the two programs are not built from the same source.
func Compare(rye, server Program) error {
	if rye.Build.Same(server.Build) {
		return nil
	}
	return diag.New(diag.VersionMismatch, "starting rye-server: %s is %s, and %s is %s",
		rye.Path, rye.Build.text(server.Build), server.Path, server.Build.text(rye.Build)).
		WithReason("server_version").
		WithDetail("rye", rye.Path).
		WithDetail("version", rye.Build.Version)
}

// askTime is the time limit for a program that prints its version.
const askTime = 5 * time.Second

// Ask returns the program at path. It runs PATH version --json, without the variable that would
// compare the builds.
func Ask(ctx context.Context, path string, environ []string) (Program, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version", "--json")
	cmd.Env = withoutMark(environ)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	p := Program{Path: path}
	if err != nil {
		return p, diag.New(diag.ExecutionFailed, "asking %s for its version: %w", path, err).
			WithReason("server_start").
			WithDetail("path", path)
	}
	var answer struct {
		Data Build `json:"data"`
	}
	err = json.NewDecoder(bytes.NewReader(out)).Decode(&answer)
	if err != nil {
		return p, diag.New(diag.ExecutionFailed, "asking %s for its version: %w", path, err).
			WithReason("server_start").
			WithDetail("path", path)
	}
	p.Build = answer.Data
	return p, nil
}
