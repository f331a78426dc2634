package applet

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/testing/wiretest"
)

func run(t *testing.T, dir, name, in string) (wiretest.Object, int) {
	t.Helper()
	return wiretest.Applets(Table()).RunJSON(t, t.Context(), Params{Dir: dir}, name, in)
}

func TestTableIsFreshAndComplete(t *testing.T) {
	t.Parallel()
	want := []string{"bash", "edit_lines", "glob", "grep", "ls", "lsp", "prepare", "read", "system", "telemetry", "webfetch", "websearch", "write"}
	if got := slices.Sorted(maps.Keys(Table())); !slices.Equal(got, want) {
		t.Fatalf("applets %v, want %v", got, want)
	}
	one := Table()
	delete(one, "bash")
	if Table()["bash"] == nil {
		t.Error("a change of one table shows in the next")
	}
}

func TestRunRefusesBadCalls(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{"a.txt": "a\n"})
	for name, c := range map[string]struct {
		applet, in, code string
		words            []string
	}{
		"unknown applet":      {"grpe", `{}`, "TOOL_NOT_FOUND", []string{"grep"}},
		"unknown applet, far": {"xyzzyxyzzy", `{}`, "TOOL_NOT_FOUND", []string{"edit_lines"}},
		"not JSON":            {"read", `{"file_path":`, "PARSING_ERROR", nil},
		"not an object":       {"read", `["a.txt"]`, "PARSING_ERROR", []string{"a list"}},
		"two values":          {"read", `{} {}`, "PARSING_ERROR", nil},
		"duplicate key":       {"read", `{"file_path":"a.txt","file_path":"b"}`, "PARSING_ERROR", nil},
		"invalid UTF-8":       {"read", "{\"file_path\":\"\xff\"}", "ENCODING", nil},
		"deep":                {"read", `{"file_path":` + strings.Repeat("[", 100_000) + `}`, "PARSING_ERROR", nil},
		"nothing":             {"read", ``, "VALIDATION_FAILED", []string{"file_path is missing"}},
		"mistyped parameter":  {"read", `{"file_path":"a.txt","ofset":2}`, "UNKNOWN_PARAMETER", []string{"offset"}},
		"all problems": {"read", `{"ofset":2,"limit":0,"offset":"x"}`, "UNKNOWN_PARAMETER",
			[]string{"and 3 more", "file_path is missing", "offset must be a whole number", "limit must be a whole number from 1 to"}},
		"fraction":      {"read", `{"file_path":"a.txt","offset":1.5}`, "VALIDATION_FAILED", []string{"whole number"}},
		"huge number":   {"read", `{"file_path":"a.txt","limit":1e300}`, "VALIDATION_FAILED", []string{"limit"}},
		"empty path":    {"read", `{"file_path":""}`, "VALIDATION_FAILED", []string{"file_path is empty"}},
		"null path":     {"read", `{"file_path":null}`, "VALIDATION_FAILED", []string{"file_path is missing"}},
		"NUL in path":   {"read", `{"file_path":"a\u0000b"}`, "VALIDATION_FAILED", []string{"NUL"}},
		"nested key":    {"edit_lines", `{"file_path":"a.txt","changes":[{"line_idd":"x","new_content":""}]}`, "UNKNOWN_PARAMETER", []string{"changes[0].line_idd"}},
		"list of wrong": {"write", `{"files":["a"]}`, "VALIDATION_FAILED", []string{"files[0] must be a mapping"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, exit := run(t, dir, c.applet, c.in)
			wiretest.CheckFailure(t, got, exit, c.code, c.words...)
		})
	}
}

func TestRunTurnsAPanicIntoInternal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	exit := Run(t.Context(), "read", Params{Stdin: panicReader{}, Stdout: &out})
	if exit != 70 || !strings.Contains(out.String(), `"INTERNAL"`) {
		t.Fatalf("exit %d: %s", exit, out.String())
	}
	if strings.Contains(out.String(), "goroutine") {
		t.Error("the result holds a stack trace")
	}
}

type panicReader struct{}

func (panicReader) Read([]byte) (int, error) { panic("broken reader") }

func TestZeroParamsWork(t *testing.T) {
	t.Parallel()
	if exit := Run(t.Context(), "system", Params{}); exit != 0 {
		t.Fatalf("exit %d", exit)
	}
}

func TestProjectComesFromTheEnvironment(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{"only-here": "x\n"})
	var out bytes.Buffer
	exit := Run(t.Context(), "ls", Params{Stdout: &out, Getenv: func(k string) string {
		return map[string]string{"RYE_PROJECT": dir}[k]
	}})
	if exit != 0 || !strings.Contains(out.String(), "only-here") {
		t.Fatalf("exit %d: %s", exit, out.String())
	}
}
