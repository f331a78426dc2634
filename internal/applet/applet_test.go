package applet

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// obj is a JSON object in tests.
type obj = map[string]any

// run runs an applet in a project and returns its decoded result.
func run(t *testing.T, dir, name string, in obj) (obj, int) {
	t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return runRaw(t, dir, name, string(data))
}

func runRaw(t *testing.T, dir, name, in string) (obj, int) {
	t.Helper()
	return runCtx(t, t.Context(), dir, name, in)
}

func runCtx(t *testing.T, ctx context.Context, dir, name, in string) (obj, int) {
	t.Helper()
	var out bytes.Buffer
	exit := Run(ctx, name, Params{
		Stdin: strings.NewReader(in), Stdout: &out, Dir: dir, Environ: os.Environ, Getenv: os.Getenv,
		Now: func() time.Time { return time.Unix(1_770_000_000, 0).UTC() },
	})
	var got obj
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%s wrote no JSON object: %v\n%s", name, err, out.Bytes())
	}
	if bytes.Count(out.Bytes(), []byte("\n")) != 1 {
		t.Errorf("%s wrote more than one line: %s", name, out.Bytes())
	}
	if (exit == 0) != (got["success"] == true) {
		t.Errorf("%s: exit %d with success %v", name, exit, got["success"])
	}
	return got, exit
}

// ok runs an applet that must succeed.
func ok(t *testing.T, dir, name string, in obj) obj {
	t.Helper()
	got, exit := run(t, dir, name, in)
	if exit != 0 {
		t.Fatalf("%s %v: exit %d: %v", name, in, exit, got["error"])
	}
	return got
}

// fails runs an applet that must fail with the code, its message holding each
// of the words.
func fails(t *testing.T, dir, name string, in obj, code string, words ...string) obj {
	t.Helper()
	got, exit := run(t, dir, name, in)
	return checkFailure(t, got, exit, code, words...)
}

func checkFailure(t *testing.T, got obj, exit int, code string, words ...string) obj {
	t.Helper()
	e, _ := got["error"].(obj)
	if exit == 0 || e == nil || e["code"] != code {
		t.Fatalf("exit %d, %v; want code %s", exit, got, code)
	}
	all, _ := json.Marshal(e)
	for _, w := range words {
		if !strings.Contains(strings.ReplaceAll(string(all), `\"`, `"`), w) {
			t.Errorf("error %s does not say %q", all, w)
		}
	}
	return e
}

// project makes a folder with files.
func projectWith(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		put(t, dir, name, data)
	}
	return dir
}

