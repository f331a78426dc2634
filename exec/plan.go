package exec

import (
	"context"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/schema"
	"github.com/ryeos/rye/resolve"
)

// MaxArgJSON is the size in bytes from which {params_json} is "-": the JSON of the
// parameters is then on stdin only.
const MaxArgJSON = 64 << 10

// Plan is a resolved run: --dry-run shows the plan that a run carries out.
type Plan struct {
	Call
	Chain        *Chain
	Parameters   map[string]any
	Argv         []string
	Program      string   // absolute path of argv[0]
	Env          []string // complete, sorted
	Dir          string
	Stdin        []byte
	Timeout      time.Duration
	MaxOutput    int64
	Interpreters []Interpreter
	// Deps are the verified files that the run uses in addition to the chain:
	// files of the anchor and of the runtime's library, sinks, configurations.
	Deps     []*resolve.Item
	Packages string      // directory of the unpacked wheels of a Python tool, "" without
	Native   *NativeCall // a call in this process instead of a program
	call     Native
	envs     []*envConfig      // of each element of the chain
	keys     map[string]string // of the service that the tool calls, which the user stored
	inline   *packages         // of a Python tool with a block # /// script
	copies   []copied
	fixed    []string         // what the program reads in addition to its profile: its own files
	servers  []languageServer // that an applet may start
	Sandbox  *Confinement
}

// Validate checks the parameters against the tool's schema and returns them
// with the schema's defaults filled in. The error lists every violation.
func (c *Chain) Validate(params map[string]any) (map[string]any, error) {
	tool := c.Tool()
	s, err := Schema(tool)
	if s == nil || err != nil {
		return params, err
	}
	params = s.Defaults(params)
	return params, Violated("checking the parameters of", tool.Ref, s.Validate(params))
}

// foreignType is the tool_type of a tool of an MCP server. The server checks the
// parameters itself.
const foreignType = "mcp"

// Schema returns the compiled parameter schema of a tool, nil if it declares none.
// A schema that is not a mapping is an error: treating it as absent would accept
// any parameters.
func Schema(tool *resolve.Item) (*schema.Schema, error) {
	doing := "reading config_schema of " + tool.Ref.String()
	if tool.Meta.Schema == nil {
		if tool.Meta.Fields["config_schema"] != nil {
			return nil, diag.New(diag.ConfigError, "%s: it must be a mapping", doing)
		}
		return nil, nil
	}
	return resolve.Derive(tool, schemaKey{}, func() (*schema.Schema, error) {
		compile := schema.Compile
		if tool.Meta.ToolType == foreignType {
			compile = schema.CompileForeign
		}
		s, fs := compile(tool.Meta.Schema)
		return s, diag.FromFindings(doing, diag.WithPath(fs, tool.Path()))
	})
}

// schemaKey is the key of resolve.Derive for the schema of a tool.
type schemaKey struct{}

// Plan checks the parameters of a valid chain and resolves its command. It
// materialises the verified files that the command names, and starts no program
// except a version manager that the runtime names. The Plan is incomplete if the
// error is not nil.
func (e *Executor) Plan(
	ctx context.Context,
	c *Chain,
	call Call,
	params map[string]any,
) (*Plan, error) {
	params, err := c.Validate(params)
	if err != nil {
		return nil, err
	}
	if params == nil {
		params = map[string]any{}
	}
	p := &Plan{Call: call, Chain: c, Parameters: params}
	if p.envs, err = readEnvConfigs(c); err != nil {
		return nil, err
	}
	return p, e.bodies[c.Primitive().Ref.ID].plan(ctx, p)
}
