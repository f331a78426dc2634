package store

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/policy"
)

// Row is a thread as the store has it.
type Row struct {
	Thread  string    `json:"thread_id"`
	Project string    `json:"project"`
	Kind    string    `json:"kind"`
	Ref     string    `json:"ref"`
	Parent  string    `json:"parent,omitempty"`
	Root    string    `json:"root"`
	State   string    `json:"state"`
	Reason  string    `json:"reason,omitempty"`
	Model   string    `json:"model,omitempty"`
	Created time.Time `json:"created"`
	// Number, Name and Waiting come from the Handle; Number is 0 if the thread has none.
	Number  int64  `json:"number,omitempty"`
	Name    string `json:"name,omitempty"`
	Waiting string `json:"-"`
	// Described reports whether Name and Waiting are known: an earlier version did not record
	// them.
	Described bool `json:"-"`
}

// ModelCost is what the calls of one model cost in one thread.
type ModelCost struct {
	Model string `json:"model"`
	Sum
}

// Sum is the cost of calls of models, without calls of other threads.
type Sum struct {
	Calls    int64      `json:"calls"`
	Actual   policy.USD `json:"actual"`
	Assumed  policy.USD `json:"assumed"` // the part that the service did not report
	Reserved policy.USD `json:"reserved"`
}

// Add adds another sum.
func (s *Sum) Add(o Sum) {
	s.Calls += o.Calls
	s.Actual += o.Actual
	s.Assumed += o.Assumed
	s.Reserved += o.Reserved
}

// LinkCost is what the calls of one thread of a chain cost.
type LinkCost struct {
	Thread string `json:"thread_id"`
	Sum
}

// Cost is the account of a thread. The threads of a chain share the account of the first.
type Cost struct {
	Row
	Account
	Assumed policy.USD  `json:"assumed"`
	Calls   int64       `json:"calls"`
	Models  []ModelCost `json:"models"`
	Own     Sum         `json:"own"`   // without the threads below it, which Account has
	Chain   []LinkCost  `json:"chain"` // those that made calls, in the order of their first
}

// Cost returns the account of a thread, and with tree the accounts of its descendants, after
// it in the order of their start.
func (s *Store) Cost(
	ctx context.Context,
	thread string,
	tree bool,
) (out []Cost, err error) {
	err = s.read(ctx, "reading", func(t *tx) error {
		list, err := t.threads(`WITH RECURSIVE down(id) AS (VALUES(?1) UNION SELECT c.id FROM threads c JOIN down ON c.parent = down.id WHERE ?2)
			SELECT `+threadColumns+` WHERE t.id IN (SELECT id FROM down) ORDER BY t.id != ?1, t.created, t.id`, thread, tree)
		if err == nil && len(list) == 0 {
			err = notFound(thread)
		}
		for _, row := range list {
			var c Cost
			if err == nil {
				c, err = t.cost(row)
				out = append(out, c)
			}
		}
		return err
	})
	return out, err
}

const threadColumns = `t.id, t.project, t.kind, t.ref, t.parent, t.root, t.state, t.reason, t.model, t.created,
	coalesce(h.number, 0), coalesce(h.name, ''), coalesce(h.waiting, ''), h.name IS NOT NULL AND h.waiting IS NOT NULL FROM threads t LEFT JOIN handles h ON h.id = t.id`

func (t *tx) threads(query string, args ...any) (out []Row, err error) {
	rows, err := t.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r Row
		var created int64
		err := rows.Scan(
			&r.Thread,
			&r.Project,
			&r.Kind,
			&r.Ref,
			&r.Parent,
			&r.Root,
			&r.State,
			&r.Reason,
			&r.Model,
			&created,
			&r.Number,
			&r.Name,
			&r.Waiting,
			&r.Described,
		)
		if err != nil {
			return nil, err
		}
		r.Created = time.UnixMilli(created).UTC()
		out = append(out, r)
	}
	return out, rows.Err()
}

func (t *tx) cost(row Row) (Cost, error) {
	a, err := t.account(row.Thread)
	c := Cost{
		Row:     row,
		Account: a.Account,
		Models:  []ModelCost{},
		Chain:   []LinkCost{},
	}
	if err != nil {
		return c, err
	}
	err = t.sums(modelName, oneThread, row.Thread, func(_, name string, s Sum) {
		c.addModel(name, s)
	})
	if err != nil {
		return c, err
	}
	err = t.sums(linkName, oneThread, row.Thread, func(_, name string, s Sum) {
		c.Chain = append(c.Chain, LinkCost{name, s})
	})
	return c, err
}

func (c *Cost) addModel(name string, s Sum) {
	c.Own.Add(s)
	c.Assumed = c.Own.Assumed
	c.Calls = c.Own.Calls
	c.Models = append(c.Models, ModelCost{name, s})
}

// The expressions that select threads.
const (
	oneThread   = "thread = ?1"
	ofProject   = "thread IN (SELECT id FROM threads WHERE project = ?1)"
	everyThread = "?1 = ''" // of every project
)

// The expressions by which calls are added up.
const (
	modelName = "model"
	// The id of a reservation begins with the thread of the chain that makes the call.
	linkName = "substr(id, 1, instr(id || '/', '/') - 1)"
)

