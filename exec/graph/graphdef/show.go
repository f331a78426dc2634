package graphdef

import (
	"fmt"
	"strings"

	"github.com/ryeos/rye/internal/hidden"
)

// Ran is what a run did with each node, by qualified name.
type Ran map[string]NodeRun

// NodeRun is how often a node of a run ended, and whether it is in flight.
type NodeRun struct {
	OK, Failed int
	InFlight   bool
}

// mark describes what a run did with a node.
func (r Ran) mark(name string) string {
	n := r[name]
	var out []string
	if n.OK > 0 {
		out = append(out, "ok"+times(n.OK))
	}
	if n.Failed > 0 {
		out = append(out, "failed"+times(n.Failed))
	}
	if n.InFlight {
		out = append(out, "in flight")
	}
	return strings.Join(out, ", ")
}

func times(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" x%d", n)
}

// width is the width of the picture for a terminal in columns.
const width = 80

// Terminal draws the graph as lines of at most 80 columns: each node with its item,
// its edges below it, and the nodes of branches indented. ran may be nil.
func (g *Graph) Terminal(ran Ran) string {
	var b strings.Builder
	line(&b, "", fmt.Sprintf("%s  starts at %s", g.Ref, g.Start), "")
	g.terminal(
		&b,
		"",
		"",
		g.Nodes,
		inWalk(g.Start, g.Nodes, g.Order),
		ran,
	)
	return b.String()
}

// inWalk returns the nodes in the order of a walk from start, then the others.
func inWalk(start string, nodes map[string]*Node, order []string) []string {
	var out []string
	seen := map[string]bool{}
	queue := append([]string{start}, order...)
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		n := nodes[name]
		if n == nil || seen[name] {
			continue
		}
		seen[name] = true
		out = append(out, name)
		queue = append(n.targets(), queue...)
	}
	return out
}

func (g *Graph) terminal(
	b *strings.Builder,
	indent, prefix string,
	nodes map[string]*Node,
	order []string,
	ran Ran,
) {
	for _, name := range order {
		n := nodes[name]
		line(b, indent, "o "+name+"  "+n.summary(), ran.mark(prefix+name))
		for _, br := range n.Branches {
			if br.Nodes == nil {
				line(
					b,
					indent+"|  ",
					br.Name+"  "+br.Action.summary(),
					ran.mark(prefix+name+"."+br.Name),
				)
				continue
			}
			line(b, indent+"|  ", br.Name, "")
			g.terminal(
				b,
				indent+"|    ",
				prefix+name+"."+br.Name+".",
				br.Nodes,
				inWalk(br.Start, br.Nodes, br.Order),
				ran,
			)
		}
		for _, e := range n.Next {
			text := "-> " + e.To
			if e.When != nil {
				text += "  if " + e.When.String()
			}
			line(b, indent+"|  ", text, "")
		}
		if n.OnError != "" {
			line(b, indent+"|  ", "!> "+n.OnError+"  on error", "")
		}
	}
}

// line writes one line of the picture, cut to the width, with a mark at its end.
func line(b *strings.Builder, indent, text, mark string) {
	if mark != "" {
		mark = "  [" + mark + "]"
	}
	runes := []rune(hidden.Visible(indent + text))
	if limit := width - len(mark); len(runes) > limit {
		runes = append(runes[:max(limit-1, 0)], '…')
	}
	b.WriteString(string(runes) + mark + "\n")
}

// summary describes a node in a few words.
func (n *Node) summary() string {
	switch n.Type {
	case TypeAction:
		return n.Action.summary()
	case TypeForeach:
		return "foreach " + n.As + ": " + n.Action.summary()
	case TypeReturn:
		if n.Fail {
			return "return, status fail"
		}
		return "return"
	case TypeParallel:
		return fmt.Sprintf("parallel, %d branches", len(n.Branches))
	case TypeAsk:
		return "ask " + strings.Join(n.Ask.Choices, ", ")
	case TypeWait:
		switch {
		case n.Wait.Event != "":
			return "wait for the event " + n.Wait.Event
		case n.Wait.Runs != nil:
			return "wait for runs"
		case n.Wait.Until != nil:
			return "wait until a time"
		}
		return "wait " + n.Wait.For.String()
	}
	return n.Type
}

func (a *Action) summary() string {
	if ref, ok := a.Ref(); ok {
		if a.Verb == "execute" {
			return ref.String()
		}
		return string(a.Verb) + " " + ref.String()
	}
	return string(a.Verb) + " " + string(a.Kind)
}

// Mermaid returns the graph as a flowchart of Mermaid.
func (g *Graph) Mermaid(ran Ran) string {
	d := &drawing{ids: map[string]string{}}
	d.out.WriteString("flowchart TD\n")
	d.mermaid("", g.Nodes, g.Order, ran)
	d.out.WriteString("  classDef ok fill:#cfc\n  classDef failed fill:#fcc\n")
	return d.out.String()
}

