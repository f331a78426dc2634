package extract

import (
	"bytes"
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// toolHeader returns the name of a file type, and the lines that make such a file a tool.
func toolHeader(t FileType) (what string, lines []string) {
	script := func(runtime string) []string {
		return []string{"version: 0.1.0", "tool_type: script", "executor_id: rye/core/runtimes/" + runtime, "description: TEXT"}
	}
	comment := func(sign string, lines []string) []string {
		for i := range lines {
			lines[i] = sign + " " + lines[i]
		}
		return lines
	}
	switch t.Codec {
	case CodecHeaderHash:
		return "a shell script", comment("#", script("bash_runtime"))
	case CodecHeaderSlash:
		return "a JavaScript file", comment("//", script("node_runtime"))
	case CodecPython:
		return "a Python file", []string{`__version__ = "0.1.0"`, `__tool_type__ = "script"`, `__executor_id__ = "rye/core/runtimes/python_script_runtime"`, `__tool_description__ = "TEXT"`}
	case CodecYAML, CodecJSON, CodecTOML:
		return "a file of data", []string{"version", "tool_type", "executor_id", "description"}
	}
	return "", nil
}

// HeaderHint is the reason of a finding or an error about a file that is a support file
// because it has no header, and its fact "header" are the lines that it lacks.
const HeaderHint = "no_header"

// Header returns the lines that make a file of the type a tool, for HeaderHint.
func Header(t FileType) string {
	_, lines := toolHeader(t)
	for i, line := range lines {
		lines[i] = "`" + line + "`"
	}
	return strings.Join(lines, ", ")
}

// Plain returns a warning about a support file that a person may take for a tool: a
// program without a header, or data that do not parse. named states that the person named
// the file: then each file without tool_type is reported.
func (e *Extractor) Plain(
	t FileType,
	rel string,
	src []byte,
	executable, named bool,
) *diag.Finding {
	what, _ := toolHeader(t)
	if e.Kind != item.Tool || what == "" {
		return nil
	}
	line := 1
	column := 1
	cause := "it has no header"
	switch t.Codec {
	case CodecYAML, CodecJSON, CodecTOML:
		cause = "it has no tool_type"
		broken := false
		for _, f := range reader(t.Codec)(e, src).findings {
			if f.Severity == diag.SeverityError {
				line = max(f.Line, 1)
				column = f.Column
				broken = true
				cause = "it is not " + strings.ToUpper(t.Codec) + ": " + f.Message
				break
			}
		}
		if !named && (!broken || t.Codec != CodecYAML) {
			return nil
		}
	default:
		if !named && !executable && !program(t, rel, src) {
			return nil
		}
	}
	f := diag.Warnf(diag.ValidationFailed, line, column, "%s that is signed as a support file and cannot be run, because %s; a tool begins with %s", what, cause, Header(t))
	f = f.WithReason(HeaderHint, "header", Header(t))
	return &f
}

// program reports whether a script is written to be started.
func program(t FileType, rel string, src []byte) bool {
	if bytes.HasPrefix(src, []byte("#!")) {
		return true
	}
	return t.Codec == CodecPython &&
		path.Base(rel) != "__init__.py" &&
		bytes.Contains(src, []byte("__name__ == ")) &&
		bytes.Contains(src, []byte("__main__"))
}
