package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
)

func testRoot() *cli.Command {
	w := &cli.World{Commands: withCommands(brokenCommands)}
	return w.RootCommand()
}

func TestSortArgs(t *testing.T) {
	root := testRoot()
	for _, tc := range []struct {
		in, want string // words, joined by a space
		code     diag.Code
	}{
		{in: "", want: "rye --"},
		{in: "version", want: "rye version --"},
		{in: "echo a --dry-run b", want: "rye echo --dry-run=true -- a b"},
		{in: "--dry-run echo a b --json", want: "rye --json=true echo --dry-run=true -- a b"},
		{in: "-n x echo", want: "rye echo --name=x --"},
		{in: "echo -n=x", want: "rye echo --name=x --"},
		{in: "echo --name=", want: "rye echo --name= --"},
		{in: "-C dir echo", want: "rye --project=dir echo --"},
		{in: "echo -C dir a", want: "rye --project=dir echo -- a"},
		{in: "echo -qv", want: "rye --quiet=true --verbose=true echo --"},
		{in: "echo -- -qv --", want: "rye echo -- -qv --"},
		{in: "echo - -1 -.5 -1e3 --count -2", want: "rye echo --count=-2 -- - -1 -.5 -1e3"},
		{in: "echo a=-b --c:=d", code: diag.UnknownFlag},
		{in: "pair left --json a --offline b", want: "rye --json=true --offline=true pair left -- a b"},
		{in: "pair --json", code: diag.Usage},
		{in: "pair middle", code: diag.UnknownCommand},
		{in: "echo --add a --add b", want: "rye echo --add=a --add=b --"},
		{in: "echo --json --json", want: "rye --json=true --json=true echo --"},
		{in: "echo --name a --name a", code: diag.Usage},
		{in: "echo --name", code: diag.Usage},
		{in: "echo --name -x", code: diag.Usage},
		{in: "echo --json=maybe", code: diag.Usage},
		{in: "echo --n x", code: diag.UnknownFlag},
		{in: "echo -name x", code: diag.UnknownFlag},
		{in: "echo ---name x", code: diag.UnknownFlag},
		{in: "echo -qx", code: diag.UnknownFlag},
		{in: "echo -inf", code: diag.UnknownFlag},
		{in: "--name x version", code: diag.UnknownFlag},
		{in: "--dry-run version", code: diag.UnknownFlag},
		{in: "nosuch", code: diag.UnknownCommand},
		{in: "version extra", code: diag.Usage},
		{in: "fail", code: diag.Usage},
	} {
		l, err := cli.SortArgs(root, strings.Fields(tc.in))
		if got := diag.CodeOf(err); got != tc.code {
			t.Errorf("%q: %v, want code %q", tc.in, err, tc.code)
			continue
		}
		if got := strings.Join(l.Words(), " "); err == nil && got != tc.want {
			t.Errorf("%q:\n got %s\nwant %s", tc.in, got, tc.want)
		}
	}
}

// TestFlagsAnywhere moves flags to random places: the meaning stays the same.
func TestFlagsAnywhere(t *testing.T) {
	root := testRoot()
	flags := [][]string{{"--dry-run"}, {"--name", "x"}, {"--count=-3"}, {"--json"}, {"-C", "dir"}, {"--add", "p"}}
	want := ""
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		units := [][]string{{"echo"}, {"a"}, {"k:={\"--x\":1}"}, {"-7"}}
		for _, f := range r.Perm(len(flags)) {
			units = slices.Insert(units, r.IntN(len(units)+1), flags[f])
		}
		l, err := cli.SortArgs(root, slices.Concat(units...))
		if err != nil {
			t.Fatalf("%q: %v", units, err)
		}
		for _, level := range l.Flags {
			slices.Sort(level)
		}
		got := strings.Join(l.Words(), " ")
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("%q:\n got %s\nwant %s", units, got, want)
		}
	}
}

// FuzzSortArgs holds two promises: a sorted line sorts to itself, and no word
// is lost without an error.
func FuzzSortArgs(f *testing.F) {
	for _, seed := range []string{
		"", "version --json", "--dry-run\necho\na\n--name\nx", "echo\n--\n--x", "pair\nleft\n-1\n-C\n.",
		"echo\n--name=--json", "echo\n-qv\n-n=\n=", "--count\n5\necho", "echo\n--help", "-\n--\n---", "r\vo", "-p\nx",
	} {
		f.Add(strings.ReplaceAll(seed, " ", "\n"))
	}
	root := testRoot()
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Split(text, "\n")
		l, err := cli.SortArgs(root, words)
		if err != nil {
			return
		}
		if l.Help != 0 {
			return
		}
		again, err := cli.SortArgs(root, l.Words()[1:])
		if err != nil {
			t.Fatalf("%q sorts to %q, which is refused: %v", words, l.Words(), err)
		}
		if !slices.Equal(again.Words(), l.Words()) {
			t.Fatalf("%q sorts to %q and then to %q", words, l.Words(), again.Words())
		}
		// every positional is a word of the input, in order, and every other
		// word became part of a flag, named a command, or is the "--"
		// A sentence in place of a command, or -p, gets the word prompt of rye run prompt.
		kept := 0
		if len(l.Args) > 0 && l.Args[0] == "prompt" && !slices.Contains(words, "prompt") {
			kept = 1
		}
		for _, w := range words {
			if kept < len(l.Args) && l.Args[kept] == w {
				kept++
			}
		}
		if kept != len(l.Args) {
			t.Fatalf("%q changed the arguments to %q", words, l.Args)
		}
		accounted := len(l.Args) + len(l.Path) - 1
		for _, level := range l.Flags {
			accounted += 2 * len(level)
		}
		if l.Dash >= 0 {
			accounted++
		}
		if len(words) > accounted {
			t.Fatalf("%q: %d words, of which %q accounts for %d", words, len(words), l.Words(), accounted)
		}
	})
}

func TestBounds(t *testing.T) {
	for _, tc := range []struct {
		args        string
		least, most int
	}{
		{"", 0, 0}, {"A", 1, 1}, {"[A]", 0, 1}, {"A [B]", 1, 2}, {"A B…", 2, -1}, {"[A…]", 0, -1}, {"SOURCE[@REF]…", 1, -1}, {"KIND ID [k=v…]", 2, -1},
	} {
		least, most := (&cli.Command{Args: tc.args}).Bounds()
		if least != tc.least || most != tc.most {
			t.Errorf("%q: %d to %d, want %d to %d", tc.args, least, most, tc.least, tc.most)
		}
	}
}

// withCommands adds commands to the table.
func withCommands(more func() []*cli.Command) func(string) []*cli.Command {
	return func(only string) []*cli.Command {
		if one := commands(only); len(one) == 1 {
			return one
		}
		return append(commands(""), more()...)
	}
}

// TestCommandAlone: a verb is built without the others, and is the verb of that name.
func TestCommandAlone(t *testing.T) {
	all := commands("")
	if len(all) < 40 {
		t.Fatalf("the table has %d verbs", len(all))
	}
	for _, want := range all {
		if got := commands(want.Name); len(got) != 1 || got[0].Name != want.Name {
			t.Errorf("the row of %s makes another command, or all", want.Name)
		}
	}
}
