package setup

import (
	"bytes"
	"path/filepath"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/key"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/sign"
)

func hasPassphraseFile(c *cli.Call) bool {
	return c.Getenv(sign.EnvPassphraseFile) != ""
}

// setupPassphrase asks for the passphrase of a new key. It is nil if the person wants none.
func setupPassphrase(c *cli.Call, owner string) ([]byte, error) {
	if hasPassphraseFile(c) {
		return key.NewPassphrase(c, false)
	}
	for {
		first, err := c.AskSecret("Passphrase for your new key \"" + owner + "\", Enter for none: ")
		if err != nil || len(first) == 0 {
			return nil, err
		}
		second, err := c.AskSecret("Again: ")
		if err != nil {
			return nil, err
		}
		if bytes.Equal(first, second) {
			return first, nil
		}
		c.UI.Note("The two differ.")
	}
}

// notInPath states how the shell finds this program, "" if it does.
func notInPath(c *cli.Call) string {
	if c.Self == "" {
		return ""
	}
	_, err := proc.LookPath("rye", c.Environ())
	if err == nil {
		return ""
	}
	return "your shell does not find rye: add " + filepath.Dir(c.Self) + " to PATH"
}

// installed reports whether a file has the script.
func installed(file string, script []byte) bool {
	b, err := openat.ReadRegular(file, int64(len(script))+1)
	return err == nil && bytes.Equal(b, script)
}

// install writes the script of a shell.
func install(file string, script []byte) error {
	base := atomicfile.Private(filepath.Dir(file))
	err := base.MkdirAll(".")
	if err == nil {
		err = base.Write(filepath.Base(file), script, 0o644)
	}
	if err != nil {
		return diag.Doing("installing the completion", err)
	}
	return nil
}
