package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/ryeos/rye/exec/graph"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/waiting"
)

// numbers returns a function that returns the number of a thread or run in the user account, 0
// if the registry does not have it. A number does not change, so each is read once.
func numbers(ctx context.Context, w *cli.World) func(id string) int64 {
	var known sync.Map
	return func(id string) int64 {
		if n, ok := known.Load(id); ok {
			return n.(int64)
		}
		e := project.Env{Getenv: w.Getenv}
		dir := e.UserDirs().State
		if dir == "" || !graph.IsID(id) {
			return 0
		}
		s, err := store.Open(ctx, store.Dir(dir), store.Params{Now: w.Now, Existing: true})
		if err != nil {
			return 0
		}
		h, _, err := s.Handle(ctx, id, 0)
		if err = errors.Join(err, s.Close()); err == nil && h.Number > 0 {
			known.Store(id, h.Number)
		}
		return h.Number
	}
}

// called returns the shortest word that names a thread or run in a command: its number, else its
// id.
func called(c *cli.Call, id string) string {
	if n := c.UI.Number(id); n > 0 {
		return strconv.FormatInt(n, 10)
	}
	return id
}

// label describes a thread or run in a line for a person: "triage 12", else its id.
func label(c *cli.Call, id string) string {
	n := c.UI.Number(id)
	at := strings.LastIndexByte(id, '-')
	if n == 0 || at < 0 {
		return id
	}
	return id[:at] + " " + strconv.FormatInt(n, 10)
}

// completeRuns offers threads and runs, the newest first: the numbers, and the ids for a person
// who types the beginning of one, each with its directive or graph, and its age.
func completeRuns(ctx context.Context, c *cli.Call) []string {
	e := envOf(c)
	e.ThreadLogs = true
	p, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return nil
	}
	list, _ := project.NamedThreads(ctx, p) // without the registry there are no numbers
	var numbers, ids []string
	for _, t := range list {
		about := t.About + ", " + waiting.Age(c.Now().Sub(t.Started))
		if t.Number > 0 {
			numbers = append(numbers, strconv.FormatInt(t.Number, 10)+"\t"+about)
		}
		ids = append(ids, t.ID+"\t"+about)
	}
	return append(numbers, ids...)
}