func put(t *testing.T, dir, name, data string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTableIsFreshAndComplete(t *testing.T) {
	want := []string{"bash", "edit_lines", "glob", "grep", "ls", "lsp", "read", "system", "telemetry", "webfetch", "websearch", "write"}
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
	dir := projectWith(t, map[string]string{"a.txt": "a\n"})
	for name, c := range map[string]struct {
		applet, in, code string
		words            []string
	}{
		"unknown applet":      {"grpe", `{}`, "TOOL_NOT_FOUND", []string{`did you mean "grep"`}},
		"unknown applet, far": {"xyzzyxyzzy", `{}`, "TOOL_NOT_FOUND", []string{"edit_lines"}},
		"not JSON":            {"read", `{"file_path":`, "PARSING_ERROR", nil},
		"not an object":       {"read", `["a.txt"]`, "PARSING_ERROR", []string{"a list"}},
		"two values":          {"read", `{} {}`, "PARSING_ERROR", nil},
		"duplicate key":       {"read", `{"file_path":"a.txt","file_path":"b"}`, "PARSING_ERROR", nil},
		"invalid UTF-8":       {"read", "{\"file_path\":\"\xff\"}", "ENCODING", nil},
		"deep":                {"read", `{"file_path":` + strings.Repeat("[", 100_000) + `}`, "PARSING_ERROR", nil},
		"nothing":             {"read", ``, "VALIDATION_FAILED", []string{"file_path is required"}},
		"mistyped parameter":  {"read", `{"file_path":"a.txt","ofset":2}`, "UNKNOWN_PARAMETER", []string{`did you mean "offset"`}},
		"all problems": {"read", `{"ofset":2,"limit":0,"offset":"x"}`, "UNKNOWN_PARAMETER",
			[]string{"and 3 more", "file_path is required", "offset must be a number", "limit must lie between 1 and"}},
		"fraction":      {"read", `{"file_path":"a.txt","offset":1.5}`, "VALIDATION_FAILED", []string{"whole number"}},
		"huge number":   {"read", `{"file_path":"a.txt","limit":1e300}`, "VALIDATION_FAILED", []string{"limit"}},
		"empty path":    {"read", `{"file_path":""}`, "VALIDATION_FAILED", []string{"must not be empty"}},
		"null path":     {"read", `{"file_path":null}`, "VALIDATION_FAILED", []string{"required"}},
		"NUL in path":   {"read", `{"file_path":"a\u0000b"}`, "VALIDATION_FAILED", []string{"NUL"}},
		"nested key":    {"edit_lines", `{"file_path":"a.txt","changes":[{"line_idd":"x","new_content":""}]}`, "UNKNOWN_PARAMETER", []string{"changes[0].line_id"}},
		"list of wrong": {"write", `{"files":["a"]}`, "VALIDATION_FAILED", []string{"files[0] must be an object"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, exit := runRaw(t, dir, c.applet, c.in)
			checkFailure(t, got, exit, c.code, c.words...)
		})
	}
}

func TestRunTurnsAPanicIntoInternal(t *testing.T) {
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
	if exit := Run(t.Context(), "system", Params{}); exit != 0 {
		t.Fatalf("exit %d", exit)
	}
}

func TestProjectComesFromTheEnvironment(t *testing.T) {
	dir := projectWith(t, map[string]string{"only-here": "x\n"})
	var out bytes.Buffer
	exit := Run(t.Context(), "ls", Params{Stdout: &out, Getenv: func(k string) string {
		return map[string]string{"RYE_PROJECT": dir}[k]
	}})
	if exit != 0 || !strings.Contains(out.String(), "only-here") {
		t.Fatalf("exit %d: %s", exit, out.String())
	}
}

func TestSystem(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("RYE_USER_SPACE", "")
	t.Setenv("USER_SPACE", "")
	t.Setenv("USER_PATH", "")
	t.Setenv("SECRET_TOKEN", "hunter2hunter2")
	dir := t.TempDir()
	put(t, home, ".ai/x", "")
	got, exit := run(t, dir, "system", obj{})
	if exit != 0 {
		t.Fatal(got)
	}
	data := got["data"].(obj)
	paths, clock, rt := data["paths"].(obj), data["time"].(obj), data["runtime"].(obj)
	if paths["project_path"] != dir || paths["user_space"] != home || paths["user_space_exists"] != true {
		t.Errorf("paths %v", paths)
	}
	if clock["utc_iso"] != "2026-02-02T02:40:00Z" || clock["utc_timestamp"] != float64(1_770_000_000) {
		t.Errorf("time %v", clock)
	}
	if rt["platform"] == "" || rt["arch"] == "" || rt["rye_version"] == "" {
		t.Errorf("runtime %v", rt)
	}
	if all, _ := json.Marshal(got); bytes.Contains(all, []byte("hunter2")) || bytes.Contains(all, []byte("SECRET_TOKEN")) {
		t.Errorf("the environment leaks: %s", all)
	}
	one := ok(t, dir, "system", obj{"item": "time"})["data"].(obj)
	if len(one) != 1 || one["time"] == nil {
		t.Errorf("item time gives %v", one)
	}
	fails(t, dir, "system", obj{"item": "env"}, "VALIDATION_FAILED", "paths, time, runtime or all")
}
