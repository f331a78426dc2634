package control

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/store"
)

// CostReport is what a thread cost, with the threads of its chain, and what those below it
// cost.
type CostReport struct {
	Threads []ChainCost       `json:"threads"` // each follows its parent
	Total   store.Sum         `json:"total"`
	Models  []store.ModelCost `json:"models"` // of all threads
}

// ChainCost is the cost of one chain of threads.
type ChainCost struct {
	store.Cost
	Level int `json:"level"` // below the first of the report
}

// Costs returns the cost of a thread, by its id, the beginning of it, or the id of
// any thread of its chain; with tree also the cost of all threads below it. The total
// counts each call once.
func Costs(
	ctx context.Context,
	p *project.Project,
	s *store.Store,
	id string,
	tree bool,
) (*CostReport, error) {
	row, err := s.Find(ctx, p.Spaces.ProjectDir, id)
	if diag.CodeOf(err) == diag.ThreadNotFound {
		// A chain has the account of its first thread.
		if later, ferr := Find(ctx, p, id); ferr == nil {
			row, err = s.Find(ctx, p.Spaces.ProjectDir, ChainRoot(p.Spaces.ProjectDir, later))
		}
	}
	if err != nil {
		return nil, err
	}
	costs, err := s.Cost(ctx, row.Thread, tree)
	if err != nil {
		return nil, err
	}
	out := &CostReport{Models: []store.ModelCost{}}
	for _, c := range costs {
		addLinks(p, &c)
		out.Threads = append(out.Threads, ChainCost{Cost: c})
		out.Total.Add(c.Own)
		for _, m := range c.Models {
			out.addModel(m)
		}
	}
	out.Threads = inTree(out.Threads, func(t *ChainCost) (string, string, *int) {
		return t.Thread, t.Parent, &t.Level
	})
	slices.SortFunc(out.Models, func(a, b store.ModelCost) int {
		return strings.Compare(a.Model, b.Model)
	})
	return out, nil
}

func (r *CostReport) addModel(m store.ModelCost) {
	for i := range r.Models {
		if r.Models[i].Model == m.Model {
			r.Models[i].Add(m.Sum)
			return
		}
	}
	r.Models = append(r.Models, m)
}

// addLinks adds the threads of a chain that made no call. Without its log, a chain has
// those that the store knows.
func addLinks(p *project.Project, c *store.Cost) {
	links, err := Chain(p, c.Thread)
	if err != nil {
		return
	}
	for i, l := range links {
		if !slices.ContainsFunc(c.Chain, func(x store.LinkCost) bool { return x.Thread == l.ID }) {
			c.Chain = slices.Insert(
				c.Chain,
				min(i, len(c.Chain)),
				store.LinkCost{Thread: l.ID},
			)
		}
	}
}
