package chat

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/complete"
	"github.com/ryeos/rye/internal/cmd/watch"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

func exportCommand() *cli.Command {
	format := "md"
	return &cli.Command{
		Name:  "export",
		Args:  "THREAD",
		Usage: "print a conversation",
		Long: `Prints the messages and answers of all threads of the chain as Markdown, with the names of
the called tools, or with --format jsonl the lines of their logs.`,
		Examples: []string{"rye chat export 12 >conversation.md", "rye chat export 12 --format jsonl"},
		Codes:    []diag.Code{diag.ThreadNotFound, diag.TranscriptBroken},
		Flags:    []cli.Flag{cli.String(&format, "format", "the `FORMAT`").OneOf("md", "jsonl")},
		Complete: complete.Runs,
		Run: func(ctx context.Context, c *cli.Call) error {
			p, err := openLogs(ctx, c)
			if err != nil {
				return err
			}
			id, err := watch.FindRun(ctx, c, p, c.Args[0])
			if err != nil {
				return err
			}
			links, err := threads.Chain(p.Spaces.ProjectDir, id)
			if err != nil {
				return err
			}
			// The first message of each later thread is a summary, which the reader has whole.
			for _, l := range links {
				err := export(c, p.Spaces.ProjectDir, l.ID, format)
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// export prints one thread.
func export(c *cli.Call, dir, id, format string) error {
	return transcript.NewReader(dir, id).Next(func(l *transcript.Line) error {
		if format == "jsonl" {
			b, err := jsonx.Marshal(l)
			if err == nil {
				c.UI.Raw(string(b))
			}
			return err
		}
		if text := personText(l); text != "" {
			c.UI.Text("## You\n\n" + text + "\n\n")
		}
		if l.Event != "model_response" {
			return nil
		}
		var d struct {
			Blocks []message.Block `json:"blocks"`
		}
		if err := l.Decode(&d); err != nil {
			return diag.New(diag.TranscriptBroken, "reading %s: %w", id, err)
		}
		c.UI.Text(answerText(d.Blocks))
		return nil
	})
}

// answerText returns an answer as Markdown.
func answerText(blocks []message.Block) string {
	parts := []string{"## Assistant"}
	for _, b := range blocks {
		switch b.Type {
		case message.Text:
			parts = append(parts, b.Text)
		case message.ToolCall:
			parts = append(parts, "Tool: `"+b.Name+"`")
		}
	}
	return strings.Join(parts, "\n\n") + "\n\n"
}
