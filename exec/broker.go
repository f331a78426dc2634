package exec

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
)

// brokerVar names the variable with the descriptor of the broker. Programs without
// sandbox.broker do not receive it.
const brokerVar = "RYE_BROKER_FD"

// brokerFD is that descriptor: the first one after the outputs.
const brokerFD = "3"

// Connection is the broker of one program: a connection on which rye serves its verbs.
type Connection interface {
	// File returns the end for the program, which the run closes.
	File() *os.File
	// End closes the connection and cancels its calls. It does not wait for them.
	End()
	// Wait ends the connection, waits for its calls and returns them.
	Wait() BrokerCalls
}

// MaxBrokerCalls is the number of calls that a record lists.
const MaxBrokerCalls = 64

// BrokerCall is one call of a program.
type BrokerCall struct {
	Verb       string    `json:"verb"`
	Ref        string    `json:"ref,omitempty"` // as the program named it
	Success    bool      `json:"success"`
	Code       diag.Code `json:"code,omitempty"`
	DurationMS int64     `json:"duration_ms"`
}

// BrokerCalls are the calls of a program in the order of their ends.
type BrokerCalls struct {
	List []BrokerCall
	More int // that are not in the list
}

// Add adds a call to the list while it is short.
func (c *BrokerCalls) Add(call BrokerCall) {
	if len(c.List) == MaxBrokerCalls {
		c.More++
		return
	}
	c.List = append(c.List, call)
}

// brokerModule is the name by which programs import the library for the broker.
const brokerModule = "rye"

// asksForBroker reports whether the tool of a chain states sandbox.broker. Whether its
// program gets one is known when the sandbox is selected.
// On Windows such a tool is refused: a program gets no descriptor there.
func (c *Chain) asksForBroker() bool {
	return statesBroker(c.Tool())
}

func statesBroker(tool *resolve.Item) bool {
	limits, _ := tool.Confinement() // findings are reported with the sandbox
	return limits.Profile.Broker != nil && *limits.Profile.Broker
}

// brokerEnv sets the variables of a program that asks for the broker: the descriptor,
// and those by which it finds the library for it.
// The library is config.lib_env of the runtime, set only for programs with the broker: others
// pay nothing for it. Node gets --import by NODE_OPTIONS, because modules ignore NODE_PATH.
func (e *Executor) brokerEnv(
	ctx context.Context,
	p *Plan,
	cfg *config,
	env, vars map[string]string,
) error {
	env[brokerVar] = brokerFD
	if len(cfg.LibEnv) == 0 {
		return nil
	}
	if vars["runtime_lib"] == "" {
		lib, err := e.library(ctx, p, cfg)
		if err != nil {
			return err
		}
		vars["runtime_lib"] = lib
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.LibEnv)) {
		if msg := badName(name); msg != "" {
			return diag.New(diag.ConfigError, "filling in lib_env variable %q: %s", name, msg)
		}
		value, err := tmpl.Expand(cfg.LibEnv[name], env, vars)
		if err != nil {
			return diag.New(diag.ConfigError, "filling in lib_env variable %s: %w", name, err)
		}
		old := env[name]
		if old != "" && strings.HasSuffix(name, "PATH") {
			value = old + string(os.PathListSeparator) + value
		}
		env[name] = value
	}
	return nil
}

// brokered reports whether the program of a plan gets the broker: its item asks for
// it, and neither the chain nor a ceiling refuses.
func (p *Plan) brokered() bool {
	if p.Sandbox == nil || p.Sandbox.Applet || !p.Chain.asksForBroker() {
		return false
	}
	return p.Sandbox.Unconfined || p.Sandbox.Profile.Broker != nil && *p.Sandbox.Profile.Broker
}

// withoutBroker removes the variable from a plan whose program gets no broker.
func (p *Plan) withoutBroker() {
	if p.brokered() || !p.Chain.asksForBroker() {
		return
	}
	env := p.Env[:0:0]
	for _, kv := range p.Env {
		if !strings.HasPrefix(kv, brokerVar+"=") {
			env = append(env, kv)
		}
	}
	p.Env = env
	if p.Sandbox != nil {
		p.Sandbox.Notes = append(p.Sandbox.Notes, "broker: its class, a runtime or a caller does not permit it")
	}
}

// connect opens the broker of a program, nil if it gets none. Its calls have the
// permissions of the caller and what the item lists as one more grant.
func (e *Executor) connect(ctx context.Context, p *Plan, current Current) (Connection, error) {
	if !p.brokered() {
		return nil, nil
	}
	doing := "running " + p.Chain.Tool().Ref.String()
	if e.p.Broker == nil {
		return nil, diag.New(diag.ConfigError, "%s: it needs a broker, and this command offers none", doing)
	}
	held := p.Held.
		With(policy.Grant{Caps: p.Sandbox.Calls, Source: p.Chain.Tool().Ref.String() + " calls"})
	conn, err := e.p.Broker(ctx, held, current)
	if err != nil {
		return nil, diag.Doing(doing, err)
	}
	return conn, nil
}

// serve adds the connection to the command of a program.
func serve(conn Connection, cmd *proc.Cmd) {
	if conn == nil {
		return
	}
	cmd.Files = append(cmd.Files, conn.File())
	cmd.OnExit = conn.End
}

// disconnect ends the connection of a program that was not started.
func disconnect(conn Connection) {
	if conn != nil {
		conn.File().Close()
		conn.Wait()
	}
}
