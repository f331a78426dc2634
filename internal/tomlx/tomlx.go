// Package tomlx parses TOML with the positions of its keys, and quotes strings
// for writing it.
//
// Numbers that are not finite and times without a UTC offset are refused: they
// mean different things on different machines.
//
// It is the only package that imports a TOML module. It checks no schema and
// opens no files.
package tomlx

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/tree"
)

// MaxDepth is the deepest nesting of tables and arrays.
const MaxDepth = 64

// MaxPath is the longest path of keys, in bytes: every entry below a key of
// half a megabyte would contain a copy of it.
const MaxPath = 1024

// MaxKeys is the largest number of keys of one document: the module compares
// each new key with those before it, so a file of a megabyte would take half a
// minute.
const MaxKeys = 8192

// Parse parses one TOML document. The Doc is nil exactly when a finding is an
// error. Times are in UTC. The position of an entry is the position of its key.
func Parse(b []byte) (*tree.Doc, []diag.Finding) {
	if found := hidden.Encoding(b); len(found) > 0 {
		return nil, found
	}
	p := scanner{
		b:      b,
		pos:    map[string]diag.Position{},
		lines:  map[string]int{},
		tables: map[string]int{},
	}
	if p.read(); p.stopped {
		return nil, p.found
	}
	root := map[string]any{}
	if err := unmarshal(b, &root); err != nil {
		return nil, p.refusal(err)
	}
	if len(p.found) > 0 {
		return nil, p.found
	}
	c := converter{pos: p.pos}
	v := c.table(root, "", 1)
	if len(c.found) > 0 {
		diag.Sort(c.found)
		return nil, c.found
	}
	return &tree.Doc{Root: v, Pos: p.pos}, nil
}

// unmarshal decodes b. A panic of the module is an error: a parser of untrusted
// files must not end the program.
func unmarshal(b []byte, v any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("toml: %v", p)
		}
	}()
	return toml.Unmarshal(b, v)
}

// refusal returns the decoder's first error with the duplicate keys, which name
// the line of the first occurrence.
func (p *scanner) refusal(err error) []diag.Finding {
	line := 1
	col := 1
	var de *toml.DecodeError
	if errors.As(err, &de) {
		line, col = de.Position()
	}
	for _, f := range p.found {
		if f.Line == line {
			return p.found
		}
	}
	text := hidden.Visible(strings.TrimPrefix(err.Error(), "toml: "))
	p.found = append(p.found, diag.Errorf(diag.ParsingError, line, col, "%s", text))
	diag.Sort(p.found)
	return p.found
}

// converter turns the values of the module into values of package tree.
type converter struct {
	pos   map[string]diag.Position
	found []diag.Finding
}

func (c *converter) fail(path, format string, args ...any) any {
	at := (&tree.Doc{Pos: c.pos}).At(path)
	c.found = append(c.found, diag.Errorf(
		diag.ParsingError,
		at.Line,
		at.Column,
		format,
		args...,
	))
	return nil
}

func (c *converter) table(m map[string]any, path string, depth int) map[string]any {
	if depth > MaxDepth {
		c.fail(path, "nested more than %d deep", MaxDepth)
		return nil
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = c.value(v, tree.Join(path, k), depth+1)
	}
	return out
}

func (c *converter) value(v any, path string, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		return c.table(v, path, depth)
	case []any:
		if depth > MaxDepth {
			return c.fail(path, "nested more than %d deep", MaxDepth)
		}
		out := make([]any, len(v))
		for i := range v {
			out[i] = c.value(v[i], tree.Index(path, i), depth+1)
		}
		return out
	case time.Time:
		return v.UTC()
	case toml.LocalDate, toml.LocalTime, toml.LocalDateTime:
		return c.fail(path, "the time %v has no UTC offset: write it in full, for example 2026-01-31T00:00:00Z", v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return c.fail(path, "%v is not a finite number", v)
		}
	case nil, bool, string, int64:
	default:
		return c.fail(path, "a value of type %T is not supported", v)
	}
	return v
}

// Quote renders s as a TOML basic string, quotes included, in ASCII or visible
// characters only; invalid UTF-8 becomes U+FFFD.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r >= 0x20 && r < 0x7f || r >= 0x80 && hidden.Visible(string(r)) == string(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
