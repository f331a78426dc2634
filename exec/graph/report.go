package graph

import (
	"fmt"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/exec/graph/graphdef"
)

// report sends a progress line.
func (w *walker) report(name string, step int, status, text string, duration time.Duration) {
	if w.p.Progress != nil {
		w.p.Progress(Progress{
			Run:      w.log.ID(),
			Node:     name,
			Step:     step,
			Max:      w.g.MaxSteps,
			Depth:    w.started.Depth,
			Status:   status,
			Text:     text,
			Duration: duration,
		})
	}
}

// reportedItems is the number of entries of a foreach up to which each has a progress line.
// Of more, each tenth part of them has one.
const reportedItems = 10

// reportItem sends a progress line about an entry of a foreach. The caller holds w.mu.
func (w *walker) reportItem(name string, pr *progress, d *itemData) {
	done := len(pr.items)
	status := "ok"
	if d.Error != nil {
		status = "failed"
	}
	part := (d.Of + reportedItems - 1) / reportedItems
	if d.Of < 2 ||
		d.Of > reportedItems && d.Error == nil && done%part != 0 && done != d.Of {
		return
	}
	w.report(
		fmt.Sprintf("%s entry %d", name, d.Index),
		pr.step,
		status,
		fmt.Sprintf("(%d of %d)", done, d.Of),
		0,
	)
}

// choose returns the first edge whose condition is true, "" if there is none.
func choose(edges []graphdef.Edge, scope map[string]any) (string, error) {
	for _, e := range edges {
		yes, err := e.When.Eval(scope)
		if err != nil {
			return "", diag.New(diag.ValidationFailed, "choosing the next node: %w", err).WithReason("graph_compare")
		}
		if yes {
			return e.To, nil
		}
	}
	return "", nil
}
