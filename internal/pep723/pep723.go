// Package pep723 reads the metadata block of a Python script ("# /// script", PEP 723):
// its requirements and the Python versions that it needs.
//
// It runs nothing and resolves nothing. The table [tool] of a block is not read.
package pep723

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tomlx"
	"github.com/ryeos/rye/internal/tree"
)

// MaxRequirements is the largest number of requirements of a block.
const MaxRequirements = 100

// Block is the metadata of a script.
type Block struct {
	Line         int      // of "# /// script"
	Requirements []string // names with version specifiers and markers (PEP 508), without URLs
	Python       string   // version specifiers, "" for every version
}

// requirement is a name, extras, specifiers and a marker. A URL or an option is not
// among them: the index decides where a package comes from.
const requirement = `^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?[ \t]*(\[[A-Za-z0-9._, -]*\])?[ \t]*(\(?[<>=!~][^;@\\\r\n]*)?(;[^@\\\r\n]*)?$`

// Parse returns the block of a script, nil if it has none.
func Parse(src []byte) (*Block, []diag.Finding) {
	text, line, fs := find(src)
	if line == 0 || diag.Failed(fs) {
		return nil, fs
	}
	doc, fs := tomlx.Parse(text)
	for i := range fs {
		fs[i].Line += line
	}
	if diag.Failed(fs) {
		return nil, fs
	}
	for path, p := range doc.Pos {
		p.Line = p.Line + line
		p.Column = p.Column + 2
		doc.Pos[path] = p
	}
	r := tree.NewReader(doc, diag.ValidationFailed)
	r.Only("dependencies", "requires-python", "tool")
	valid := regexp.MustCompile(requirement)
	b := &Block{Line: line, Python: r.Text("requires-python"), Requirements: r.Texts("dependencies", func(s string) error {
		if !valid.MatchString(s) {
			return diag.New(diag.ValidationFailed, "%q is not a name with versions, such as httpx>=0.27,<1; URLs and options are not permitted", s)
		}
		return nil
	})}
	if len(b.Requirements) > MaxRequirements {
		r.Reject("dependencies", "has more than %d entries", MaxRequirements)
	}
	if _, err := specifiers(b.Python); err != nil {
		r.RejectErr("requires-python", err)
	}
	return b, append(fs, r.Findings()...)
}

// find returns the TOML of the block and the line of its start, 0 without a block.
func find(src []byte) (text []byte, start int, fs []diag.Finding) {
	var open, line int
	var body [][]byte
	for raw := range bytes.Lines(src) {
		line++
		l := bytes.TrimRight(raw, "\r\n")
		switch {
		case open == 0 && string(l) == "# /// script":
			open = line
			body = nil
		case open == 0:
		case string(l) == "# ///":
			if start > 0 {
				return nil, start, []diag.Finding{diag.Errorf(diag.ValidationFailed, open, 1, "the file has a second block # /// script")}
			}
			text = append(bytes.Join(body, []byte("\n")), '\n')
			start = open
			open = 0
		case string(l) == "#":
			body = append(body, nil)
		case bytes.HasPrefix(l, []byte("# ")):
			body = append(body, l[2:])
		default:
			return nil, open, []diag.Finding{diag.Errorf(diag.ValidationFailed, open, 1, "the block # /// script is never closed by # ///")}
		}
	}
	if open > 0 {
		return nil, open, []diag.Finding{diag.Errorf(diag.ValidationFailed, open, 1, "the block # /// script is never closed by # ///")}
	}
	return text, start, nil
}

type specifier struct {
	op      string
	release []int
	prefix  bool // ==3.11.*
}

func specifiers(s string) ([]specifier, error) {
	var out []specifier
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		version := strings.TrimLeft(part, "<>=!~")
		sp := specifier{op: part[:len(part)-len(version)]}
		version, sp.prefix = strings.CutSuffix(strings.TrimSpace(version), ".*")
		for n := range strings.SplitSeq(version, ".") {
			v, err := strconv.Atoi(n)
			if err != nil || v < 0 {
				sp.op = ""
			}
			sp.release = append(sp.release, v)
		}
		if !slices.Contains([]string{">=", "<=", ">", "<", "==", "!=", "~="}, sp.op) ||
			sp.prefix && sp.op != "==" && sp.op != "!=" {
			return nil, diag.New(diag.ValidationFailed, "%q is not a version specifier such as >=3.11", part)
		}
		out = append(out, sp)
	}
	return out, nil
}

// Permits reports whether a Python version such as 3.11.7 satisfies specifiers. Invalid
// ones permit no version.
func Permits(spec, version string) bool {
	all, err := specifiers(spec)
	have, err2 := specifiers("==" + version)
	if err != nil || err2 != nil || len(have) != 1 {
		return false
	}
	return !slices.ContainsFunc(all, func(s specifier) bool {
		return !s.permits(have[0].release)
	})
}

func (s specifier) permits(have []int) bool {
	same := compare(have, s.release) == 0
	if s.prefix {
		same = compare(
			have[:min(len(have), len(s.release))],
			s.release,
		) == 0
	}
	switch c := compare(have, s.release); s.op {
	case ">=":
		return c >= 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case "<":
		return c < 0
	case "!=":
		return !same
	case "~=":
		n := max(len(s.release)-1, 1)
		return c >= 0 &&
			compare(have[:min(len(have), n)], s.release[:n]) == 0
	}
	return same
}

// compare compares releases; missing numbers are 0.
func compare(a, b []int) int {
	at := func(r []int, i int) int {
		if i < len(r) {
			return r[i]
		}
		return 0
	}
	for i := range max(len(a), len(b)) {
		d := at(a, i) - at(b, i)
		if d != 0 {
			return d
		}
	}
	return 0
}
