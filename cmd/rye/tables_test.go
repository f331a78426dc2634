package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/inline"
)

// allTables returns the tables of the program and of its command line.
func allTables(t *testing.T) map[string]*cli.Table {
	t.Helper()
	all := cli.CommandTables()
	for name, table := range cli.Tables() {
		if all[name] != nil {
			t.Errorf("two tables have the name %q", name)
		}
		all[name] = table
	}
	return all
}

// commandDirs returns the directories with the source of commands and of the command line.
func commandDirs(t *testing.T) []string {
	t.Helper()
	commands, err := filepath.Glob("../../internal/cmd/*")
	if err != nil {
		t.Fatal(err)
	}
	servers, err := filepath.Glob("../../internal/servercmd/*")
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat([]string{".", "../../internal/cli"}, servers, commands)
}

// TestTablesAreDeclared verifies that every table is one of cli.CommandTables and of cli.Tables, and that
// each of those is printed by a command.
func TestTablesAreDeclared(t *testing.T) {
	used := map[string]bool{}
	name := regexp.MustCompile(`(?:NewTable\(|Tables\(\)\[)(?:(?:cli\.)?Pick\(\w+, )?"([^"]+)"(?:, "([^"]+)")?`)
	literal := regexp.MustCompile(`(^|[^\]\w])(cli\.)?Table\{`)
	for _, dir := range commandDirs(t) {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			text := string(b)
			for _, m := range name.FindAllStringSubmatch(text, -1) {
				used[m[1]] = true
				used[m[2]] = true
			}
			if !strings.HasSuffix(filepath.Base(f), "tables.go") && literal.MatchString(text) {
				t.Errorf("%s makes a table of its own: declare it in internal/cli/command_tables.go, so that it has goldens", f)
			}
		}
	}
	delete(used, "")
	declared := allTables(t)
	for _, n := range slices.Sorted(maps.Keys(declared)) {
		if !used[n] {
			t.Errorf("no command prints the table %q", n)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(used)) {
		if declared[n] == nil {
			t.Errorf("the table %q is not declared", n)
		}
	}
}

// typical adds rows to a table as commands print them.
func typical(t *testing.T, name string, table *cli.Table) {
	t.Helper()
	rows, ok := typicalRows()[name]
	if !ok {
		t.Fatalf("the table %q has no typical rows: add them to typicalRows in tables_rows_test.go", name)
	}
	for line := range strings.SplitSeq(rows, "\n") {
		var row []any
		for cell := range strings.SplitSeq(line, "|") {
			row = append(row, cell)
		}
		if len(row) != len(table.Columns) {
			t.Fatalf("a row of %q has %d cells, not %d: %q", name, len(row), len(table.Columns), line)
		}
		table.Add(row...)
	}
}

// hostile adds rows with cells that the names and texts of models and servers can have.
func hostile(table *cli.Table) {
	texts := []string{
		"triage-01jd8x9a7b6c5d4e3f2g1h0j9k", "日本語の名前です", "שלום עולם", "e\u0301\u0302o\u0308 👩‍👩‍👧", "a\x1b[2J\u202eb\tc\nd", "",
	}
	for n := range texts {
		row := make([]any, len(table.Columns))
		for i := range row {
			row[i] = texts[(n+i)%len(texts)]
		}
		table.Add(row...)
	}
	long := make([]any, len(table.Columns))
	for i := range long {
		long[i] = "x"
	}
	long[len(long)-1] = strings.Repeat("0123456789", 30)
	table.Add(long...)
}

// tableScreens are the screens that tables are printed for.
func tableScreens() []cli.Screen {
	return []cli.Screen{{Width: 60}, {Width: 80}, {Width: 200}, {Wide: true}, {Width: 60, Plain: true}}
}

// TestTableScreens compares every table, as each screen shows it, with a golden text.
func TestTableScreens(t *testing.T) {
	declared, filled := allTables(t), allTables(t)
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		usual, odd := declared[name], filled[name]
		if usual.Columns[0].Rank != 0 || usual.Columns[0].Wide {
			t.Errorf("the first column of %q can be left out", name)
		}
		typical(t, name, usual)
		hostile(odd)
		var out strings.Builder
		show := func(title string, lines []string) {
			fmt.Fprintf(&out, "=== %s\n%s\n", title, strings.Join(lines, "\n"))
		}
		for _, s := range tableScreens() {
			show(screenName(s), usual.Lines(s))
		}
		show("60 columns, cells of others", odd.Lines(cli.Screen{Width: 60}))
		golden(t, filepath.Join("testdata", "tables", strings.ReplaceAll(name, " ", "_")+".txt"), []byte(out.String()))
		for _, table := range []*cli.Table{usual, odd} {
			for _, s := range tableScreens() {
				for _, l := range table.Lines(s) {
					if s.Width > 0 && inline.Width(l) > s.Width {
						t.Errorf("%q at %d columns: %d in %q", name, s.Width, inline.Width(l), l)
					}
				}
			}
			if !slices.Equal(table.Lines(cli.Screen{Width: 60, Wide: true}), table.Lines(cli.Screen{Wide: true})) {
				t.Errorf("%q with --wide is not as in a pipe", name)
			}
		}
	}
	files, err := filepath.Glob("testdata/tables/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(declared) {
		t.Errorf("%d goldens of %d tables", len(files), len(declared))
	}
}

func screenName(s cli.Screen) string {
	switch {
	case s.Plain:
		return fmt.Sprintf("plain, %d columns", s.Width)
	case s.Wide:
		return "--wide, or no terminal"
	}
	return fmt.Sprintf("%d columns", s.Width)
}
