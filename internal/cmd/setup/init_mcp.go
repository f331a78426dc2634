package setup

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/serve"
	"github.com/ryeos/rye/internal/openat"
)

// writeClient writes the project's file that makes a client start rye serve. If the
// file exists, or is outside the project, it prints the lines to add.
func writeClient(c *cli.Call, name string) ([]string, error) {
	at := *c
	at.Named = "" // the file is shared with others, whose folders are elsewhere
	where, text, err := serve.ClientText(&at, &serve.ServeOptions{Client: name}, "rye")
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(where, "~") {
		c.UI.Note("%s keeps its servers in %s, outside the project: rye serve --print-config %s prints what to add", name, where, name)
		return nil, nil
	}
	base := atomicfile.Project(c.Base)
	err = base.Create(where, []byte(text), 0o644)
	if errors.Is(err, fs.ErrExist) {
		b, _ := openat.ReadRegular(base.Path(where), openat.MaxText)
		if string(b) != text {
			c.UI.Note("%s is there and stays: rye serve --print-config %s prints what to add", where, name)
		}
		return nil, nil
	}
	return []string{where}, err
}
