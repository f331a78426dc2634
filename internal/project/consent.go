package project

import (
	"os"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/jsonx"
)

// consents remembers, for one user, which programs inside projects may serve
// as interpreters: the absolute path and the digest of the program.
type consents map[string]string

func (p *Project) consentFile() string {
	if p.Dirs.State == "" {
		return ""
	}
	return filepath.Join(p.Dirs.State, "interpreters.json")
}

// ReadConsents fails closed: what cannot be read, or others may have written, is
// no consent.
func (p *Project) ReadConsents() consents {
	out := consents{}
	if fi, err := os.Lstat(p.consentFile()); err != nil || !ownFile(fi) {
		return out
	}
	b, err := os.ReadFile(p.consentFile())
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
func (p *Project) WriteConsents(all consents) error {
	file := p.consentFile()
	if file == "" {
		return diag.New(diag.FileSystemError, "remembering consent: the environment names no state directory").WithReason("no_state")
	}
	b, err := jsonx.MarshalIndent(map[string]string(all))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return diag.New(diag.FileSystemError, "remembering consent: %w", err)
	}
	return atomicfile.Write(file, append(b, '\n'), 0o600)
}

// consent returns the check that the executor makes before a program of the
// project itself interprets a tool.
func (p *Project) consent() func(exec.Interpreter) error {
	return func(in exec.Interpreter) error {
		was, known := p.ReadConsents()[in.Path]
		if was == in.Digest.String() {
			return nil
		}
		why := "it is a program of the project and is not verified"
		if known {
			why = "it changed since you consented to it"
		}
		return diag.New(diag.ConsentRequired, "running %s as interpreter: %s", in.Path, why).
			WithReason("interpreter").WithDetail("path", in.Path).
			WithDetail("found", in.Digest.String()).WithDetail("expected", was)
	}
}
