package graph

import (
	"github.com/ryeos/rye/threads/transcript"

	"github.com/ryeos/rye/exec/graph/graphdef"
)

// ReadRan reads the log of a run.
func ReadRan(project, id string) (graphdef.Ran, error) {
	lines, err := transcript.Read(project, id)
	if err != nil {
		return nil, err
	}
	out := graphdef.Ran{}
	for i := range lines {
		var d struct {
			Node, Edge string
		}
		if lines[i].Decode(&d) != nil || d.Node == "" {
			continue
		}
		r := out[d.Node]
		switch lines[i].Event {
		case evNode:
			r.InFlight = true
		case evCommitted:
			r.OK++
			r.InFlight = false
		case evFailed:
			if d.Edge != "retry" {
				r.Failed++
				r.InFlight = false
			}
		}
		out[d.Node] = r
	}
	return out, nil
}
