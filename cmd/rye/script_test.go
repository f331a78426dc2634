package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/self"
	"github.com/ryeos/rye/internal/servercmd"
	"github.com/ryeos/rye/internal/testing/mcptest"
	"github.com/ryeos/rye/internal/testing/modelserver"
	"github.com/ryeos/rye/internal/testing/testkit"
)

// TestMain lets the scripts run this test binary as rye: a process of its own,
// with real streams and a real exit status. What differs from the shipped
// program is set here and never by its environment.
//
// Twice as many scripts as processors run at a time: a third of their time they wait for
// disks, servers and timeouts.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err) // -parallel N overrides it
	}
	testscript.Main(m, map[string]func(){
		"toylsp":       toyLSP,
		"typist":       typist,
		"screen":       screenOf,
		"traced":       func() { fmt.Fprintln(os.Stderr, testkit.FilterMain(os.Args[1:])); os.Exit(1) },
		"rye":          func() { os.Exit(runAs(func(*cli.World) {})) },
		"rye-server":   func() { os.Exit(serverMain()) },
		"rye-empty":    func() { os.Exit(runAs(func(w *cli.World) { w.Stdlib = fstest.MapFS{} })) },
		"rye-next":     func() { os.Exit(runAs(func(w *cli.World) { w.Stdlib = nextStdlib() })) },
		"rye-panics":   func() { os.Exit(runAs(func(w *cli.World) { w.Commands = withCommands(brokenCommands) })) },
		"mcp-fixture":  mcptest.Main,
		"model-server": modelserver.Main,
		"ledger-watch": ledgerWatch,
		"rye-lock": func() {
			os.Exit(runAs(func(w *cli.World) {
				w.Commands = withCommands(func() []*cli.Command { return []*cli.Command{relockCommand()} })
			}))
		},
		"mcp":          func() { os.Exit(mcpMain(os.Args[1:])) },
		"console-main": consoleMain,
		"peak":         func() { os.Exit(peakMain(os.Args[1:])) },
	})
}

func runAs(change func(*cli.World)) int {
	w := testWorld(commands)
	change(w)
	return self.Main(context.Background(), w, start)
}

// serverMain is rye-server. TEST_SERVER_VERSION is a version that rye does not have.
func serverMain() int {
	w := testWorld(servercmd.Commands)
	w.Program.Version = cmp.Or(os.Getenv("TEST_SERVER_VERSION"), w.Program.Version)
	return self.Main(context.Background(), w, servercmd.Start)
}

// testWorld returns the world of this process, with the changes of the variables of a script.
func testWorld(commands func(string) []*cli.Command) *cli.World {
	w := self.World(commands)
	if work := os.Getenv("WORK"); work != "" {
		w.Etc = filepath.Join(work, "etc", "rye")
	}
	if now, err := time.Parse(time.RFC3339, os.Getenv("TEST_NOW")); err == nil {
		w.Now = func() time.Time { return now }
	}
	if file := os.Getenv("TEST_CLOCK"); file != "" { // has the seconds by which the clock is ahead
		w.Now = func() time.Time {
			b, _ := os.ReadFile(file)
			n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
			return time.Now().Add(time.Duration(n) * time.Second)
		}
	}
	w.NoEscapes = os.Getenv("TEST_NO_ESCAPES") != ""
	w.Rung, w.Guard = os.Getenv("TEST_RUNG"), -1 // a script types as soon as it sees a question
	if d, err := time.ParseDuration(os.Getenv("TEST_GUARD")); err == nil {
		w.Guard = d
	}
	if v := os.Getenv("TEST_VERSION"); v != "" { // test binaries have no version
		w.Program.Version = v
	}
	w.Program.Revision = cmp.Or(os.Getenv("TEST_REVISION"), w.Program.Revision)
	return w
}

// TestScripts runs the scripts of testdata/scripts, with -short the smallest one of
// each verb that has several.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "scripts", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		files = smallScripts(t, files)
	}
	testscript.Run(t, testscript.Params{
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("RYE_UPDATE_GOLDEN") == "1",
		Setup:               scriptHome,
		Cmds:                scriptCommands(),
		Condition:           scriptConditions(),
	})
}

// smallScripts returns the smallest script of each verb that has several.
func smallScripts(t *testing.T, files []string) []string {
	smallest, sizes, count := map[string]string{}, map[string]int64{}, map[string]int{}
	for _, file := range files {
		fi, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		verb, _, _ := strings.Cut(filepath.Base(file), "_")
		if count[verb]++; count[verb] == 1 || fi.Size() < sizes[verb] {
			smallest[verb], sizes[verb] = file, fi.Size()
		}
	}
	maps.DeleteFunc(smallest, func(verb, _ string) bool { return count[verb] == 1 })
	return slices.Sorted(maps.Values(smallest))
}

// scriptHome gives each script a home of its own, so that no file of the
// person who runs the tests is read or written.
func scriptHome(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, ".home")
	for name, dir := range map[string]string{
		"HOME": home, "USERPROFILE": home,
		"XDG_CONFIG_HOME": filepath.Join(home, "config"),
		"XDG_DATA_HOME":   filepath.Join(home, "data"),
		"XDG_STATE_HOME":  filepath.Join(home, "state"),
		"XDG_CACHE_HOME":  filepath.Join(home, "cache"),
		"AppData":         filepath.Join(home, "roaming"),
		"LocalAppData":    filepath.Join(home, "local"),
	} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		env.Setenv(name, dir)
	}
	for name, value := range map[string]string{
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": filepath.Join(home, ".gitconfig"),
		"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.test", "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.test", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
		"LANG": "C.UTF-8", "TZ": "UTC",
	} {
		env.Setenv(name, value)
	}
	return os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n"), 0o644)
}
