package archtest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// modulesGoldens have the modules that each program links, by its package.
func modulesGoldens() map[string]string {
	return map[string]string{
		"cmd/rye":        "testdata/modules.txt",
		"cmd/rye-server": "testdata/modules-server.txt",
	}
}

// TestLinkedModules compares the modules that the programs link on any system with
// the reviewed lists. State the reason for a new one in docs/dev/design/dependencies.md.
func TestLinkedModules(t *testing.T) {
	for program, golden := range modulesGoldens() {
		var all []string
		for _, goos := range systems() {
			out := goList(t, goos, "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./"+program)
			all = append(all, strings.Fields(string(out))...)
		}
		slices.Sort(all)
		got := strings.Join(slices.Compact(all), "\n") + "\n"
		if os.Getenv("RYE_UPDATE_GOLDEN") == "1" {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("the modules that %s links differ from %s:\n%s", program, golden, lineDiff(string(want), got))
		}
	}
}

// TestServersAreInTheServer checks that rye links no package that serves people or machines over a
// network for long: rye-server has them.
func TestServersAreInTheServer(t *testing.T) {
	servers := []string{"registry/server", "registry/witness", "internal/httpserve", "internal/markdown", "internal/serverconfig", "internal/servercmd", "internal/servercmd/config", "internal/servercmd/gateway", "internal/gateway", "internal/gateway/access", "internal/gateway/host", "internal/gateway/page", "internal/gateway/trail", "internal/servercmd/registry"}
	for _, goos := range systems() {
		packages := func(program string) []string {
			return strings.Fields(string(goList(t, goos, "-deps", "./"+program)))
		}
		rye := packages("cmd/rye")
		server := packages("cmd/rye-server")
		for _, path := range servers {
			if slices.Contains(rye, module+"/"+path) {
				t.Errorf("on %s, cmd/rye links %s", goos, path)
			}
			if !slices.Contains(server, module+"/"+path) {
				t.Errorf("on %s, cmd/rye-server does not link %s", goos, path)
			}
		}
	}
}

// linkedModules returns the modules that a program links.
func linkedModules(t *testing.T) []string {
	var all []string
	for _, golden := range modulesGoldens() {
		all = append(all, readLines(t, golden)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestModulesAreExplained checks that docs/dev/design/dependencies.md names every
// direct requirement of go.mod.
func TestModulesAreExplained(t *testing.T) {
	doc, err := os.ReadFile("../../docs/dev/design/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range unexplained(string(mod), string(doc)) {
		t.Errorf("docs/dev/design/dependencies.md has no reason for %s", path)
	}
	if got := unexplained("require (\n\texample.test/a v1.0.0\n\texample.test/b v1.0.0 // indirect\n)\nrequire example.test/c v0.1.0\n", "`example.test/c`"); !slices.Equal(got, []string{"example.test/a"}) {
		t.Errorf("requirements without a reason: %q", got)
	}
}

// unexplained returns the direct requirements of a go.mod that a text does not
// name in backquotes.
func unexplained(mod, doc string) []string {
	var out []string
	for line := range strings.Lines(mod) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(words) != 2 || !strings.HasPrefix(words[1], "v") {
			continue
		}
		if !strings.Contains(doc, "`"+words[0]+"`") {
			out = append(out, words[0])
		}
	}
	return out
}

// lineDiff returns the lines that are in one text only, marked - and +.
func lineDiff(want, got string) string {
	var b strings.Builder
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, l := range w {
		if !slices.Contains(g, l) {
			b.WriteString("- " + l + "\n")
		}
	}
	for _, l := range g {
		if !slices.Contains(w, l) {
			b.WriteString("+ " + l + "\n")
		}
	}
	return b.String()
}

// TestStartOfWidths: go-runewidth v0.0.27, which x/ansi names, makes tables before main for 25 ms.
func TestStartOfWidths(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mod)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "github.com/mattn/go-runewidth" {
			if f[1] != "v0.0.31" {
				t.Errorf("go.mod has go-runewidth %s: measure with GODEBUG=inittrace=1 what it takes before main, then change this test", f[1])
			}
			return
		}
	}
	t.Error("go.mod does not pin go-runewidth")
}
