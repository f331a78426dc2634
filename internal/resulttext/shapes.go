package resulttext

import (
	"fmt"
	"strings"
)

// shaped returns a result of a form that has a text of its own. failed states that an
// error precedes the text.
func shaped(m map[string]any, failed bool) (text string, known bool) {
	switch {
	case isPage(m):
		return page(m), true
	case isCommand(m):
		return command(m, failed), true
	case isList(m, "matches", "file", "line", "content"):
		return matches(m), true
	case isNames(m["files"]) && m["count"] != nil:
		return names(m), true
	case isList(m, "entries", "name", "type") && m["path"] != nil:
		return entries(m), true
	case isList(m, "results", "type", "id", "trust") && m["total"] != nil:
		return hits(m)
	case m["bytes_written"] != nil && m["output"] != nil:
		return written(m), true
	}
	return "", false
}

// isList reports whether a member is a list of objects with these members; an empty list
// is one.
func isList(m map[string]any, name string, members ...string) bool {
	list, isList := m[name].([]any)
	if !isList {
		return false
	}
	for _, x := range list {
		o, _ := x.(map[string]any)
		for _, k := range members {
			if o[k] == nil {
				return false
			}
		}
	}
	return true
}

func isNames(v any) bool {
	list, isList := v.([]any)
	for _, x := range list {
		if _, isText := x.(string); !isText {
			return false
		}
	}
	return isList
}

func textOf(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

func numberOf(m map[string]any, name string) int64 {
	n, _ := m[name].(int64)
	return n
}

// isCommand reports whether a result comes from a command line.
func isCommand(m map[string]any) bool {
	_, hasStatus := m["exit_code"].(int64)
	_, hasStdout := m["stdout"].(string)
	_, hasStderr := m["stderr"].(string)
	_, hasOutput := m["output"].(string)
	return hasStdout && hasStderr || hasStatus && (hasStdout || hasOutput)
}

// command returns the output of a command: both streams, each once, and how it ended. The
// error of a failed one has its status.
func command(m map[string]any, failed bool) string {
	var parts []string
	stdout, separate := m["stdout"].(string)
	if !separate {
		stdout = textOf(m, "output")
	}
	if stdout != "" {
		parts = append(parts, strings.TrimRight(stdout, "\n"))
	}
	if stderr := textOf(m, "stderr"); stderr != "" {
		parts = append(parts, "[stderr]\n"+strings.TrimRight(stderr, "\n"))
	}
	none := len(parts) == 0
	if note := textOf(m, "note"); note != "" {
		parts = append(parts, "["+note+"]")
	}
	if !failed {
		end := fmt.Sprintf("exit status %d", numberOf(m, "exit_code"))
		if none {
			end += ", no output"
		}
		parts = append(parts, "["+end+"]")
	}
	return strings.Join(parts, "\n")
}

// matches returns the lines of a search as path:line:text, and those around them as
// path-line-text, each line once.
func matches(m map[string]any) string {
	list, _ := m["matches"].([]any)
	var out []string
	context := false
	file := ""
	last := int64(0) // the line of file that was written last
	for i, x := range list {
		hit, _ := x.(map[string]any)
		name := textOf(hit, "file")
		line := numberOf(hit, "line")
		before := texts(hit["before"])
		after := texts(hit["after"])
		context = context || len(before)+len(after) > 0
		if name != file {
			last = 0
		}
		first := max(line-int64(len(before)), last+1)
		if context && len(out) > 0 && (name != file || first > last+1) {
			out = append(out, "--")
		}
		for n := first; n < line; n++ {
			out = append(out, fmt.Sprintf(
				"%s-%d-%s",
				name,
				n,
				before[n-line+int64(len(before))],
			))
		}
		out = append(out, fmt.Sprintf("%s:%d:%s", name, line, textOf(hit, "content")))
		file = name
		last = line
		until := line + int64(len(after))
		if i+1 < len(list) {
			next, _ := list[i+1].(map[string]any)
			if textOf(next, "file") == name {
				until = min(until, numberOf(next, "line")-1)
			}
		}
		for n := line + 1; n <= until; n++ {
			out = append(out, fmt.Sprintf("%s-%d-%s", name, n, after[n-line-1]))
			last = n
		}
	}
	if len(list) == 0 {
		out = append(out, fmt.Sprintf("[no matches in %d files]", numberOf(m, "files_searched")))
	}
	if m["truncated"] == true {
		out = append(out, fmt.Sprintf("[%d matches, and there are more: narrow the search, or raise limit]", len(list)))
	}
	if n := numberOf(m, "files_skipped"); n > 0 {
		out = append(out, fmt.Sprintf("[%d files were not searched: binary, too large or unreadable]", n))
	}
	return strings.Join(append(out, noted(m)...), "\n")
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		s, _ := x.(string)
		out = append(out, s)
	}
	return out
}

