package complete

import (
	"context"
	"strconv"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/control"
	"github.com/ryeos/rye/threads/waiting"
)

// Runs offers threads and runs, the newest first: the numbers, and the ids for a person
// who types the beginning of one, each with its directive or graph, and its age.
func Runs(ctx context.Context, c *cli.Call) []string {
	e := env.Of(c)
	e.ThreadLogs = true
	p, err := e.Open(ctx, project.Lenient)
	if err != nil {
		return nil
	}
	list, _ := control.ListNamed(ctx, p) // without the registry there are no numbers
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
