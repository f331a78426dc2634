package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/threads/message"
)

// ServerName is the name that the tools of a thread have as an MCP server. The programs put
// it before the names of tools.
const ServerName = "rye"

// Program is a program that calls a model by itself, with the login of the user, and whose
// only tools come from an MCP server of the thread.
// It cannot renew its login in the sandbox: a token for renewal is valid once, and the login
// file is read-only, so the login of the user would be lost.
type Program struct {
	Command []string // of the item, with placeholders
	Server  []string // the command of the MCP server; set by the caller of Call
	Tokens  int64    // the most that one start may use, 0 without a limit; set by the caller of Call
	// Keep writes the file of {models_file} where the program can read it, and returns its
	// path; set by the caller of Call.
	Keep func(b []byte) (string, error)
	// Start starts the command with an input and returns its output and a function that
	// waits for its end. Call requires it.
	Start func(ctx context.Context, argv []string, stdin []byte) (io.ReadCloser, func() (Exit, error), error)
}

// Exit is how a program ended.
type Exit struct {
	Status int
	Stderr string // its end
}

// maxProgramOutput is the longest output of one start, in bytes.
const maxProgramOutput = 64 << 20

func programs() []string {
	return []string{ClaudeCLI, CodexCLI}
}

func isProgram(dialect string) bool {
	return slices.Contains(programs(), dialect)
}

func argWords() []string {
	return []string{"model", "system", "mcp_config", "mcp_command", "mcp_args", "models_file"}
}

// readProgram reads the command of a program.
// Sessions of the programs are not used, because their home directory is gone: the next start
// reads the conversation as a text.
func readProgram(r *tree.Reader, c *Config) *Program {
	if !isProgram(c.Dialect) {
		for _, key := range []string{"program", "args"} {
			if r.Has(key) {
				r.Reject(key, "is for the dialects %s", strings.Join(programs(), " and "))
			}
		}
		return nil
	}
	r.Require("program", "args")
	p := &Program{Command: append(
		[]string{r.Text("program")},
		r.Texts("args", nil)...,
	)}
	used := map[string]bool{}
	checkTemplate(r, "args", r.Value("args"), argWords(), used)
	if !used["mcp_config"] && (!used["mcp_command"] || !used["mcp_args"]) {
		r.Reject("args", "must contain {mcp_config}, or {mcp_command} and {mcp_args}: the tools of the thread are an MCP server")
	}
	if !used["model"] {
		r.Reject("args", "must contain {model}")
	}
	if c.Billing != "subscription" {
		r.Reject("billing", "must be subscription in the dialect %s: what a start costs is not known before it", c.Dialect)
	}
	for _, key := range []string{"tools", "cache", "body", "quirks", "reasoning"} {
		if r.Has(key) {
			r.Reject(key, "is not part of the dialect %s: the program decides", c.Dialect)
		}
	}
	for id, m := range c.Models {
		if len(m.Input) != 1 || m.Input[0] != "text" {
			r.Map("models").Map(id).Reject("input", "must be [text] in the dialect %s", c.Dialect)
		}
	}
	return p
}

// argv returns the command for a request.
func (p *Program) argv(req shaped, models string) []string {
	var args []string
	if len(p.Server) > 1 {
		args = p.Server[1:]
	}
	command := ""
	if len(p.Server) > 0 {
		command = p.Server[0]
	}
	server := object(field{"command", encoded(command)}, field{"args", encoded(args)})
	config := object(field{"mcpServers", object(field{ServerName, server})})
	vals := map[string]string{
		"model": req.Model, "system": joined(req.System, "\n\n"), "mcp_config": string(config),
		"mcp_command": string(encoded(command)), "mcp_args": string(encoded(args)), "models_file": string(encoded(models)),
	}
	var out []string
	for _, arg := range p.Command {
		out = append(out, placeholder().ReplaceAllStringFunc(arg, func(word string) string {
			return vals[strings.Trim(word, "{}")]
		}))
	}
	return out
}

// has returns whether an argument of the command has a placeholder.
func (p *Program) has(word string) bool {
	return slices.ContainsFunc(p.Command, func(arg string) bool {
		return strings.Contains(arg, "{"+word+"}")
	})
}

// modelsFile returns a list of models for codex that has the model of a request only. Which
// of its own tools codex offers follows from its list, not from its settings: a model that
// the list describes without them has none.
func (c *Config) modelsFile(req shaped) []byte {
	none := list(nil)
	model := object(
		field{"slug", encoded(req.Model)}, field{"display_name", encoded(req.Model)}, field{"base_instructions", encoded(joined(req.System, "\n\n"))},
		field{"context_window", encoded(c.Models[req.Model].Window)}, field{"shell_type", encoded("disabled")}, field{"experimental_supported_tools", none},
		field{"supported_reasoning_levels", none}, field{"supports_reasoning_summaries", encoded(true)}, field{"support_verbosity", encoded(false)},
		field{"supports_parallel_tool_calls", encoded(false)}, field{"visibility", encoded("list")}, field{"supported_in_api", encoded(true)}, field{"priority", encoded(1)},
		field{"truncation_policy", object(
			field{"mode", encoded("tokens")},
			field{"limit", encoded(10_000)},
		)},
	)
	return object(field{"models", list([][]byte{model})})
}

