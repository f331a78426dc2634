package resulttext

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/jsonx"
)

// parsed returns a document as tools return it.
func parsed(t *testing.T, doc string) any {
	t.Helper()
	v, fs := jsonx.ParseMessage([]byte(doc))
	if len(fs) > 0 {
		t.Fatalf("%s: %v", doc, fs)
	}
	return v
}

func TestText(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"a text", `"one\ntwo\n"`, "one\ntwo\n"},
		{"output of a program", `{"stdout":"hello\n"}`, "hello\n"},
		{"nothing", `{"success":true}`, "[no output]"},
		{"data", `{"label":"bug","success":true,"count":2}`, `{"count":2,"label":"bug"}`},
		{"a list", `[1,2.5]`, `[1,2.5]`},
		{"a text with facts", `{"url":"http://x/","status":200,"content":"a\nb\n"}`, "status: 200\nurl: http://x/\n\na\nb"},
		{"two texts", `{"before":"a\nb","after":"c\nd"}`, "[after]\nc\nd\n[before]\na\nb"},
		{"a schema", `{"type":"tool","parameters":{"b":1,"a":2},"content":"x\ny"}`, "parameters: {\"a\":2,\"b\":1}\ntype: tool\n\nx\ny"},
		{"a command", `{"success":true,"exit_code":0,"duration_ms":7,"truncated":false,"output":"out\nerr\n","stdout":"out\n","stderr":"err\n"}`, "out\n[stderr]\nerr\n[exit status 0]"},
		{"a command without output", `{"exit_code":0,"output":"","stdout":"","stderr":""}`, "[exit status 0, no output]"},
		{"a command in one text", `{"exit_code":0,"output":"a\nb\n","note":"a background process was stopped"}`, "a\nb\n[a background process was stopped]\n[exit status 0]"},
		{"a file", `{"file_path":"f","offset":1,"line_count":2,"total_lines":2,"truncated":false,"encoding":"utf-8","output":"a\nb"}`, "a\nb"},
		{"a part of a file", `{"file_path":"f","offset":3,"line_count":2,"total_lines":9,"truncated":true,"next_offset":5,"encoding":"utf-8","output":"c\nd"}`, "c\nd\n[lines 3-4 of 9; the next one is offset 5]"},
		{"the last part", `{"file_path":"f","offset":9,"line_count":1,"total_lines":9,"encoding":"unknown-8bit","output":"i"}`, "i\n[lines 9-9 of 9; encoding unknown-8bit]"},
		{"an empty file", `{"file_path":"f","offset":1,"line_count":0,"total_lines":0,"output":""}`, "[the file is empty]"},
		{"matches", `{"count":1,"matches":[{"file":"a.go","line":3,"line_id":"x","content":"foo: bar"}],"files_searched":4,"files_skipped":2}`, "a.go:3:foo: bar\n[2 files were not searched: binary, too large or unreadable]"},
		{
			"matches with lines around, each once",
			`{"count":3,"truncated":true,"matches":[{"file":"a","line":2,"content":"x","before":["1"],"after":["3"]},{"file":"a","line":4,"content":"x","before":["3"],"after":["5"]},{"file":"a","line":9,"content":"x","before":["8"]}]}`,
			"a-1-1\na:2:x\na-3-3\na:4:x\na-5-5\n--\na-8-8\na:9:x\n[3 matches, and there are more: narrow the search, or raise limit]",
		},
		{"no match", `{"count":0,"matches":[],"files_searched":4}`, "[no matches in 4 files]"},
		{"files", `{"count":2,"total":5,"truncated":true,"files":["a","b"]}`, "a\nb\n[2 of 5 files: narrow the pattern, or raise limit]"},
		{"no files", `{"count":0,"total":0,"files":[]}`, "[no files]"},
		{"a directory", `{"path":".","count":3,"entries":[{"name":"d","type":"dir","size":0},{"name":"f","type":"file","size":12},{"name":"l","type":"link","size":0}]}`, "d/\nf\t12\nl\tlink"},
		{"a new file", `{"file_path":"g","bytes_written":5,"created":true,"output":"--- /dev/null\n+++ b/g\n"}`, "created g, 5 bytes"},
		{"a changed file", `{"file_path":"g","bytes_written":5,"created":false,"output":"@@ -1 +1 @@\n-a\n+b\n"}`, "wrote g, 5 bytes\n@@ -1 +1 @@\n-a\n+b"},
		{"files that were written", `{"bytes_written":7,"files_written":2,"output":"x","results":[{"file_path":"a","bytes_written":3,"created":true},{"file_path":"b","bytes_written":4,"created":false}]}`, "created a, 3 bytes\nwrote b, 4 bytes"},
		{
			"items", `{"results":[{"type":"tool","id":"a/b","source":"project","version":"1.0.0","score":4.1,"trust":"trusted","description":"Does it."}],"total":3,"next_offset":1}`,
			"tool:a/b (1.0.0, project, trusted): Does it.\n[1 of 3; the next have offset 1]",
		},
		{"items with more facts", `{"results":[{"type":"tool","id":"a","trust":"unverified","signers":["x"]}],"total":1}`, `{"results":[{"id":"a","signers":["x"],"trust":"unverified","type":"tool"}],"total":1}`},
	} {
		if got := Text(parsed(t, c.data)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestFailure(t *testing.T) {
	for _, c := range []struct {
		name    string
		p       Problem
		details string
		want    string
	}{
		{"without details", Problem{Code: "TIMEOUT", Message: "it took too long"}, `{}`, "TIMEOUT: it took too long"},
		{
			"a command keeps its output", Problem{Code: "EXECUTION_FAILED", Message: "the command failed: exit status 3"},
			`{"return_code":1,"data":{"exit_code":3,"stdout":"out\n","stderr":"err\n"}}`, "EXECUTION_FAILED: the command failed: exit status 3\nout\n[stderr]\nerr",
		},
		{"a program keeps its output", Problem{Code: "EXECUTION_FAILED", Message: "exit status 1"}, `{"return_code":1,"stdout":"out\n","stderr":"err\n"}`, "EXECUTION_FAILED: exit status 1\nout\n[stderr]\nerr"},
		{"stderr that the message has", Problem{Code: "X", Message: "no module named yaml"}, `{"stderr":"no module named yaml\n"}`, "X: no module named yaml"},
		{
			"several problems", Problem{Code: "VALIDATION_FAILED", Message: "signing a: 2 problems", Hint: "fix them"},
			`{"findings":[{"path":"a.md","line":3,"message":"no name"},{"code":"UNKNOWN_PARAMETER","message":"x"}]}`,
			"VALIDATION_FAILED: signing a: 2 problems\n- a.md:3: no name\n- UNKNOWN_PARAMETER: x\nhint: fix them",
		},
		{"other facts", Problem{Code: "X", Message: "offset 9 is beyond the end"}, `{"total_lines":7,"offset":9}`, "X: offset 9 is beyond the end\ntotal_lines: 7"},
	} {
		c.p.Details, _ = parsed(t, c.details).(map[string]any)
		if got := Failure(c.p); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestCode(t *testing.T) {
	for text, want := range map[string]string{
		"TIMEOUT: too long: really\nmore":                            "TIMEOUT|too long: really",
		`{"success":false,"error":{"code":"TIMEOUT","message":"m"}}`: "TIMEOUT|m",
		`{"success":false}`:                                          "|",
		"no such file\nmore":                                         "|no such file",
		"Note: it is open":                                           "|Note: it is open",
	} {
		if code, message := Code(text); code+"|"+message != want {
			t.Errorf("%q: %q, %q", text, code, message)
		}
	}
}

// Following the notes from the first page returns every line once, whatever fits.
func TestFitReadsAll(t *testing.T) {
	for limit, count := range map[int]int{1: 100, 900: 300, 50_000: 5000, 100_000: 5000} {
		var all, got []string
		for i := range count {
			all = append(all, fmt.Sprintf("%d %s", i, strings.Repeat("x", i*i%1999)))
		}
		pages := 0
		for offset := 1; offset <= len(all); pages++ {
			lines := all[offset-1 : min(offset-1+2000, len(all))]
			data := map[string]any{"file_path": "f", "offset": int64(offset), "line_count": int64(len(lines)), "total_lines": int64(len(all)), "output": strings.Join(lines, "\n")}
			if offset-1+len(lines) < len(all) {
				data["next_offset"] = int64(offset + len(lines))
			}
			fitted, _ := Fit(data, limit).(map[string]any)
			text := Text(fitted)
			if len(text) > max(limit, 2300) {
				t.Fatalf("a page of %d bytes, of %d", len(text), limit)
			}
			body, note, found := cutLast(text)
			got = append(got, strings.Split(body, "\n")...)
			if !found || !strings.Contains(note, "the next one is offset") {
				break
			}
			if _, err := fmt.Sscanf(note[strings.LastIndex(note, "offset"):], "offset %d]", &offset); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Join(got, "\n") != strings.Join(all, "\n") {
			t.Errorf("limit %d: %d lines in %d pages", limit, len(got), pages)
		}
	}
}

// cutLast divides a text before its last line.
func cutLast(s string) (before, last string, found bool) {
	i := strings.LastIndexByte(s, '\n')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
