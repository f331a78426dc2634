package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/openat"
)

// Handle is how a person names a thread, or a run of a graph. Each has one, also a run that
// has no account, and a thread that continues an earlier thread in its account.
type Handle struct {
	ID      string
	Project string
	// Number is unique in the user account, greater than every earlier one, and never used
	// again. It is 0 without one.
	Number int64
	// Name is nil if it is not known, as in a store of an earlier version.
	Name *string
	// Waiting is what a person must answer, as JSON; "" is nothing, and nil is not known.
	Waiting *string
	// Logged is the number that the log states, 0 if it states none, and Began the time of
	// its first line. Only Rebuild reads them.
	Logged int64
	Began  time.Time
}

// maxNumber is the greatest number that is taken from a log.
const maxNumber = 1_000_000_000

// numbersFile has the numbers that logs do not state, and a number that none has reached: a
// store that is lost cannot name them.
const numbersFile = "numbers"

// numbersAhead is how far the file is ahead of the numbers in use, so that few of them write it.
const numbersAhead = 32

// reserved is the content of numbersFile.
type reserved struct {
	Below int64            `json:"below"` // numbers that are in use are less
	IDs   map[string]int64 `json:"ids"`   // the numbers of threads whose logs state a different one, or none
}

func (s *Store) readNumbers() (out reserved, err error) {
	out.IDs = map[string]int64{}
	b, err := openat.ReadRegular(s.base.Path(numbersFile), 64<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		return out, diag.New(diag.FileSystemError, "reading the numbers of threads: %s: %w", s.base.Path(numbersFile), err).
			WithDetail("path", s.base.Path(numbersFile))
	}
	if out.IDs == nil {
		out.IDs = map[string]int64{}
	}
	return out, nil
}

func (s *Store) writeNumbers(r reserved) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(r); err != nil {
		return err
	}
	return s.base.Replace(numbersFile, b.Bytes(), 0o600)
}

// keepNumbers records numbers in the file before a transaction that uses them ends. Numbers
// of given are in no log.
func (s *Store) keepNumbers(most int64, given map[string]int64) error {
	r, err := s.readNumbers()
	if err != nil || most < r.Below && len(given) == 0 {
		return err
	}
	r.Below = max(r.Below, most+1)
	if len(given) == 0 {
		r.Below = most + numbersAhead
	}
	for id, n := range given {
		r.IDs[id] = n
	}
	return s.writeNumbers(r)
}

// numbered gives a thread or run its number. One that has it keeps it.
func (s *Store) numbered(t *tx, h Handle) (n int64, err error) {
	err = t.QueryRow("SELECT number FROM handles WHERE id = ?", h.ID).Scan(&n)
	if !errors.Is(err, sql.ErrNoRows) {
		return n, err
	}
	err = t.QueryRow(
		"INSERT INTO handles(id, project, name, waiting) VALUES(?, ?, ?, ?) RETURNING number",
		h.ID,
		h.Project,
		h.Name,
		h.Waiting,
	).Scan(&n)
	if err == nil {
		err = s.keepNumbers(n, nil)
	}
	return n, err
}

// hasNumber reports whether entries of a kind have numbers: a trial call of a service has none.
func hasNumber(kind string) bool {
	return kind == "thread" || kind == "run"
}

// Number returns the number of a thread or run, and gives it one if it has none.
func (s *Store) Number(ctx context.Context, h Handle) (n int64, err error) {
	err = s.read(ctx, "reading", func(t *tx) error {
		err := t.QueryRow("SELECT number FROM handles WHERE id = ?", h.ID).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return err
	})
	if n > 0 || err != nil {
		return n, err
	}
	return s.NewNumber(ctx, h)
}

// NewNumber is Number for a thread or run that began now: it does not look for its number before
// it waits to write.
func (s *Store) NewNumber(ctx context.Context, h Handle) (n int64, err error) {
	err = s.write(ctx, "numbering a thread in", func(t *tx) error {
		n, err = s.numbered(t, h)
		return err
	})
	return n, err
}

// Number returns the number of the thread of an owner, or of one that continues it.
func (o *Owner) Number(ctx context.Context, h Handle) (int64, error) {
	return o.store.Number(ctx, h)
}

// migrateHandles gives the threads of an earlier version numbers, in the order of their start.
func (s *Store) migrateHandles(t *tx) error {
	r, err := s.readNumbers() // of a store that is lost
	if err != nil {
		return err
	}
	if r.Below > 1 {
		_, err := t.Exec("INSERT INTO sqlite_sequence(name, seq) VALUES('handles', ?)", r.Below-1)
		if err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.IDs)) { // a process that was stopped here has written the file
		_, err := t.Exec("INSERT INTO handles(number, id, project) SELECT ?, id, project FROM threads WHERE id = ?", r.IDs[id], id)
		if err != nil {
			return err
		}
	}
	if _, err := t.Exec(`INSERT INTO handles(id, project) SELECT id, project FROM threads
		WHERE kind IN ('thread', 'run') AND id NOT IN (SELECT id FROM handles) ORDER BY created, id`); err != nil {
		return err
	}
	given, err := t.numbers("SELECT id, number FROM handles")
	if err != nil || len(given) == 0 {
		return err
	}
	return s.keepNumbers(mostOf(given), given)
}

