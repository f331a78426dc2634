package main

import (
	"context"
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

func (h *house) consentFile() string {
	if h.dirs.State == "" {
		return ""
	}
	return filepath.Join(h.dirs.State, "interpreters.json")
}

// readConsents fails closed: what cannot be read, or others may have written, is
// no consent.
func (h *house) readConsents() consents {
	out := consents{}
	if fi, err := os.Lstat(h.consentFile()); err != nil || !ownFile(fi) {
		return out
	}
	b, err := os.ReadFile(h.consentFile())
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

func (h *house) writeConsents(all consents) error {
	file := h.consentFile()
	if file == "" {
		return diag.New(diag.FileSystemError, "remembering consent: the environment names no state folder").WithHint("set HOME")
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
func (c *call) consent(h *house) func(exec.Interpreter) error {
	return func(in exec.Interpreter) error {
		was, known := h.readConsents()[in.Path]
		if was == in.Digest.String() {
			return nil
		}
		why := "it is a program of the project, and nobody has verified it"
		if known {
			why = "it changed since you consented to it"
		}
		return diag.New(diag.ConsentRequired, "running %s as interpreter: %s", in.Path, why).
			WithHint("rye trust interpreter %s, if you trust that program", in.Path).
			WithDetail("found", in.Digest.String()).WithDetail("expected", was)
	}
}

func trustInterpreterCommand() *command {
	return &command{
		name: "interpreter", usage: "let a program inside a project interpret its tools", args: "PATH",
		long: `A Python of a project's .venv or a node of its node_modules is code that nobody
signed. It runs only after this consent, which holds for these very bytes, and
for those of a pyvenv.cfg beside it.`,
		examples: []string{"rye trust interpreter .venv/bin/python"},
		codes:    []diag.Code{diag.FileSystemError},
		run: func(ctx context.Context, c *call) error {
			h, err := c.house(ctx, lenient)
			if err != nil {
				return err
			}
			path := c.path(c.arg(0))
			digest, err := exec.DigestProgram(path)
			if err != nil {
				return diag.New(diag.FileSystemError, "reading the interpreter: %w", err)
			}
			all := h.readConsents()
			all[path] = digest.String()
			if err := h.writeConsents(all); err != nil {
				return err
			}
			return c.ui.Show(map[string]any{"path": path, "digest": all[path]}, func() {
				c.ui.Out("%s may interpret tools, as long as it stays %s", path, all[path])
			})
		},
	}
}