// drawing gives each node an id that is safe in both languages.
type drawing struct {
	out strings.Builder
	ids map[string]string
}

func (d *drawing) id(name string) string {
	if d.ids[name] == "" {
		d.ids[name] = fmt.Sprintf("n%d", len(d.ids)+1)
	}
	return d.ids[name]
}

// entities returns text for a label of Mermaid: no character of it ends the label.
func entities(s string) string {
	return strings.NewReplacer(`"`, "#quot;", "<", "#lt;", ">", "#gt;", "#", "#35;", ";", "#59;", "\n", " ").Replace(hidden.Visible(s))
}

// escaped returns text for a label of Graphviz.
func escaped(s string) string {
	return strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", " ").Replace(hidden.Visible(s))
}

func (d *drawing) mermaid(prefix string, nodes map[string]*Node, order []string, ran Ran) {
	for _, name := range order {
		n := nodes[name]
		id := d.id(prefix + name)
		fmt.Fprintf(&d.out, "  %s[\"%s<br/>%s\"]\n", id, entities(name), entities(n.summary()))
		if r := ran[prefix+name]; r.OK > 0 {
			fmt.Fprintf(&d.out, "  class %s ok\n", id)
		} else if r.Failed > 0 {
			fmt.Fprintf(&d.out, "  class %s failed\n", id)
		}
		for _, e := range n.Next {
			arrow := "-->"
			if e.When != nil {
				arrow = "-->|\"" + entities(e.When.String()) + "\"|"
			}
			fmt.Fprintf(&d.out, "  %s %s %s\n", id, arrow, d.id(prefix+e.To))
		}
		if n.OnError != "" {
			fmt.Fprintf(&d.out, "  %s -.->|error| %s\n", id, d.id(prefix+n.OnError))
		}
		for _, b := range n.Branches {
			inner := prefix + name + "." + b.Name
			if b.Nodes == nil {
				fmt.Fprintf(
					&d.out,
					"  %s[\"%s<br/>%s\"]\n  %s --- %s\n",
					d.id(inner),
					entities(b.Name),
					entities(b.Action.summary()),
					id,
					d.id(inner),
				)
				continue
			}
			fmt.Fprintf(&d.out, "  %s --- %s\n", id, d.id(inner+"."+b.Start))
			d.mermaid(inner+".", b.Nodes, b.Order, ran)
		}
	}
}

// Dot returns the graph in the language of Graphviz.
func (g *Graph) Dot(ran Ran) string {
	d := &drawing{ids: map[string]string{}}
	fmt.Fprintf(&d.out, "digraph \"%s\" {\n  node [shape=box]\n", escaped(g.Ref.ID))
	d.dot("", g.Nodes, g.Order, ran)
	d.out.WriteString("}\n")
	return d.out.String()
}

func (d *drawing) dot(prefix string, nodes map[string]*Node, order []string, ran Ran) {
	for _, name := range order {
		n := nodes[name]
		id := d.id(prefix + name)
		color := ""
		if r := ran[prefix+name]; r.OK > 0 {
			color = ", style=filled, fillcolor=\"#ccffcc\""
		} else if r.Failed > 0 {
			color = ", style=filled, fillcolor=\"#ffcccc\""
		}
		fmt.Fprintf(
			&d.out,
			"  %s [label=\"%s\\n%s\"%s]\n",
			id,
			escaped(name),
			escaped(n.summary()),
			color,
		)
		for _, e := range n.Next {
			fmt.Fprintf(&d.out, "  %s -> %s", id, d.id(prefix+e.To))
			if e.When != nil {
				fmt.Fprintf(&d.out, " [label=\"%s\"]", escaped(e.When.String()))
			}
			d.out.WriteString("\n")
		}
		if n.OnError != "" {
			fmt.Fprintf(&d.out, "  %s -> %s [style=dashed, label=\"error\"]\n", id, d.id(prefix+n.OnError))
		}
		for _, b := range n.Branches {
			inner := prefix + name + "." + b.Name
			if b.Nodes == nil {
				fmt.Fprintf(
					&d.out,
					"  %s [label=\"%s\\n%s\"]\n  %s -> %s [dir=none]\n",
					d.id(inner),
					escaped(b.Name),
					escaped(b.Action.summary()),
					id,
					d.id(inner),
				)
				continue
			}
			fmt.Fprintf(&d.out, "  %s -> %s [dir=none]\n", id, d.id(inner+"."+b.Start))
			d.dot(inner+".", b.Nodes, b.Order, ran)
		}
	}
}
