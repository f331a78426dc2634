package fs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/testing/wiretest"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{"old.txt": "one\ntwo\n", "same.txt": "x\n", "bin": "\x00"})
	for name, c := range map[string]struct {
		path, content string
		bytes         float64
		created       bool
		diff          string
	}{
		"created":        {"a/b/new.txt", "hé\n", 4, true, "--- /dev/null\n+++ b/a/b/new.txt\n@@ -0,0 +1,1 @@\n+hé\n"},
		"replaced":       {"old.txt", "one\n2\n", 6, false, "--- a/old.txt\n+++ b/old.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"},
		"unchanged":      {"same.txt", "x\n", 2, false, ""},
		"empty":          {"none.txt", "", 0, true, ""},
		"binary":         {"bin", "text", 4, false, "Binary files a/bin and b/bin differ\n"},
		"absolute":       {dir + "/abs.txt", "x", 1, true, "--- /dev/null\n+++ b/abs.txt\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n"},
		"CRLF unchanged": {"crlf.txt", "a\r\nb\r\n", 6, true, "--- /dev/null\n+++ b/crlf.txt\n@@ -0,0 +1,2 @@\n+a\r\n+b\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ok(t, dir, "write", obj{"file_path": c.path, "content": c.content})
			if got["bytes_written"] != c.bytes || got["created"] != c.created || got["output"] != c.diff {
				t.Errorf("got %v", got)
			}
			rel := got["file_path"].(string)
			if filepath.IsAbs(rel) || wiretest.Get(t, dir, rel) != c.content {
				t.Errorf("%s holds %q", rel, wiretest.Get(t, dir, rel))
			}
		})
	}
	noLeftovers(t, dir)
}

func TestWriteBatch(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{"old.txt": "o\n"})
	got := ok(t, dir, "write", obj{"files": []obj{
		{"file_path": "n/a.txt", "content": "ä"}, {"file_path": "n/b.txt", "content": "b"}, {"file_path": "old.txt", "content": "new\n"},
	}})
	if got["files_written"] != float64(3) || got["bytes_written"] != float64(7) || len(got["results"].([]any)) != 3 {
		t.Errorf("got %v", got)
	}
	if wiretest.Get(t, dir, "n/a.txt") != "ä" || wiretest.Get(t, dir, "n/b.txt") != "b" || wiretest.Get(t, dir, "old.txt") != "new\n" {
		t.Error("contents differ")
	}
}

func TestWriteBatchIsAllOrNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		second obj
		code   string
		word   string
	}{
		"escape":         {obj{"file_path": "../x", "content": ""}, "PATH_ESCAPE", "../x"},
		"git":            {obj{"file_path": ".git/x", "content": ""}, "POLICY_DENIED", ".git"},
		"folder":         {obj{"file_path": "dir", "content": ""}, "NOT_REGULAR", "dir"},
		"folder's name":  {obj{"file_path": "new/", "content": ""}, "NOT_REGULAR", "new/"},
		"below a file":   {obj{"file_path": "old.txt/x", "content": ""}, "FILE_SYSTEM_ERROR", "not a directory"},
		"twice":          {obj{"file_path": "./a.txt", "content": ""}, "VALIDATION_FAILED", "same file"},
		"in one another": {obj{"file_path": "a.txt/b", "content": ""}, "VALIDATION_FAILED", "is inside the other"},
		"no content":     {obj{"file_path": "b"}, "VALIDATION_FAILED", "files[1].content is missing"},
		"unknown key":    {obj{"file_path": "b", "contents": "x"}, "UNKNOWN_PARAMETER", `the fields here are file_path, content`},
		"too large":      {obj{"file_path": "b", "content": strings.Repeat("x", files.MaxSize+1)}, "VALIDATION_FAILED", "10485760"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := wiretest.Project(t, map[string]string{"old.txt": "o\n", "dir/x": ""})
			fails(t, dir, "write", obj{"files": []obj{{"file_path": "a.txt", "content": "a"}, c.second}}, c.code, c.word)
			if _, err := os.Lstat(filepath.Join(dir, "a.txt")); err == nil {
				t.Error("the first file was written")
			}
			noLeftovers(t, dir)
		})
	}
}

func TestWriteBatchNamesEveryBadPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fails(t, dir, "write", obj{"files": []obj{
		{"file_path": "../x", "content": ""}, {"file_path": "good", "content": ""}, {"file_path": ".git/y", "content": ""},
	}}, "PATH_ESCAPE", "../x", ".git/y")
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		in   obj
		word string
	}{
		"nothing":        {obj{}, "file_path is missing"},
		"no content":     {obj{"file_path": "a"}, "content is missing"},
		"both":           {obj{"file_path": "a", "content": "", "files": []obj{{"file_path": "b", "content": ""}}}, "excludes"},
		"empty batch":    {obj{"files": []obj{}}, "must list at least one file"},
		"files a string": {obj{"files": "a"}, "must be a list"},
	} {
		t.Run(name, func(t *testing.T) { fails(t, dir, "write", c.in, "VALIDATION_FAILED", c.word) })
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("written: %v", entries)
	}
}