// sums adds up the calls of each of some threads by an expression: models in the order of their
// names, threads of a chain in the order of their first call. which is an expression with one
// parameter that selects threads.
func (t *tx) sums(
	by string,
	which string,
	parameter string,
	add func(thread, name string, s Sum),
) error {
	order := "min(created), name"
	if by == modelName {
		order = "name"
	}
	rows, err := t.Query(`SELECT thread, `+by+` AS name, count(*), sum(settled), sum(CASE WHEN assumed THEN settled ELSE 0 END), sum(CASE WHEN status = 'open' THEN amount ELSE 0 END)
		FROM reservations WHERE kind = 'call' AND status != 'released' AND `+which+` GROUP BY thread, name ORDER BY `+order, parameter)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var thread, name string
		var s Sum
		err := rows.Scan(
			&thread,
			&name,
			&s.Calls,
			&s.Actual,
			&s.Assumed,
			&s.Reserved,
		)
		if err != nil {
			return err
		}
		add(thread, name, s)
	}
	return rows.Err()
}

// Threads returns the threads of a project whose ids begin with a prefix, the newest
// first; of every project if project is "".
func (s *Store) Threads(ctx context.Context, project, prefix string) (out []Row, err error) {
	err = s.read(ctx, "reading", func(t *tx) error {
		out, err = t.threads("SELECT "+threadColumns+" WHERE (?1 = '' OR t.project = ?1) AND substr(t.id, 1, length(?2)) = ?2 ORDER BY t.created DESC, t.id", project, prefix)
		return err
	})
	return out, err
}

// Find returns the thread of a project with an id, or the only one whose id begins
// with it.
func (s *Store) Find(ctx context.Context, project, id string) (Row, error) {
	list, err := s.Threads(ctx, project, id)
	if err != nil {
		return Row{}, err
	}
	var like []string
	for _, r := range list {
		if r.Thread == id {
			return r, nil
		}
		like = append(like, r.Thread)
	}
	switch len(list) {
	case 0:
		return Row{}, notFound(id)
	case 1:
		return list[0], nil
	}
	return Row{}, diag.New(diag.ThreadNotFound, "reading the store of threads: %d threads begin with %q", len(list), id).
		WithReason("not_unique").
		WithDetail("similar", like)
}

// Period is what the user account spent in a day or a month, in UTC.
type Period struct {
	Period   string     `json:"period"`
	Scope    string     `json:"-"` // day or month
	Max      policy.USD `json:"max"`
	Actual   policy.USD `json:"actual"`
	Reserved policy.USD `json:"reserved"`
}

// Periods returns the day and the month of now, with their maximums.
func (s *Store) Periods(ctx context.Context, maximums policy.Periods) (out []Period, err error) {
	err = s.read(ctx, "reading", func(t *tx) error {
		for _, p := range periodsOf(t.now, maximums) {
			a, err := t.period(p)
			if err != nil {
				return err
			}
			out = append(out, Period{p.name, p.scope, p.most, a.Actual, a.Reserved})
		}
		return nil
	})
	return out, err
}

// NoPeriods is Periods of a user account that has no store.
func NoPeriods(now time.Time, maximums policy.Periods) (out []Period) {
	for _, p := range periodsOf(now, maximums) {
		out = append(out, Period{Period: p.name, Scope: p.scope, Max: p.most})
	}
	return out
}

// Missing reports whether an error of Open with Existing means that the user account
// has no store: it has run no thread.
func Missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist)
}

// Costs returns the accounts of the threads of a project, the newest first; of every
// project if project is "". The number of its queries does not depend on the threads.
func (s *Store) Costs(ctx context.Context, project string) (out []Cost, err error) {
	which := ofProject
	if project == "" {
		which = everyThread
	}
	err = s.read(ctx, "reading", func(t *tx) error {
		rows, err := t.threads("SELECT "+threadColumns+" WHERE ?1 = '' OR t.project = ?1 ORDER BY t.created DESC, t.id", project)
		if err != nil {
			return err
		}
		out = make([]Cost, len(rows))
		byThread := map[string]*Cost{}
		for i, row := range rows {
			out[i] = Cost{
				Row:    row,
				Models: []ModelCost{},
				Chain:  []LinkCost{},
			}
			byThread[row.Thread] = &out[i]
		}
		if err := t.accounts(which, project, byThread); err != nil {
			return err
		}
		err = t.sums(modelName, which, project, func(thread, name string, s Sum) {
			if c := byThread[thread]; c != nil {
				c.addModel(name, s)
			}
		})
		if err != nil {
			return err
		}
		return t.sums(linkName, which, project, func(thread, name string, s Sum) {
			if c := byThread[thread]; c != nil {
				c.Chain = append(c.Chain, LinkCost{name, s})
			}
		})
	})
	return out, err
}

// accounts sets the accounts of threads that an expression selects. It is an error if one of
// them has none.
func (t *tx) accounts(which, parameter string, costs map[string]*Cost) error {
	rows, err := t.Query("SELECT thread, max, actual, reserved, overspent FROM ledger WHERE "+which, parameter)
	if err != nil {
		return err
	}
	defer rows.Close()
	found := map[string]bool{}
	for rows.Next() {
		var thread string
		var a Account
		err := rows.Scan(
			&thread,
			&a.Max,
			&a.Actual,
			&a.Reserved,
			&a.Overspent,
		)
		if err != nil {
			return err
		}
		if c := costs[thread]; c != nil {
			c.Account = a
			found[thread] = true
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for thread := range costs {
		if !found[thread] {
			return notFound(thread)
		}
	}
	return nil
}
