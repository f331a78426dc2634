package wire

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
)

// maxSettings is the largest settings file, in bytes.
const maxSettings = 4 << 20

// Settings returns the configuration that the tool's item lists under
// config.reads. It was merged and verified before this process began; the file
// is in the variable RYE_SETTINGS.
func Settings(p Params, id string) (map[string]any, error) {
	missing := diag.New(diag.ConfigError, "reading config:%s: config.reads of the tool's item does not list it", id).WithDetail("config", id)
	name := p.Getenv("RYE_SETTINGS")
	if name == "" {
		return nil, missing
	}
	b, err := readSettings(name)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading settings: %w", Cause(err))
	}
	doc, findings := jsonx.Parse(b)
	if err := diag.FromFindings("reading settings", findings); err != nil {
		return nil, err
	}
	m, ok := doc.Root[id].(map[string]any)
	if !ok {
		return nil, missing
	}
	for _, metadata := range []string{"schema_version", "name", "description", "category", "version", "author", "tags"} {
		delete(m, metadata)
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
