// Package wiretest runs applets in tests and checks their results. Only tests
// import it; it starts no process.
package wiretest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/applet/wire"
)

// Object is a JSON object.
type Object = map[string]any

// Applets runs the applets of one table.
type Applets map[string]wire.Func

// Run runs an applet in a directory and returns its result and exit status.
func (a Applets) Run(t *testing.T, dir, name string, in Object) (Object, int) {
	t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return a.RunJSON(
		t,
		t.Context(),
		wire.Params{Dir: dir},
		name,
		string(data),
	)
}

// RunJSON is Run with a context, with more parameters and with the bytes on
// stdin.
func (a Applets) RunJSON(
	t *testing.T,
	ctx context.Context,
	p wire.Params,
	name, in string,
) (Object, int) {
	t.Helper()
	var out bytes.Buffer
	p.Stdin = strings.NewReader(in)
	p.Stdout = &out
	p.Environ = os.Environ
	if p.Getenv == nil {
		p.Getenv = os.Getenv
	}
	p.Now = func() time.Time {
		return time.Unix(1_770_000_000, 0).UTC()
	}
	exit := wire.Run(ctx, a, name, p)
	var got Object
	err := json.Unmarshal(out.Bytes(), &got)
	if err != nil {
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

// OK runs an applet that must succeed.
func (a Applets) OK(t *testing.T, dir, name string, in Object) Object {
	t.Helper()
	got, exit := a.Run(t, dir, name, in)
	if exit != 0 {
		t.Fatalf("%s %v: exit %d: %v", name, in, exit, got["error"])
	}
	return got
}

// Fails runs an applet that must fail with the code; the error must contain each
// of the words.
func (a Applets) Fails(
	t *testing.T,
	dir, name string,
	in Object,
	code string,
	words ...string,
) Object {
	t.Helper()
	got, exit := a.Run(t, dir, name, in)
	return CheckFailure(t, got, exit, code, words...)
}

// CheckFailure checks a failed result and returns its error.
func CheckFailure(t *testing.T, got Object, exit int, code string, words ...string) Object {
	t.Helper()
	e, _ := got["error"].(Object)
	if exit == 0 || e == nil || e["code"] != code {
		t.Fatalf("exit %d, %v; want code %s", exit, got, code)
	}
	all, _ := json.Marshal(e)
	for _, w := range words {
		if !strings.Contains(strings.ReplaceAll(string(all), `\"`, `"`), w) {
			t.Errorf("error %s does not contain %q", all, w)
		}
	}
	return e
}

// Project returns a directory with files.
func Project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		Put(t, dir, name, data)
	}
	return dir
}

// Put writes a file and its directories.
func Put(t *testing.T, dir, name, data string) {
	t.Helper()
	file := filepath.Join(dir, name)
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(file, []byte(data), 0o644)
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns the content of a file.
func Get(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
