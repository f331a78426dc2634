package env

import (
	"cmp"
	"io"
	"os"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tree"
)

// ReadParams reads --params: JSON, a file or stdin.
func ReadParams(c *cli.Call, text string) (map[string]any, error) {
	if text == "" {
		return nil, nil
	}
	b := []byte(text)
	var err error
	switch {
	case text == "-":
		b, err = ReadBounded(c.Stdin)
	case strings.HasPrefix(text, "@"):
		var f *os.File
		if f, err = os.Open(c.Path(text[1:])); err == nil {
			defer f.Close()
			b, err = ReadBounded(f)
		}
	}
	if err != nil {
		return nil, diag.New(cmp.Or(diag.CodeOf(err), diag.FileSystemError), "reading --params: %w", err)
	}
	v, fs := jsonx.ParseMessage(b)
	if err := diag.FromFindings("reading --params", fs); err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, diag.New(diag.ParsingError, "reading --params: the top level is %s, an object is required", tree.TypeName(v))
	}
	return m, nil
}

// maxParams is the largest document that --params reads, in bytes.
const maxParams = 16 << 20

func ReadBounded(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxParams+1))
	if len(b) > maxParams {
		return nil, diag.New(diag.TooLarge, "more than %d bytes", maxParams)
	}
	return b, err
}
