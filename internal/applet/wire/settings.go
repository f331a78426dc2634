package wire

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
)

// maxSettings is the largest settings file, in bytes.
const maxSettings = 4 << 20

// Settings returns the configuration that the tool's item lists under
// config.reads. It was merged and verified before this process began; the file
// is in the variable RYE_SETTINGS.
func Settings(p Params, id string) (map[string]any, error) {
	all, err := readSettings(p)
	if err != nil {
		return nil, err
	}
	m, ok := all[id].(map[string]any)
	if !ok {
		return nil, diag.New(diag.ConfigError, "reading config:%s: config.reads of the tool's item does not list it", id).WithDetail("config", id)
	}
	for _, metadata := range []string{"schema_version", "name", "description", "category", "version", "author", "tags"} {
		delete(m, metadata)
	}
	return m, nil
}

// Consented reports whether the user consented to an entry of a configuration that
// Settings returns.
func Consented(p Params, id, entry string) (bool, error) {
	all, err := readSettings(p)
	consents, _ := all["rye:consents"].(map[string]any)
	list, _ := consents[id].([]any)
	return slices.Contains(list, any(entry)), err
}

// readSettings returns the configurations by id, nil without a settings file.
func readSettings(p Params) (map[string]any, error) {
	name := p.Getenv("RYE_SETTINGS")
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading settings: %w", Cause(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSettings))
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading settings: %w", Cause(err))
	}
	doc, findings := jsonx.Parse(b)
	return doc.Root, diag.FromFindings("reading settings", findings)
}

// ConfigError returns the problems of a decoded configuration as one error, or
// nil.
func (a Args) ConfigError(id string) error {
	fs := a.Findings()
	for i := range fs {
		fs[i].Code = diag.ConfigError
	}
	err := a.ErrorOf("reading config:" + id)
	var e *diag.Error
	if errors.As(err, &e) {
		return e.WithReason("settings").WithDetail("config", id)
	}
	return err
}

// Cause removes the operation and the path that package os adds to an error:
// results do not show absolute paths.
func Cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	var linkErr *os.LinkError
	if errors.As(err, &linkErr) {
		return linkErr.Err
	}
	return err
}
