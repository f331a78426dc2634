package threads

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/threads/upkeep"
)

func threadsRebuildCommand() *cli.Command {
	var dump bool
	return &cli.Command{
		Name:  "rebuild",
		Usage: "compute the registry and the ledger from the logs again",
		Long: `Verifies and reads the logs of this project and of all others that have had threads, and
replaces the store of the user account by one with the same threads, accounts and sums of
days and months. Use it after the store was damaged or lost. While it works, no thread may
run. What only the former store has, such as the cost of threads whose logs were
removed, stays if that store can be read. A log that is damaged is not used.

--dump prints what the store has, one JSON object a line, and changes nothing: without
processes, times, and reservations for calls that were not sent.`,
		Examples: []string{"rye threads rebuild", "rye threads rebuild --dump >before.jsonl"},
		Codes:    []diag.Code{diag.ThreadState, diag.FileSystemError},
		Flags:    []cli.Flag{cli.Bool(&dump, "dump", "print what the store has, and change nothing")},
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := env.Of(c).Open(ctx, project.Lenient)
			if err != nil {
				return err
			}
			if dump {
				return dumpThreads(ctx, c, p)
			}
			r, err := upkeep.Rebuild(ctx, p)
			if err != nil {
				return err
			}
			if r.Store == "damaged" {
				c.UI.Warn("the former store was damaged: what threads without a log cost is lost")
			}
			for _, dir := range r.Missing {
				c.UI.Warn("%s does not exist: the logs of its threads were not read", dir)
			}
			for _, u := range r.Unreadable {
				c.UI.Warn("the logs of the threads of %s were not read: %s", u.Project, u.Error)
			}
			for _, log := range r.Copies {
				c.UI.Warn("%s was not used: another project has the log of the same thread", log)
			}
			for _, log := range r.Damaged {
				c.UI.Warn("%s was not read, because it cannot be verified: rye threads verify names the fault", log)
			}
			return c.UI.Show(r, func() {
				c.UI.Out(
					"rebuilt the store from the logs of %s in %s",
					cli.Plural(r.Threads, "thread"),
					cli.Plural(len(r.Projects), "project"),
				)
				if len(r.Completed) > 0 {
					c.UI.Out("completed %s with calls that the former store had and no log has", cli.Plural(len(r.Completed), "thread"))
				}
				if len(r.Kept) > 0 {
					c.UI.Out("kept %s without a log as the former store had them", cli.Plural(len(r.Kept), "thread"))
				}
			})
		},
	}
}

func dumpThreads(ctx context.Context, c *cli.Call, p *project.Project) error {
	var lines bytes.Buffer
	if err := upkeep.Dump(ctx, p, &lines); err != nil {
		return err
	}
	data := struct {
		Rows []json.RawMessage `json:"rows"`
	}{[]json.RawMessage{}}
	for line := range bytes.Lines(lines.Bytes()) {
		data.Rows = append(data.Rows, line)
	}
	return c.UI.Show(data, func() {
		c.UI.Text(lines.String())
	})
}
