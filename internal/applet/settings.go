package applet

import (
	"io"
	"os"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
)

// maxSettings bounds the file of settings.
const maxSettings = 4 << 20

// settings returns one configuration that the tool's item names under
// config.reads. It was merged and verified before this process began; the
// variable RYE_SETTINGS names the file that holds it.
func settings(p Params, id string) (map[string]any, error) {
	name := p.Getenv("RYE_SETTINGS")
	if name == "" {
		return nil, diag.New(diag.ConfigError, "reading config:%s: this tool was handed no settings", id).
			WithHint("its item must name %s under config.reads", id)
	}
	b, err := readSettings(name)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading settings: %w", cause(err))
	}
	doc, fs := jsonx.Parse(b)
	if err := diag.FromFindings("reading settings", fs); err != nil {
		return nil, err
	}
	m, ok := doc.Root[id].(map[string]any)
	if !ok {
		return nil, diag.New(diag.ConfigError, "reading config:%s: this tool was handed other settings", id).
			WithHint("its item must name %s under config.reads", id)
	}
	for _, about := range []string{"schema_version", "name", "description", "category", "version", "author", "tags"} {
		delete(m, about)
	}
	return m, nil
}

func readSettings(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSettings))
}

// configError turns what args found in settings into an error about them.
func (a args) configError(id string) error {
	for i := range *a.findings {
		f := &(*a.findings)[i]
		if f.Code == diag.UnknownParameter {
			f.Message = "no setting of that name" + f.Message[len("no parameter"):]
		}
		f.Code = diag.ConfigError
	}
	err := diag.FromFindings("reading config:"+id, *a.findings)
	if e, ok := err.(*diag.Error); ok {
		return e.WithHint("rye config show %s --origin tells which file says what", id)
	}
	return err
}