// noted returns the note of a result as a line.
func noted(m map[string]any) []string {
	if note := textOf(m, "note"); note != "" {
		return []string{"[" + note + "]"}
	}
	return nil
}

// names returns a list of files, one a line.
func names(m map[string]any) string {
	out := texts(m["files"])
	count := len(out)
	total := numberOf(m, "total")
	switch {
	case count == 0:
		out = append(out, "[no files]")
	case m["truncated"] == true && total > int64(count):
		out = append(out, fmt.Sprintf("[%d of %d files: narrow the pattern, or raise limit]", count, total))
	case m["truncated"] == true:
		out = append(out, fmt.Sprintf("[%d files, and there are more: narrow the pattern]", count))
	}
	return strings.Join(append(out, noted(m)...), "\n")
}

// entries returns the entries of a directory, one a line: NAME/ for a directory, a name
// and the size in bytes for a file.
func entries(m map[string]any) string {
	list, _ := m["entries"].([]any)
	var out []string
	for _, x := range list {
		e, _ := x.(map[string]any)
		name := textOf(e, "name")
		switch kind := textOf(e, "type"); kind {
		case "dir":
			out = append(out, name+"/")
		case "file":
			out = append(out, fmt.Sprintf("%s\t%d", name, numberOf(e, "size")))
		default:
			out = append(out, name+"\t"+kind)
		}
	}
	switch {
	case len(list) == 0:
		out = append(out, "[the directory is empty]")
	case m["truncated"] == true:
		out = append(out, fmt.Sprintf("[the first %d entries, and there are more]", len(list)))
	}
	return strings.Join(append(out, noted(m)...), "\n")
}

// written describes a write or an edit. The call has the content of a new file.
func written(m map[string]any) string {
	bytes := numberOf(m, "bytes_written")
	name := textOf(m, "file_path")
	diff := strings.TrimRight(textOf(m, "output"), "\n")
	if list, isList := m["results"].([]any); isList {
		out := []string{}
		for _, x := range list {
			one, _ := x.(map[string]any)
			verb := map[bool]string{true: "created", false: "wrote"}[one["created"] == true]
			out = append(out, fmt.Sprintf(
				"%s %s, %d bytes",
				verb,
				textOf(one, "file_path"),
				numberOf(one, "bytes_written"),
			))
		}
		return strings.Join(out, "\n")
	}
	if m["created"] == true {
		return fmt.Sprintf("created %s, %d bytes", name, bytes)
	}
	return strings.TrimRight(fmt.Sprintf("wrote %s, %d bytes\n%s", name, bytes, diff), "\n")
}

// hits returns the items that a search found, one a line. known is false for results with
// further members.
func hits(m map[string]any) (text string, known bool) {
	list, _ := m["results"].([]any)
	var out []string
	for _, x := range list {
		h, _ := x.(map[string]any)
		facts := []string{}
		for _, k := range []string{"version", "source", "trust"} {
			if s := textOf(h, k); s != "" {
				facts = append(facts, s)
			}
		}
		for k := range h {
			switch k {
			case "type", "id", "version", "source", "trust", "score", "title", "description":
			default:
				return "", false
			}
		}
		line := fmt.Sprintf(
			"%s:%s (%s)",
			textOf(h, "type"),
			textOf(h, "id"),
			strings.Join(facts, ", "),
		)
		for _, k := range []string{"title", "description"} {
			if s := textOf(h, k); s != "" {
				line += ": " + s
			}
		}
		out = append(out, line)
	}
	if len(list) == 0 {
		out = append(out, "[nothing found]")
	}
	if next := numberOf(m, "next_offset"); next > 0 {
		out = append(out, fmt.Sprintf("[%d of %d; the next have offset %d]", len(list), numberOf(m, "total"), next))
	}
	for _, k := range []string{"suggestions", "warnings"} {
		if list := texts(m[k]); len(list) > 0 {
			out = append(out, "["+k+": "+strings.Join(list, "; ")+"]")
		}
	}
	return strings.Join(append(out, noted(m)...), "\n"), true
}
