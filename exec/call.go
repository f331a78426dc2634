package exec

import (
	"context"

	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// Ask asks the user a question, and reports whether the answer is yes.
type Ask func(ctx context.Context, question string) (yes bool, err error)

// Call has what one call brings. The executor passes it to the body of the primitive, to a
// Native and to Params.Broker. The zero value permits nothing and reaches no user.
type Call struct {
	Held policy.Held // the permissions of the caller; nil permits nothing
	// Thread is the id of the thread that makes the call, "" outside of threads. Programs
	// receive it.
	Thread string
	// Key is equal when the call is repeated after a crash, "" without one. Tools with
	// idempotency: key receive it.
	Key string
	// Depth is the number of calls of tools by tools that this call is below.
	Depth int
	// Readable are directories that programs may read in addition: the caller made them for
	// the call.
	Readable []string
	// Ask asks the user about the call if the allowance wants it, and what a Native asks; nil
	// means that there is no user to ask.
	Ask Ask `json:"-"`
	// OnLine receives each line of output; nil ignores it.
	OnLine func(proc.Stream, []byte) `json:"-"`
}

// Current returns the call that a program answers now, which its broker needs: a Resident
// answers several. It reports false while the program answers none.
type Current func() (c Call, answering bool)

// Below returns a call that is made during c, with permissions of its own. It has the facts of
// c, but not its user: it has no Ask and no OnLine.
func (c Call) Below(held policy.Held) Call {
	c.Held = held
	c.Ask = nil
	c.OnLine = nil
	return c
}
