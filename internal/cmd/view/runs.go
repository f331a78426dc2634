package view

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/sandbox"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/primary"
)

// RungText describes what the best rung of a system does.
func RungText(l sandbox.Ladder) string {
	switch l.Best {
	case sandbox.Strict:
		return "strict: programs get only the files, the network and the programs of their profile"
	case sandbox.Landlock:
		return "landlock: files and programs as in the profile; no sandbox.net hosts or loopback, and processes of the machine are visible"
	}
	return "basic: no file or network isolation on this system (" + runtime.GOOS + "); tools of risk T2 and T3 need an answer at a terminal"
}

// ContentText returns the text of the result of an MCP tool, with a placeholder for
// each other part. It returns false for a failed call, which is shown as an error.
func ContentText(data map[string]any) (string, bool) {
	content, ok := data["content"].([]any)
	failed, known := data["isError"].(bool)
	if !ok || !known || failed {
		return "", false
	}
	var parts []string
	for _, c := range content {
		m, _ := c.(map[string]any)
		text, ok := m["text"].(string)
		if ok && m["type"] == "text" {
			parts = append(parts, text)
			continue
		}
		parts = append(parts, placeholder(m))
	}
	return strings.Join(parts, "\n"), true
}

// placeholder returns the line in place of a block of content that is not a text.
func placeholder(block map[string]any) string {
	part := []string{}
	for _, from := range []any{block, block["resource"]} {
		m, _ := from.(map[string]any)
		for _, key := range []string{"type", "mimeType", "uri", "name"} {
			if s, ok := m[key].(string); ok {
				part = append(part, s)
			}
		}
	}
	return "[" + strings.Join(part, " ") + "; --json shows it]"
}

// WithoutFiles returns a result with a placeholder in place of each image and file in it:
// base64 is nothing for a terminal.
func WithoutFiles(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = WithoutFiles(v[i])
		}
		return out
	case map[string]any:
		resource, _ := v["resource"].(map[string]any)
		_, isData := v["data"].(string)
		_, isBlob := resource["blob"].(string)
		if isData && (v["type"] == "image" || v["type"] == "audio") ||
			isBlob && v["type"] == "resource" {
			return placeholder(v)
		}
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = WithoutFiles(v[k])
		}
		return out
	}
	return v
}

func OrNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// runMetadata is the metadata of a run as the envelope shows it.
type runMetadata struct {
	Command string `json:"command"`
	*primary.Metadata
}

// Envelope prints the JSON envelope of a run, with the error of a failed one.
func Envelope(u *cli.UI, run *primary.Run, err error) error {
	doc := diag.Envelope{Success: err == nil, Metadata: runMetadata{u.Command, run.Metadata}}
	if err == nil {
		doc.Data = run.Data
		return u.Document(doc)
	}
	doc.Error = cli.Failure(diag.Typed(err))
	if derr := u.Document(doc); derr != nil {
		return derr
	}
	return cli.Shown(err, nil)
}

// ArgumentLine joins arguments and quotes each one that contains spaces, so that a
// user who reads a command before accepting it sees its real arguments.
func ArgumentLine(argv []string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		if out[i] = a; a == "" || strings.ContainsAny(a, " \t\n\r\"'`\\") {
			out[i] = strconv.Quote(a)
		}
	}
	return strings.Join(out, " ")
}

// ProfileLines returns the permissions of a profile, one line for each sort of access.
func ProfileLines(p policy.Profile) []string {
	var out []string
	if p.Read != nil {
		only := *p.Read
		if p.Write != nil {
			only = slices.DeleteFunc(slices.Clone(only), func(path string) bool {
				return slices.Contains(*p.Write, path)
			})
		}
		if len(only) > 0 {
			out = append(out, "reads "+strings.Join(only, ", "))
		}
	}
	if p.Write != nil {
		out = append(out, "writes "+OrNone(*p.Write))
	}
	network := "network " + p.Net
	if p.Net == policy.NetHosts {
		network = "network: " + strings.Join(p.Hosts, ", ")
	}
	out = append(out, network)
	if p.Exec != nil {
		out = append(out, "programs: "+OrNone(*p.Exec))
	}
	var limits []string
	for _, limit := range p.Limits.All() {
		if *limit.Value != 0 {
			limits = append(limits, fmt.Sprintf("%s %d", limit.Name, *limit.Value))
		}
	}
	return append(out, "limits: "+strings.Join(limits, ", "))
}
