// Package header parses the metadata of shell, JavaScript and TypeScript files:
// the first comment lines ("# key: value") and, in JavaScript and TypeScript,
// constants at column 0 (export const __version__ = "1.0.0").
//
// It executes nothing and maps no keys to fields. It is not a JavaScript parser:
// it finds a constant by its line, and a value that is not a literal is a
// finding.
package header

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
)

// Limits. A value that exceeds one is an error.
const (
	maxDepth    = 64   // objects and lists inside a value
	maxPath     = 1024 // bytes of a path in Doc.Pos; deeper values have the position of an ancestor
	maxFindings = 100
)

// Parse parses the comment header of src; comment is "#" or "//". isKey reports
// whether a name is metadata (nil means ToolKey); every other line is prose.
//
// The header is the first run of comment lines after an optional shebang and
// signature line. A line is "key: value" or "key = value". A value that is JSON
// is that value, and an object or list may continue on the following comment
// lines; on one line it may be a YAML flow value such as {net: none}. For dunder
// names None, True, False and 'text' are values too. Every other value is the
// trimmed text. A key that is given twice is an error, and the first value is kept.
func Parse(
	src []byte,
	comment string,
	isKey func(string) bool,
) (*tree.Doc, []diag.Finding) {
	c := newCollector(isKey)
	c.header(string(src), comment)
	return c.doc, c.findings
}

// ParseJS parses the "//" header and the constants of a JavaScript or
// TypeScript file: const NAME = literal at column 0, with or without export,
// a type, or "as" and "satisfies" after the value. The name of a constant is a
// dunder or in capitals; every other name is an ordinary variable.
func ParseJS(src []byte, isKey func(string) bool) (*tree.Doc, []diag.Finding) {
	c := newCollector(isKey)
	c.header(string(src), "//")
	c.constants(string(src))
	diag.Sort(c.findings)
	return c.doc, c.findings
}

// ToolKey reports whether name is a metadata name of tools: a plain one, a
// dunder, or one of the three dictionaries.
func ToolKey(name string) bool {
	switch name {
	case "name", "tool_id", "tool_type", "version", "executor_id", "category", "description", "parameters", "config_schema",
		"input_schema", "config", "env_config", "anchor", "verify_deps", "requires", "sandbox", "calls", "risk", "result_tokens", "result_content",
		"idempotent", "idempotency", "volatile", "polls", "touches", "persistent", "CONFIG_SCHEMA", "ENV_CONFIG", "CONFIG", "SANDBOX", "CALLS", "RISK", "RESULT_TOKENS", "RESULT_CONTENT",
		"IDEMPOTENT", "IDEMPOTENCY", "VOLATILE", "POLLS", "TOUCHES", "PERSISTENT":
		return true
	}
	return isDunder(name)
}

// ConstantKey reports whether a constant of that name in code is metadata of a
// tool. Plain names are not: config, name or version are ordinary variables.
func ConstantKey(name string) bool {
	if isDunder(name) {
		plain := strings.Trim(name, "_")
		return plain == "tool_description" || ToolKey(plain)
	}
	return isConstant(name) && ToolKey(name)
}

// isConstant reports whether a name is a dunder or has no lower-case letters.
func isConstant(name string) bool {
	return isDunder(name) || name == strings.ToUpper(name)
}

func isDunder(name string) bool {
	return len(name) > 4 &&
		strings.HasPrefix(name, "__") &&
		strings.HasSuffix(name, "__")
}

// collector gathers keys and findings.
type collector struct {
	doc      *tree.Doc
	isKey    func(string) bool
	findings []diag.Finding
}

func newCollector(isKey func(string) bool) *collector {
	if isKey == nil {
		isKey = ToolKey
	}
	return &collector{doc: tree.New(), isKey: isKey}
}

func (c *collector) errorf(code diag.Code, p diag.Position, format string, args ...any) {
	if len(c.findings) < maxFindings {
		c.findings = append(c.findings, diag.Errorf(
			code,
			p.Line,
			p.Column,
			format,
			args...,
		))
	}
}

// set records a value unless the key has one.
func (c *collector) set(
	key string,
	keyPos diag.Position,
	v any,
	positions map[string]diag.Position,
) {
	if c.twice(key, keyPos) {
		return
	}
	c.doc.Root[key] = v
	for path, p := range positions {
		c.doc.Pos[path] = p
	}
}

func (c *collector) twice(key string, p diag.Position) bool {
	if _, ok := c.doc.Root[key]; !ok {
		return false
	}
	c.errorf(
		diag.ValidationFailed,
		p,
		"the key %q is given twice, first on line %d",
		key,
		c.doc.At(tree.Join("", key)).Line,
	)
	return true
}
