package search

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/stdlib"
)

// childProject is the variable with the directory that a child process searches.
const childProject = "RYE_SEARCH_TEST_PROJECT"

// TestChild is the program of the processes that TestKilled starts. They search
// until they are killed.
func TestChild(t *testing.T) {
	dir := os.Getenv(childProject)
	if dir == "" {
		t.Skip("only in a child process")
	}
	k := projectAt(t, dir)
	for n := 0; ; n++ {
		x := k.index(false)
		for range 1 + n%3 {
			res, err := x.Search(t.Context(), Query{Text: "zebras", Limit: 100})
			if err != nil || res.Total != stable {
				t.Fatalf("%+v, %v", res, err)
			}
		}
		if n == 0 {
			if err := os.WriteFile(filepath.Join(dir, "ready-"+strconv.Itoa(os.Getpid())), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// stable is the number of items that no edit touches.
const stable = 60

// projectAt returns the kit of a project that another process created.
func projectAt(t testing.TB, dir string) *kit {
	h := &testkit.Workspace{T: t, Now: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Dir: dir, Project: filepath.Join(dir, "project"),
		User: filepath.Join(dir, "user"), Trust: filepath.Join(dir, "trust"), Cache: filepath.Join(dir, "cache"), Key: testkit.Key(42), System: stdlib.FS()}
	return &kit{h, Params{CacheDir: h.Cache, Now: time.Now}}
}

// Processes index one project at the same time while it changes, and are
// killed in the middle of it: none ever gives a wrong answer, and what they
// leave behind is a sound index.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes")
	}
	t.Parallel()
	k := newKit(t)
	for i := range stable {
		k.Write(k.Project, fmt.Sprintf("tools/stable/s%02d.yaml", i), tool(fmt.Sprintf("Stable zebras, %d.", i), ""))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	children := make([]*child, 4)
	for i := range children {
		children[i] = startChild(t, self, k.Dir)
	}
	for round := range 60 {
		k.Write(k.Project, fmt.Sprintf("tools/moving/m%02d.yaml", r.IntN(30)), tool(fmt.Sprintf("A moving okapi, %d.", round), ""))
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
		if round%4 == 3 {
			i := r.IntN(len(children))
			children[i].kill(t)
			children[i] = startChild(t, self, k.Dir)
		}
	}
	for _, c := range children {
		c.kill(t)
	}
	k.p.Now = func() time.Time { return time.Now().Add(time.Hour) }
	for _, text := range []string{"okapi", "stable", "*", "moving OR zebras"} {
		q := Query{Text: text, Limit: 200}
		want := show(k.index(true).Search(t.Context(), q))
		if got := show(k.index(false).Search(t.Context(), q)); got != want {
			t.Errorf("%s: index %s\nscan %s", text, got, want)
		}
	}
	if n, _ := k.reads(k.index(false), "okapi"); n != 0 {
		t.Errorf("the index that was left is not used: %d reads", n)
	}
	// The last writer, who was not killed, cleaned up.
	k.Write(k.Project, "tools/moving/last.yaml", tool("The last okapi.", ""))
	k.reads(k.index(false), "okapi")
	for _, f := range k.files() {
		if name := filepath.Base(f); atomicfile.Temporary(name) && filepath.Dir(f) != filepath.Join(k.Cache, folderName) {
			t.Errorf("%s is left", f)
		}
	}
}

// child is a process that searches.
type child struct {
	cmd *exec.Cmd
	out *strings.Builder
}

func startChild(t *testing.T, self, dir string) *child {
	t.Helper()
	c := &child{exec.Command(self, "-test.run=^TestChild$", "-test.timeout=5m"), &strings.Builder{}}
	c.cmd.Env = append(os.Environ(), childProject+"="+dir)
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() }) // it is dead already, unless the test failed
	ready := filepath.Join(dir, "ready-"+strconv.Itoa(c.cmd.Process.Pid))
	for range 6000 {
		if _, err := os.Stat(ready); err == nil {
			return c
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("a process does not get ready: %s", c.out)
	return nil
}

// kill ends a process as nothing can resist. It must not have ended before.
func (c *child) kill(t *testing.T) {
	t.Helper()
	err := c.cmd.Process.Kill()
	_ = c.cmd.Wait() // it was killed
	if err != nil || strings.Contains(c.out.String(), "FAIL") {
		t.Fatalf("a process ended by itself: %v\n%s", err, c.out)
	}
}
