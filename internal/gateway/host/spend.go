package host

import (
	"context"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/store"
)

// Spend is what the user account and the threads of the caller's projects spent.
type Spend struct {
	Periods []Period      `json:"periods" doc:"of the user account, in UTC"`
	Models  []ModelCost   `json:"models" doc:"of the threads of the projects"`
	Threads []ThreadSpend `json:"threads" doc:"the roots that cost most"`
	Total   string        `json:"total"`
}

// Period is a day or a month.
type Period struct {
	Name     string `json:"period"`
	Spend    string `json:"spend"`
	Reserved string `json:"reserved"`
	Max      string `json:"max" doc:"0 states no limit"`

	Part    float64 `json:"-"`
	Limited bool    `json:"-"`
}

// ThreadSpend is what a thread cost with all below it.
type ThreadSpend struct {
	ID    string `json:"thread_id"`
	Item  string `json:"directive"`
	Name  string `json:"name,omitempty"`
	Spend string `json:"spend"`
	Max   string `json:"max"`

	Part  float64    `json:"-"` // of the largest in the list
	spent policy.USD // of the account
}

// maxSpenders is the number of threads in the list of those that cost most.
const maxSpenders = 20

// Spend returns the sums of the account and of the projects.
func (v *View) Spend(ctx context.Context) (*Spend, error) {
	out := &Spend{
		Periods: []Period{},
		Models:  []ModelCost{},
		Threads: []ThreadSpend{},
	}
	models := map[string]*store.Sum{}
	var total policy.USD
	for i, dir := range v.dirs() {
		p, err := v.h.reading(ctx, dir)
		if err != nil {
			return nil, err
		}
		err = withStore(ctx, p, func(s *store.Store) error {
			a, _, err := p.Allowance(ctx)
			if err != nil {
				return err
			}
			// The periods are of the account, so each project has the same.
			if i == 0 {
				if err := out.addPeriods(ctx, s, a.Spend); err != nil {
					return err
				}
			}
			costs, err := s.Costs(ctx, dir)
			if err != nil {
				return err
			}
			for i := range costs {
				total = total.Plus(costs[i].Own.Actual)
				out.add(&costs[i], models)
			}
			return nil
		})
		if err != nil && diag.CodeOf(err) != diag.ThreadNotFound {
			return nil, err
		}
	}
	out.finish(models)
	out.Total = total.String()
	return out, nil
}

func (s *Spend) addPeriods(ctx context.Context, db *store.Store, most policy.Periods) error {
	periods, err := db.Periods(ctx, most)
	for _, p := range periods {
		s.Periods = append(s.Periods, Period{
			Name:     p.Period,
			Spend:    p.Actual.String(),
			Reserved: p.Reserved.String(),
			Max:      p.Max.String(),
			Part:     partOf(p.Actual, p.Max),
			Limited:  p.Max > 0,
		})
	}
	return err
}

// add adds the account of a thread.
func (s *Spend) add(c *store.Cost, models map[string]*store.Sum) {
	for _, m := range c.Models {
		if models[m.Model] == nil {
			models[m.Model] = &store.Sum{}
		}
		models[m.Model].Add(m.Sum)
	}
	// The account of a root has what the threads below it spent.
	if c.Parent != "" || c.Actual == 0 {
		return
	}
	s.Threads = append(s.Threads, ThreadSpend{
		ID:    c.Thread,
		Item:  c.Ref,
		Name:  c.Name,
		Spend: c.Actual.String(),
		Max:   c.Max.String(),
		spent: c.Actual,
	})
}

// finish sorts the lists and sets the parts of their bars.
func (s *Spend) finish(models map[string]*store.Sum) {
	// The longest bar is of the largest sum.
	var largest policy.USD
	for _, sum := range models {
		largest = max(largest, sum.Actual)
	}
	for name, sum := range models {
		s.Models = append(s.Models, ModelCost{
			Model: name,
			Calls: sum.Calls,
			Spend: sum.Actual.String(),
			Part:  partOf(sum.Actual, largest),
		})
	}
	slices.SortFunc(s.Models, func(a, b ModelCost) int {
		return strings.Compare(a.Model, b.Model)
	})
	slices.SortStableFunc(s.Threads, func(a, b ThreadSpend) int {
		return int(max(-1, min(1, int64(b.spent-a.spent))))
	})
	if len(s.Threads) > maxSpenders {
		s.Threads = s.Threads[:maxSpenders]
	}
	for i := range s.Threads {
		s.Threads[i].Part = partOf(
			s.Threads[i].spent,
			s.Threads[0].spent,
		)
	}
}
