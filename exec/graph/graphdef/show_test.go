package graphdef

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The picture fits 80 columns whatever the names are, and no text ends a label.
func TestShowFits(t *testing.T) {
	name := strings.Repeat("a_very_long_name-", 3) + "x"
	g := parse(t, head+`config: {start: `+name+`, nodes: {`+name+`: {action: {item_id: `+strings.Repeat("t/", 30)+`echo}, next: [{to: `+name+`, when: "state.a == 'quote\" <b> ; end' and state.b matches '`+strings.Repeat("x", 100)+`'"}]}}}`)
	ran := Ran{name: {OK: 12, Failed: 3, InFlight: true}}
	for _, line := range strings.Split(g.Terminal(ran), "\n") {
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(g.Terminal(ran), "[ok x12, failed x3, in flight]") {
		t.Error(g.Terminal(ran))
	}
	for _, text := range []string{g.Mermaid(ran), g.Dot(ran)} {
		for _, line := range strings.Split(text, "\n") {
			if strings.Count(strings.ReplaceAll(line, `\"`, ""), `"`)%2 != 0 {
				t.Errorf("a label does not end in its line: %s", line)
			}
		}
	}
	if strings.Contains(g.Mermaid(ran), "<b>") {
		t.Error("markup of a condition is in the picture")
	}
}

// Every format has every node and edge, on the example graphs and on a graph of thirty
// nodes with branches, conditions and error edges.
func TestShowComplete(t *testing.T) {
	graphs := map[string]*Graph{"thirty": parse(t, head+thirty())}
	files, err := filepath.Glob("../../../examples/graphs/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		graphs[filepath.Base(file)] = parse(t, string(b))
	}
	for name, g := range graphs {
		t.Run(name, func(t *testing.T) {
			want := edgesOf(g)
			if got := drawn(g.Mermaid(nil), regexp.MustCompile(`(?m)^  (n\d+)\["(.*?)<br/>`), regexp.MustCompile(`(?m)^  (n\d+) (?:-->|-\.->|---)(?:\|.*\|)? (n\d+)$`)); !slices.Equal(got, want) {
				t.Errorf("Mermaid has %q, want %q", got, want)
			}
			if got := drawn(g.Dot(nil), regexp.MustCompile(`(?m)^  (n\d+) \[label="(.*?)\\n`), regexp.MustCompile(`(?m)^  (n\d+) -> (n\d+)`)); !slices.Equal(got, want) {
				t.Errorf("DOT has %q, want %q", got, want)
			}
			checkTerminal(t, g, g.Terminal(nil))
			checkDot(t, g.Dot(nil))
		})
	}
}

// thirty returns the configuration of a graph of thirty nodes.
func thirty() string {
	var b strings.Builder
	b.WriteString("config:\n  start: s0\n  nodes:\n")
	for i := range 26 {
		fmt.Fprintf(&b, "    s%d: {action: {item_id: team/step}, assign: {k%d: \"${result}\"}, on_error: broken, next: [{to: s%d, when: \"state.k%d > %d\"}, {to: both}]}\n", i, i, min(i+1, 25), i, i)
	}
	b.WriteString(`    both: {type: parallel, branches: {a: {action: {item_id: team/a}}, b: {start: x, nodes: {x: {type: gate, next: y}, y: {type: wait, seconds: 1}}}}, next: done}
    done: {type: return}
    broken: {type: return, status: fail}
`)
	return b.String()
}

// edgesOf returns "from>to" for every edge of a graph and for the connections of its
// branches, by the names that pictures show, sorted.
func edgesOf(g *Graph) []string {
	var out []string
	g.each(func(n *Node, _ string) {
		for _, to := range n.targets() {
			out = append(out, n.Name+">"+to)
		}
		for _, b := range n.Branches {
			to := b.Start
			if b.Nodes == nil {
				to = b.Name
			}
			out = append(out, n.Name+">"+to)
		}
	})
	slices.Sort(out)
	return out
}

// drawn returns the edges of a picture, sorted.
func drawn(text string, node, edge *regexp.Regexp) []string {
	names := map[string]string{}
	for _, m := range node.FindAllStringSubmatch(text, -1) {
		names[m[1]] = m[2]
	}
	var out []string
	for _, m := range edge.FindAllStringSubmatch(text, -1) {
		out = append(out, names[m[1]]+">"+names[m[2]])
	}
	slices.Sort(out)
	return out
}

func checkTerminal(t *testing.T, g *Graph, text string) {
	t.Helper()
	g.each(func(n *Node, _ string) {
		if !regexp.MustCompile(`(?m)^[| ]*o ` + regexp.QuoteMeta(n.Name) + `( |$)`).MatchString(text) {
			t.Errorf("the terminal picture lacks the node %s", n.Name)
		}
	})
	if got, want := strings.Count(text, "-> ")+strings.Count(text, "!> "), len(edgesOf(g)); got > want {
		t.Errorf("the terminal picture has %d edges, the graph %d", got, want)
	}
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// checkDot has Graphviz read a picture, if it is installed.
func checkDot(t *testing.T, text string) {
	t.Helper()
	path, err := exec.LookPath("dot")
	if err != nil {
		return
	}
	cmd := exec.CommandContext(t.Context(), path, "-Tcanon")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("Graphviz: %v\n%s", err, out)
	}
}