// encodeProgram writes the input of a program: the conversation as a text. What the program
// did in an earlier start is part of it. Each message has a heading: claude takes an input
// that begins with a slash for a command of its own.
func (c *Config) encodeProgram(req shaped) []byte {
	var parts []string
	if !c.Program.has("system") && !c.Program.has("models_file") {
		parts = append(parts, joined(req.System, "\n\n"))
	}
	for _, msg := range merged(req.Messages) {
		var texts []string
		for _, b := range msg.Blocks {
			for _, t := range c.asText(b) {
				texts = append(texts, t.Text)
			}
			if b.Type == message.Opaque && b.Dialect == c.Dialect {
				texts = append(texts, "What you did: "+string(b.Raw))
			}
		}
		heading := map[message.Role]string{message.User: "## Message", message.Assistant: "## Your answer"}[msg.Role]
		parts = append(parts, heading, strings.TrimSpace(strings.Join(texts, "\n\n")))
	}
	return []byte(
		strings.Join(
			slices.DeleteFunc(parts, func(s string) bool { return s == "" }),
			"\n\n",
		) + "\n",
	)
}

// startProgram starts the command of a request.
func (c *Config) startProgram(
	ctx context.Context,
	req shaped,
	stdin []byte,
) (io.ReadCloser, func() (Exit, error), error) {
	models := ""
	if c.Program.has("models_file") {
		var err error
		if models, err = c.Program.Keep(c.modelsFile(req)); err != nil {
			return nil, nil, err
		}
	}
	return c.Program.Start(ctx, c.Program.argv(req, models), stdin)
}

// callProgram makes one start, which is one call of a model however often the program calls
// its service.
func (c *Config) callProgram(
	ctx context.Context,
	a *attempt,
	stdin []byte,
) (message.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.dec = c.decoder(a.req, a.m, a.odd)
	out, wait, err := c.startProgram(ctx, a.req, stdin)
	if err != nil {
		return message.Response{}, c.failure(err, func(s string) string { return s })
	}
	read := int64(0)
	size := int64(0)
	_, err = httpx.Events(out, httpx.JSONLines, func(e httpx.Event) error {
		if read += int64(len(e.Data)); read > maxProgramOutput {
			return diag.New(diag.TooLarge, "reading the output of %s: it has more than %d bytes", c.Program.Command[0], maxProgramOutput)
		}
		e.Data = bytes.ToValidUTF8(e.Data, []byte("\uFFFD"))
		deltas, err := a.dec.event(e)
		for _, d := range deltas {
			size += int64(len(d.Text))
			if a.onDelta != nil {
				a.onDelta(d)
			}
		}
		used := a.dec.seen()
		if err == nil &&
			c.Program.Tokens > 0 &&
			used.Total() > c.Program.Tokens {
			err = diag.New(
				diag.LimitExceeded,
				"calling %s: it used %d tokens, the thread has %d left",
				c.ID,
				used.Total(),
				c.Program.Tokens,
			).
				WithDetail("limit", "tokens").
				WithDetail("value", used.Total()).
				WithDetail("max", c.Program.Tokens)
		}
		return err
	})
	a.bytes = size
	if err != nil {
		cancel() // its output is not what it must be: nothing more of it is read
	}
	out.Close()
	exit, werr := wait()
	var r message.Response
	switch {
	case err != nil:
	case ctx.Err() != nil:
		err = diag.New(diag.Cancelled, "calling %s: cancelled", c.ID)
	case werr != nil:
		err = werr
	default:
		r, err = a.dec.end()
		if err == nil && exit.Status != 0 {
			err = diag.New(
				diag.ProviderError,
				"calling %s: %s ended with exit status %d%s",
				c.ID,
				c.Program.Command[0],
				exit.Status,
				exit.reason(),
			)
		} else if err != nil && exit.Status != 0 {
			err = diag.New(
				diag.CodeOf(err),
				"%w; %s ended with exit status %d%s",
				err,
				c.Program.Command[0],
				exit.Status,
				exit.reason(),
			)
		}
	}
	if err != nil {
		f := c.failure(err, func(s string) string { return s })
		usage := a.dec.seen().estimated(a.input, half(size))
		usage.Assumed = 1
		f.Usage = usage
		f.OutputBytes = size
		return message.Response{}, f
	}
	r.Usage = a.dec.seen().estimated(a.input, half(size))
	if r.Model == "" {
		r.Model = a.m.ID
	}
	return r, nil
}

// reason returns the last line of stderr, for an error.
func (e Exit) reason() string {
	lines := strings.Split(strings.TrimSpace(e.Stderr), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last != "" {
		return ": " + short(last)
	}
	return ""
}

// foreign is the error for a tool of a program that is not one of the thread. The program is
// stopped: it could act where rye neither asks, limits nor records.
func foreign(what string) error {
	return diag.New(diag.PolicyDenied, "reading the output of the program: it has %s, which is not a tool of the thread; args of the item must switch the program's own tools off", what).
		WithReason("own_tools")
}

// did is what a program did before its answer, as its next start reads it.
type did struct{ steps [][]byte }

// maxStep is the longest text of one step that the next start reads.
const maxStep = 4000

func (d *did) add(key string, text string) {
	if r := []rune(text); len(r) > maxStep {
		text = string(r[:maxStep]) + "…"
	}
	d.steps = append(d.steps, object(field{key, encoded(text)}))
}

func (d *did) call(name string, input []byte) {
	if !json.Valid(input) {
		input = []byte("{}")
	}
	d.steps = append(d.steps, object(
		field{"call", encoded(name)},
		field{"arguments", input},
	))
}

// block returns the steps as a block, and whether there are any.
func (d *did) block(origin wire) (message.Block, bool) {
	return origin.mark(
		message.Block{Type: message.Opaque},
		list(d.steps),
	), len(d.steps) > 0
}