func mostOf(numbers map[string]int64) (most int64) {
	for _, n := range numbers {
		most = max(most, n)
	}
	return most
}

func (t *tx) numbers(query string, args ...any) (map[string]int64, error) {
	rows, err := t.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]int64{}
	for rows.Next() {
		var id string
		var n int64
		if err := rows.Scan(&id, &n); err != nil {
			return nil, err
		}
		out[id] = n
	}
	return out, rows.Err()
}

const handleColumns = "id, project, number, name, waiting"

func (t *tx) handles(query string, args ...any) (out []Handle, err error) {
	rows, err := t.Query("SELECT "+handleColumns+" FROM handles "+query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var h Handle
		err := rows.Scan(
			&h.ID,
			&h.Project,
			&h.Number,
			&h.Name,
			&h.Waiting,
		)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, rows.Err()
}

// Handles returns the threads and runs of a project in the order of their numbers; of every
// project if project is "".
func (s *Store) Handles(ctx context.Context, project string) (out []Handle, err error) {
	err = s.read(ctx, "reading", func(t *tx) error {
		out, err = t.handles("WHERE ?1 = '' OR project = ?1 ORDER BY number", project)
		return err
	})
	return out, err
}

// Handle returns the thread or run with an id, or with a number if id is "". ok is false if
// none has it.
func (s *Store) Handle(
	ctx context.Context,
	id string,
	number int64,
) (h Handle, ok bool, err error) {
	err = s.read(ctx, "reading", func(t *tx) error {
		list, err := t.handles("WHERE id = ?1 OR ?1 = '' AND number = ?2", id, number)
		if ok = len(list) > 0; ok {
			h = list[0]
		}
		return err
	})
	return h, ok, err
}

// Describe records names, and what threads wait for, where a handle states them. A thread
// without a number gets one.
func (s *Store) Describe(ctx context.Context, list []Handle) error {
	return s.write(ctx, "describing threads in", func(t *tx) error {
		for _, h := range list {
			if _, err := s.numbered(t, h); err != nil {
				return err
			}
			_, err := t.Exec("UPDATE handles SET name = coalesce(?, name), waiting = coalesce(?, waiting) WHERE id = ?", h.Name, h.Waiting, h.ID)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// fillHandles replaces the handles by the handles of Rebuild. A number that the file has for a
// thread is used first, then the one of its log, then the one that it had in the former
// store. If two threads have one number, the one that had it in the former store keeps it,
// else the one that began first, and the other gets a new one, which the file records: a log
// is not changed.
func (s *Store) fillHandles(t *tx, list []Handle) error {
	former, err := t.numbers("SELECT id, number FROM handles")
	if err != nil {
		return err
	}
	r, err := s.readNumbers()
	if err != nil {
		return err
	}
	if _, err := t.Exec("DELETE FROM handles"); err != nil {
		return err
	}
	claims := slices.Clone(list)
	for i := range claims {
		h := &claims[i]
		if h.Logged > maxNumber {
			h.Logged = 0
		}
		switch {
		case r.IDs[h.ID] > 0:
			h.Number = r.IDs[h.ID]
		case h.Logged > 0:
			h.Number = h.Logged
		default:
			h.Number = former[h.ID]
		}
	}
	slices.SortFunc(claims, func(a, b Handle) int {
		return cmp.Or(
			a.Began.Compare(b.Began),
			cmp.Compare(a.ID, b.ID),
		)
	})
	used := map[int64]string{}
	last := r.Below - 1
	take := func(h *Handle) {
		if used[h.Number] == "" && h.Number > 0 {
			used[h.Number], last = h.ID, max(last, h.Number)
		}
	}
	for i := range claims {
		had := former[claims[i].ID]
		if had > 0 && had == claims[i].Number {
			take(&claims[i])
		}
	}
	for _, n := range former {
		last = max(last, n)
	}
	for i := range claims {
		take(&claims[i])
	}
	given := map[string]int64{}
	for i := range claims {
		h := &claims[i]
		if used[h.Number] != h.ID {
			last++
			h.Number = last
		}
		if h.Number != h.Logged {
			given[h.ID] = h.Number
		}
		_, err := t.Exec(
			"INSERT INTO handles("+handleColumns+") VALUES(?, ?, ?, ?, ?)",
			h.ID,
			h.Project,
			h.Number,
			h.Name,
			h.Waiting,
		)
		if err != nil {
			return err
		}
	}
	if last < 1 {
		return nil
	}
	return s.keepNumbers(last, given)
}
