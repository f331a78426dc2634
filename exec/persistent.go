package exec

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/lineserver"
	"github.com/ryeos/rye/internal/proc"
)

// persistentLines is the value of the key persistent of a program that stays: it answers each
// line of JSON with one line.
const persistentLines = "lines"

// Persistent reports whether the tool or a runtime of a chain states persistent: lines.
func (c *Chain) Persistent() bool {
	for _, el := range c.Elements {
		if s, ok := el.Meta.Fields["persistent"].(string); ok {
			return s == persistentLines
		}
	}
	return false
}

// Resident is the program of a tool that stays for several calls. It answers one at a time.
type Resident struct {
	chain   *Chain
	server  *lineserver.Server
	timeout time.Duration // of one call
	calls   int64
	current *currentCall
}

// Open starts the program of a chain that is Persistent, in the sandbox that a run of the tool
// has. Its answers have at most maxLine bytes. What it calls through its broker belongs to the
// call that it answers. The caller closes it.
func (e *Executor) Open(
	ctx context.Context,
	c *Chain,
	call Call,
	maxLine int,
) (*Resident, error) {
	doing := "running " + c.Tool().Ref.String()
	b, ok := e.bodies[c.Primitive().Ref.ID].(subprocess)
	if !ok {
		return nil, diag.New(diag.ConfigError, "%s: persistent: %s is for programs, and it runs on %s", doing, persistentLines, c.Primitive().Ref)
	}
	p := &Plan{Call: call, Chain: c, Parameters: map[string]any{}}
	var err error
	if p.envs, err = readEnvConfigs(c); err != nil {
		return nil, err
	}
	if err := b.plan(ctx, p); err != nil {
		return nil, err
	}
	if err := e.approved(ctx, p); err != nil {
		return nil, err
	}
	resident := &Resident{chain: c, timeout: p.Timeout, current: &currentCall{Context: ctx}}
	conn, err := e.connect(resident.current, p, resident.current.get)
	if err != nil {
		return nil, err
	}
	cmd := proc.Cmd{
		Path:      p.Program,
		Argv:      p.Argv,
		Dir:       p.Dir,
		Env:       p.Env,
		Grace:     e.p.Grace,
		MaxStdout: -1,
		MaxStderr: p.MaxOutput,
	}
	serve(conn, &cmd)
	applied, finish, err := e.confined(context.WithoutCancel(ctx), p.Sandbox, &cmd)
	if err != nil {
		disconnect(conn)
		return nil, diag.Doing(doing, err)
	}
	resident.server = lineserver.Start(
		resident.current,
		func(ctx context.Context, stdin io.Reader, stdout func([]byte)) error {
			cmd.Stdin = stdin
			cmd.OnStdout = stdout
			res, err := proc.Run(ctx, cmd)
			if conn != nil {
				conn.Wait()
			}
			if err != nil {
				if stopped := finish(nil); stopped != nil {
					err = stopped
				}
				return diag.Doing(doing, err)
			}
			if stopped := finish(&res); stopped != nil {
				return diag.Doing(doing, stopped)
			}
			r := &Result{
				ReturnCode: res.ExitCode,
				Signal:     res.Signal,
				Stderr:     p.original(res.Stderr),
				Sandbox:    applied,
			}
			r.Data = resultData(nil, false)
			return r.failure(p, res)
		},
		maxLine,
	)
	return resident, nil
}

// Usable reports whether the program can be asked. One that ended with status 0 after an answer
// cannot, and a new one is started; the error states why it failed.
// A program that ended otherwise may have lost what it counted, so the turn fails.
func (p *Resident) Usable() (bool, error) {
	return p.server.Usable()
}

// Finished reports whether the program ended with status 0 after an answer, also if it was
// asked once more while it ended. A new one can answer this call.
func (p *Resident) Finished() bool {
	return p.calls > 1 && p.server.Finished()
}

// Close ends the program.
func (p *Resident) Close() {
	p.server.Close(time.Second)
}

// Ask passes parameters to the program, with the number of the call as the member call, and
// returns its answer without this member. After an error it is not usable.
func (p *Resident) Ask(
	ctx context.Context,
	call Call,
	params map[string]any,
) (map[string]any, error) {
	doing := "running " + p.chain.Tool().Ref.String()
	params, err := p.chain.Validate(params)
	if err != nil {
		return nil, err
	}
	p.calls++
	whole := make(map[string]any, len(params)+1)
	for k, v := range params {
		whole[k] = v
	}
	whole[callMember] = p.calls
	line, err := jsonx.Marshal(whole)
	if err != nil {
		return nil, diag.New(diag.ValidationFailed, "writing the parameters of %s: %w", p.chain.Tool().Ref, err)
	}
	p.current.now.Store(&oneCall{ctx, call, true})
	answer, err := p.server.Ask(ctx, line, p.timeout)
	p.current.now.Store(&oneCall{ctx, call, false})
	if err != nil {
		if _, failed := p.server.Usable(); failed == err {
			return nil, err // the end of the program names it
		}
		return nil, diag.Doing(doing, err)
	}
	data, ok := object(answer)
	if !ok {
		p.server.Close(0)
		return nil, diag.New(diag.ExecutionFailed, "%s: its answer is not a JSON object in one line: %s", doing, lineserver.Excerpt(answer))
	}
	if number, _ := data[callMember].(int64); number != p.calls {
		p.server.Close(0)
		return nil, diag.New(diag.ExecutionFailed, "%s: its answer must have the member %s of the line that it answers, which is %d", doing, callMember, p.calls)
	}
	delete(data, callMember)
	if success, isBool := data["success"].(bool); isBool && !success {
		return nil, diag.New(diag.ExecutionFailed, "%s: %s", doing, toolMessage(data)).WithDetail("data", data)
	}
	return data, nil
}

// callMember is the member of lines and answers that has the number of the call.
const callMember = "call"

// currentCall is the call that a program answers, and a context with its values.
type currentCall struct {
	context.Context // of the start
	now             atomic.Pointer[oneCall]
}

type oneCall struct {
	ctx       context.Context
	call      Call
	answering bool // its answer has not come
}

// get implements Current.
func (c *currentCall) get() (Call, bool) {
	now := c.now.Load()
	if now == nil {
		return Call{}, false
	}
	return now.call, now.answering
}

// Value implements context.Context.
func (c *currentCall) Value(key any) any {
	if now := c.now.Load(); now != nil {
		return now.ctx.Value(key)
	}
	return c.Context.Value(key)
}