func TestWriteCutsALongDiff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got := ok(t, dir, "write", obj{"file_path": "f", "content": strings.Repeat("line\n", 20_000)})
	out := got["output"].(string)
	if len(out) > maxDiff+100 || !strings.Contains(out, "more lines]") {
		t.Errorf("%d bytes, ends %q", len(out), out[len(out)-40:])
	}
}

// edits calls edit_lines with the ids of the given lines (from 1).
func lineOf(t *testing.T, dir, name string, n int) string {
	t.Helper()
	ids, _ := shown(t, ok(t, dir, "read", obj{"file_path": name, "line_ids": true}))
	return ids[n-1]
}

func TestEditLines(t *testing.T) {
	t.Parallel()
	type change struct {
		from, to int
		content  string
	}
	for name, c := range map[string]struct {
		before  string
		changes []change
		after   string
		changed float64
	}{
		"one line":              {"a\nb\nc\n", []change{{2, 2, "B"}}, "a\nB\nc\n", 1},
		"newline at the end":    {"a\nb\nc\n", []change{{2, 2, "B\n"}}, "a\nB\nc\n", 1},
		"more lines":            {"a\nb\nc\n", []change{{2, 2, "B\nb"}}, "a\nB\nb\nc\n", 2},
		"a range":               {"a\nb\nc\nd\n", []change{{2, 3, "X"}}, "a\nX\nd\n", 2},
		"deleted":               {"a\nb\nc\n", []change{{2, 2, ""}}, "a\nc\n", 1},
		"an empty line":         {"a\nb\nc\n", []change{{2, 2, "\n"}}, "a\n\nc\n", 1},
		"all deleted":           {"a\nb\n", []change{{1, 2, ""}}, "", 2},
		"two, in any order":     {"a\nb\nc\nd\n", []change{{4, 4, "D\nE"}, {1, 1, ""}}, "b\nc\nD\nE\n", 3},
		"adjacent lines":        {"a\nb\nc\n", []change{{1, 1, "A"}, {2, 2, "B"}}, "A\nB\nc\n", 2},
		"duplicates":            {"}\n}\n}\n", []change{{2, 2, "X"}}, "}\nX\n}\n", 1},
		"empty lines":           {"a\n\n\nb\n", []change{{3, 3, "X"}}, "a\n\nX\nb\n", 1},
		"CRLF kept":             {"a\r\nb\r\nc\r\n", []change{{2, 2, "B\nX"}}, "a\r\nB\r\nX\r\nc\r\n", 2},
		"CRLF given":            {"a\nb\n", []change{{2, 2, "B\r\nX\r\n"}}, "a\nB\nX\n", 2},
		"mixed endings":         {"a\r\nb\nc\r\n", []change{{2, 2, "B"}}, "a\r\nB\nc\r\n", 1},
		"no final newline":      {"a\nb", []change{{2, 2, "B\nC"}}, "a\nB\nC", 2},
		"no final, CRLF":        {"a\r\nb", []change{{2, 2, "B\nC"}}, "a\r\nB\r\nC", 2},
		"no final, other line":  {"a\nb", []change{{1, 1, "A"}}, "A\nb", 1},
		"no final, deleted":     {"a\nb", []change{{2, 2, ""}}, "a", 1},
		"no final, empty line":  {"a\nb", []change{{2, 2, "\n"}}, "a\n\n", 1},
		"byte order mark":       {"\xef\xbb\xbfa\nb\n", []change{{1, 1, "A"}}, "\xef\xbb\xbfA\nb\n", 1},
		"not UTF-8 elsewhere":   {"caf\xe9\nb\n", []change{{2, 2, "B"}}, "caf\xe9\nB\n", 1},
		"carriage return alone": {"a\rb\nc\n", []change{{2, 2, "C"}}, "a\rb\nC\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := wiretest.Project(t, map[string]string{"f": c.before})
			var changes []obj
			for _, ch := range c.changes {
				if ch.from == ch.to {
					changes = append(changes, obj{"line_id": lineOf(t, dir, "f", ch.from), "new_content": ch.content})
				} else {
					changes = append(changes, obj{"start_line_id": lineOf(t, dir, "f", ch.from), "end_line_id": lineOf(t, dir, "f", ch.to), "new_content": ch.content})
				}
			}
			got := ok(t, dir, "edit_lines", obj{"file_path": "f", "changes": changes})
			if after := wiretest.Get(t, dir, "f"); after != c.after {
				t.Errorf("file %q, want %q", after, c.after)
			}
			if got["changes_applied"] != float64(len(changes)) || got["lines_changed"] != c.changed {
				t.Errorf("applied %v, lines %v", got["changes_applied"], got["lines_changed"])
			}
			if !strings.HasPrefix(got["output"].(string), "--- a/f\n+++ b/f\n@@ ") {
				t.Errorf("diff %q", got["output"])
			}
			noLeftovers(t, dir)
		})
	}
}

