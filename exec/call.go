package exec

import (
	"context"

	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// Ask asks the user a question about a call, and reports whether the answer is yes.
type Ask func(ctx context.Context, about Asked) (yes bool, err error)

// Asked is the question to a person about a call. An answer for the whole thread permits Rule; one
// for beginnings of commands permits Prefixes, nil if it is not offered.
type Asked struct {
	Thread         string // whose call it is, "" outside of threads
	Question, Rule string
	Prefixes       []string
	Tier           string             // the class of its risk, "" if the question is not about a risk
	Details        []string           // lines about what the call would use
	Change         *policy.FileChange // that the call makes in files, nil without one
	// Queue returns the number of the question and of those that are open, nil for one.
	Queue func() (at, of int)
}

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
	// Node is the key of the node of the loop of a thread that the call is below, "" for none. It
	// is equal when the node is repeated after a crash.
	Node string
	// ID is the id of the call of a model, or of a program of a thread, that this call is made for;
	// "" outside of such calls.
	ID string
	// Again states that a process which was stopped had started the call of this ID.
	Again bool
	// Step is the name of the step of a thread's loop that makes the call; "" if a call of ID
	// makes it.
	Step string
	// Guarded states that a guard of the user makes the call, so no guard decides about it.
	Guarded bool
	// Connecting states that a tool which connects to a server executes the server's item.
	Connecting bool
	// Run is the id of the run whose node makes the call, or a call that this one is below; "" for
	// none.
	Run string
	// Started records that the call begins, nil if no log has it: the caller has begun one. An
	// error ends the call.
	Started func(ref string, digest item.Digest, tier, decision string) error `json:"-"`
	// Progress receives numbers from servers of tools, nil if the caller takes lines only.
	Progress func(done, total float64, message string) `json:"-"`
	// Asking asks the user of a client what a run of a graph asks; nil if the call comes from no
	// client that can be asked.
	Asking *Asking `json:"-"`
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
