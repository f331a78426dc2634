package graphdef

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/ryeos/rye/internal/hidden"
)

// Sizes of the picture in pixels.
const (
	boxWidth, boxHeight = 220, 44
	gapX, gapY          = 40, 56
	margin              = 24
	boxText             = 30 // characters of a line in a box
)

// box is a node of the picture.
type box struct {
	name, text, fill string
	rank, column     int
}

func (b *box) x() int {
	return margin + b.column*(boxWidth+gapX)
}
func (b *box) y() int {
	return margin + b.rank*(boxHeight+gapY)
}

// link is an edge of the picture.
type link struct {
	from, to, label string
	dashed          bool
}

// picture collects the boxes and edges of a graph and of its branches.
type picture struct {
	boxes map[string]*box
	order []string
	links []link
}

// SVG returns the graph as a picture: the nodes in rows by their distance from the start.
// It needs no program to draw it, and contains no scripts and no links. ran may be nil.
func (g *Graph) SVG(ran Ran) string {
	p := &picture{boxes: map[string]*box{}}
	p.add("", g.Nodes, inWalk(g.Start, g.Nodes, g.Order), ran)
	columns, rows := p.arrange()
	var b strings.Builder
	width := 2*margin + columns*(boxWidth+gapX)
	height := 2*margin + rows*(boxHeight+gapY) - gapY
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %[1]d %[2]d\" font-family=\"sans-serif\" font-size=\"12\">\n", width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", xmlText(g.Ref.String()))
	b.WriteString("<defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#555\"/></marker></defs>\n")
	fmt.Fprintf(&b, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height)
	for _, l := range p.links {
		p.draw(&b, l)
	}
	for _, name := range p.order {
		n := p.boxes[name]
		fmt.Fprintf(
			&b,
			"<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" fill=\"%s\" stroke=\"#555\"/>\n",
			n.x(),
			n.y(),
			boxWidth,
			boxHeight,
			n.fill,
		)
		fmt.Fprintf(
			&b,
			"<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s</text>\n",
			n.x()+10,
			n.y()+18,
			xmlText(clipped(n.name)),
		)
		fmt.Fprintf(
			&b,
			"<text x=\"%d\" y=\"%d\" fill=\"#333\">%s</text>\n",
			n.x()+10,
			n.y()+34,
			xmlText(clipped(n.text)),
		)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// add adds the nodes of one mapping, in the order of a walk.
func (p *picture) add(prefix string, nodes map[string]*Node, order []string, ran Ran) {
	put := func(name, text string) {
		p.boxes[name] = &box{name: name, text: text, fill: fillOf(ran[name])}
		p.order = append(p.order, name)
	}
	for _, name := range order {
		n := nodes[name]
		full := prefix + name
		put(full, n.summary())
		for _, e := range n.Next {
			label := ""
			if e.When != nil {
				label = e.When.String()
			}
			p.links = append(p.links, link{from: full, to: prefix + e.To, label: label})
		}
		if n.OnError != "" {
			p.links = append(p.links, link{
				from:   full,
				to:     prefix + n.OnError,
				label:  "error",
				dashed: true,
			})
		}
		for _, br := range n.Branches {
			inner := full + "." + br.Name
			if br.Nodes == nil {
				put(inner, br.Action.summary())
				p.links = append(p.links, link{from: full, to: inner})
				continue
			}
			p.add(
				inner+".",
				br.Nodes,
				inWalk(br.Start, br.Nodes, br.Order),
				ran,
			)
			p.links = append(p.links, link{from: full, to: inner + "." + br.Start})
		}
	}
}

// fillOf returns the colour of what a run did with a node.
func fillOf(r NodeRun) string {
	switch {
	case r.InFlight:
		return "#ffffcc"
	case r.OK > 0:
		return "#ccffcc"
	case r.Failed > 0:
		return "#ffcccc"
	}
	return "#f4f4f4"
}

// arrange gives each box a row, its distance from the first one, and a column.
func (p *picture) arrange() (columns, rows int) {
	for _, b := range p.boxes {
		b.rank = -1
	}
	visit := func(start string) {
		queue := []string{start}
		for len(queue) > 0 {
			at := queue[0]
			queue = queue[1:]
			for _, l := range p.links {
				to := p.boxes[l.to]
				if l.from == at && to != nil && to.rank < 0 {
					to.rank = p.boxes[at].rank + 1
					queue = append(queue, l.to)
				}
			}
		}
	}
	used := map[int]int{}
	for _, name := range p.order { // also what no edge leads to
		if b := p.boxes[name]; b.rank < 0 {
			b.rank = 0
			visit(name)
		}
	}
	for _, name := range p.order {
		b := p.boxes[name]
		b.column = used[b.rank]
		used[b.rank]++
		columns = max(columns, used[b.rank])
		rows = max(rows, b.rank+1)
	}
	return columns, rows
}

// draw draws an edge: down from row to row, and around the right side to a row above.
func (p *picture) draw(b *strings.Builder, l link) {
	from := p.boxes[l.from]
	to := p.boxes[l.to]
	if from == nil || to == nil {
		return // an edge to a node that does not exist
	}
	style := ""
	if l.dashed {
		style = " stroke-dasharray=\"5 4\""
	}
	x1 := from.x() + boxWidth/2
	y1 := from.y() + boxHeight
	x2 := to.x() + boxWidth/2
	y2 := to.y()
	curve := fmt.Sprintf(
		"M%d %dC%d %d %d %d %d %d",
		x1,
		y1,
		x1,
		y1+gapY/2,
		x2,
		y2-gapY/2,
		x2,
		y2,
	)
	labelX := (x1 + x2) / 2
	labelY := (y1+y2)/2 + 4
	if to.rank <= from.rank {
		x1 = from.x() + boxWidth
		y1 = from.y() + boxHeight/2
		x2 = to.x() + boxWidth
		y2 = to.y() + boxHeight/2
		curve = fmt.Sprintf(
			"M%d %dC%d %d %d %d %d %d",
			x1,
			y1,
			x1+gapX,
			y1,
			x2+gapX,
			y2,
			x2,
			y2,
		)
		labelX = max(x1, x2) + gapX/2
		labelY = (y1 + y2) / 2
	}
	fmt.Fprintf(b, "<path d=\"%s\" fill=\"none\" stroke=\"#555\"%s marker-end=\"url(#end)\"/>\n", curve, style)
	if l.label != "" {
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"11\" fill=\"#225\">%s</text>\n", labelX, labelY, xmlText(clipped(l.label)))
	}
}

// clipped returns a text of one line that fits into a box.
func clipped(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > boxText {
		return string(r[:boxText-1]) + "…"
	}
	return string(r)
}

// xmlText escapes a text. Names and conditions are of the graph's author.
func xmlText(s string) string {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(hidden.Visible(s)))
	if err != nil {
		return ""
	}
	return b.String()
}