func TestEditLinesWithShownIDs(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{"f": "a\nb\n"})
	id := lineOf(t, dir, "f", 1)
	for i, form := range []string{"[LID:" + id + "]", "LID:" + id, "[" + id + "] ", strings.ToUpper(id)} {
		wiretest.Put(t, dir, "f", "a\nb\n")
		ok(t, dir, "edit_lines", obj{"file_path": "f", "changes": []obj{{"line_id": form, "new_content": fmt.Sprint(i)}}})
	}
}

// TestEditLinesAfterAnotherEdit uses ids of one read through several edits.
func TestEditLinesAfterAnotherEdit(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{"f": "a\nb\nc\nd\n"})
	first, last := lineOf(t, dir, "f", 1), lineOf(t, dir, "f", 4)
	ok(t, dir, "edit_lines", obj{"file_path": "f", "changes": []obj{{"line_id": first, "new_content": "x\ny\nz"}}})
	ok(t, dir, "edit_lines", obj{"file_path": "f", "changes": []obj{{"line_id": last, "new_content": "D"}}})
	if got := wiretest.Get(t, dir, "f"); got != "x\ny\nz\nb\nc\nD\n" {
		t.Fatalf("file %q", got)
	}
	fails(t, dir, "edit_lines", obj{"file_path": "f", "changes": []obj{{"line_id": first, "new_content": "read with line_ids returns them"}}},
		"VALIDATION_FAILED", first, "read with line_ids returns them")
}

func TestEditLinesRefuses(t *testing.T) {
	t.Parallel()
	content := "a\nb\nc\nd\ne\n"
	dir := wiretest.Project(t, map[string]string{"f": content, "bin": "a\x00", "empty": ""})
	id := func(n int) string { return lineOf(t, dir, "f", n) }
	one := func(c ...obj) obj { return obj{"file_path": "f", "changes": c} }
	for name, c := range map[string]struct {
		in    obj
		code  string
		words []string
	}{
		"unknown ids, all named": {one(obj{"line_id": "aaaaaaaaaa", "new_content": ""}, obj{"start_line_id": id(1), "end_line_id": "bbbbbbbbbb", "new_content": ""}), "VALIDATION_FAILED",
			[]string{"changes[0].line_id", "aaaaaaaaaa", "changes[1].end_line_id", "bbbbbbbbbb", "read with line_ids returns them"}},
		"same line twice":   {one(obj{"line_id": id(2), "new_content": "x"}, obj{"line_id": id(2), "new_content": "y"}), "VALIDATION_FAILED", []string{"changes[0] and changes[1] overlap at line 2"}},
		"ranges overlap":    {one(obj{"start_line_id": id(3), "end_line_id": id(5), "new_content": ""}, obj{"start_line_id": id(1), "end_line_id": id(3), "new_content": ""}), "VALIDATION_FAILED", []string{"overlap at line 3"}},
		"one in a range":    {one(obj{"start_line_id": id(1), "end_line_id": id(5), "new_content": ""}, obj{"line_id": id(2), "new_content": ""}, obj{"line_id": id(4), "new_content": ""}), "VALIDATION_FAILED", []string{"changes[0] and changes[1] overlap", "changes[0] and changes[2] overlap"}},
		"backwards":         {one(obj{"start_line_id": id(4), "end_line_id": id(2), "new_content": ""}), "VALIDATION_FAILED", []string{"line 2, above the start, line 4"}},
		"both forms":        {one(obj{"line_id": id(1), "start_line_id": id(1), "end_line_id": id(1), "new_content": ""}), "VALIDATION_FAILED", []string{"excludes"}},
		"half a range":      {one(obj{"start_line_id": id(1), "new_content": ""}), "VALIDATION_FAILED", []string{"end_line_id is missing"}},
		"no content":        {one(obj{"line_id": id(1)}), "VALIDATION_FAILED", []string{"new_content is missing"}},
		"NUL":               {one(obj{"line_id": id(1), "new_content": "a\x00"}), "VALIDATION_FAILED", []string{"NUL"}},
		"no changes":        {one(), "VALIDATION_FAILED", []string{"changes"}},
		"binary":            {obj{"file_path": "bin", "changes": []obj{{"line_id": "x", "new_content": ""}}}, "ENCODING", []string{"binary"}},
		"empty file":        {obj{"file_path": "empty", "changes": []obj{{"line_id": "x", "new_content": ""}}}, "VALIDATION_FAILED", []string{"not the id of a line"}},
		"missing file":      {obj{"file_path": "nope", "changes": []obj{{"line_id": "x", "new_content": ""}}}, "FILE_SYSTEM_ERROR", []string{"nope"}},
		"six hex of before": {one(obj{"line_id": "a1b2c3", "new_content": ""}), "VALIDATION_FAILED", []string{"a1b2c3"}},
	} {
		t.Run(name, func(t *testing.T) {
			fails(t, dir, "edit_lines", c.in, c.code, c.words...)
			if got := wiretest.Get(t, dir, "f"); got != content {
				t.Errorf("the file was changed to %q", got)
			}
			noLeftovers(t, dir)
		})
	}
}
