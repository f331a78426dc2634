package main

import (
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdAs makes a person the user of the following commands: as NAME. Each person has an
// own home with an own configuration and cache, and an own name in git.
func cmdAs(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "as NAME")
	home := filepath.Join(ts.Getenv("WORK"), ".people", args[0])
	ts.Check(os.MkdirAll(home, 0o755))
	ts.Setenv("HOME", home)
	for variable, dir := range map[string]string{
		"XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache",
		"AppData": "roaming", "LocalAppData": "local",
	} {
		ts.Setenv(variable, filepath.Join(home, dir))
	}
	for _, role := range []string{"AUTHOR", "COMMITTER"} {
		ts.Setenv("GIT_"+role+"_NAME", args[0])
		ts.Setenv("GIT_"+role+"_EMAIL", args[0]+"@example.test")
	}
}
