package ryeos

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/internal/extract"
)

// Reason is why a file of the original is left out of a copy.
type Reason string

// The reasons. A person must read about the first group; the second one is the data of
// a running program, and keys.
const (
	LeftBundle  Reason = "left_bundle"  // a manifest of the original
	LeftReader  Reason = "left_reader"  // an extractor or a parser
	LeftLibrary Reason = "left_library" // the original's standard library
	LeftServer  Reason = "left_server"  // an MCP server and its tools, which were never signed
	LeftLink    Reason = "left_link"    // a link, or a file that cannot be read
	LeftUnknown Reason = "left_unknown" // a directory that the original does not have

	LeftKeys  Reason = "keys"
	LeftLocks Reason = "locks"
	LeftRuns  Reason = "runs" // threads, caches, logs and what they generate
)

// ForPerson reports whether a person must read about the omission.
func (r Reason) ForPerson() bool {
	return strings.HasPrefix(string(r), "left_")
}

// libraries are the directories of the original's standard library below tools/rye.
func libraries() []string {
	return []string{"agent", "authoring", "bash", "code", "core", "dev", "file-system", "lsp", "mcp", "primary", "registry", "web"}
}

// leftOut returns the directory or file that is left out with the file at rel below .ai,
// and why; "" if the file is copied.
func leftOut(rel string) (group string, why Reason) {
	parts := strings.Split(rel, "/")
	upTo := func(n int) string {
		return strings.Join(parts[:min(n, len(parts))], "/")
	}
	below := func(dir string) bool {
		return strings.HasPrefix(rel, dir+"/")
	}
	switch {
	case below("tools/rye/core/extractors"), below("tools/rye/core/parsers"):
		return upTo(4), LeftReader
	case below("parsers"):
		return parts[0], LeftReader
	case below("tools/rye") && len(parts) > 3 && slices.Contains(libraries(), parts[2]):
		return upTo(3), LeftLibrary
	case below("knowledge/agent/threads"):
		return upTo(3), LeftRuns
	case below("knowledge/graphs"):
		return upTo(2), LeftRuns
	case below("config/keys"):
		return upTo(2), LeftKeys
	}
	switch parts[0] {
	case "directives", "tools", "knowledge", "config":
		return "", ""
	case "bundles":
		return upTo(2), LeftBundle
	case "keys", "trusted_keys", "auth":
		return parts[0], LeftKeys
	case "lockfiles":
		return parts[0], LeftLocks
	case "threads", "cache", "logs", "plans", "outputs", "objects", "state":
		return parts[0], LeftRuns
	case "README.md", ".gitignore":
		return "", ""
	}
	return parts[0], LeftUnknown
}

// ofServer matches the item of an MCP server, or of a tool of one.
var ofServer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^tool_type:[ \t]*["']?mcp(_server)?["']?[ \t\r]*$`)
})

// server returns the group that is omitted with a YAML file below tools/mcp, "" if the file is
// not of an MCP server.
func server(rel string, b []byte) string {
	switch ext := path.Ext(rel); {
	case !strings.HasPrefix(rel, "tools/mcp/") || ext != ".yaml" && ext != ".yml" || !ofServer().Match(b):
		return ""
	case strings.HasPrefix(rel, "tools/mcp/servers/"):
		return rel
	}
	return path.Dir(rel)
}

// incidental reports whether a file is not a part of a project: what git, systems,
// editors and interpreters leave.
func incidental(rel string) bool {
	return extract.Incidental(rel) && path.Base(rel) != "README.md"
}
