package exec

import "context"

// body is the implementation of a primitive. A chain runs only if it ends in a
// primitive that has one.
type body interface {
	// check returns the errors of a chain that are certain before a run.
	check(ctx context.Context, c *Chain) error
	// plan completes a plan with validated parameters.
	plan(ctx context.Context, p *Plan) error
	// run carries out a plan.
	run(ctx context.Context, p *Plan) (*Result, error)
	// programs returns the programs of this machine that a chain would start.
	programs(ctx context.Context, c *Chain) ([]Interpreter, error)
	// sendsDotenv reports whether the variables of the project's .env are passed
	// to more than a program that could read that file itself.
	sendsDotenv() bool
}

// bodies returns the primitives of this program by id.
func bodies(e *Executor) map[string]body {
	return map[string]body{
		Subprocess: subprocess{e},
		HTTPClient: httpBody{e},
		NativeStep: nativeBody{e},
	}
}
