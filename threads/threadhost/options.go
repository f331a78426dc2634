package threadhost

import (
	"context"

	"github.com/ryeos/rye/exec"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/copies"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/prepare"
	"github.com/ryeos/rye/threads/steps"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/token"
)

// Decide asks the person who is present about a call of a thread.
type Decide func(ctx context.Context, q exec.Asked) (threads.Reply, error)

// Options are how a command starts or resumes a thread.
type Options struct {
	ID              string // of the new thread; "" makes one
	Ref             item.Ref
	Args            []string
	Params          map[string]any
	Held            policy.Held
	Within          exec.Call     // of a node that starts the thread; the zero value without one
	Token           *token.Claims // that the process of the thread got; nil at a terminal
	Limits          []string      // NAME=VALUE, of a person
	Narrow          []string      // NAME=VALUE, of a caller that may only lower what the directive has
	Model, Provider string
	Message         string // of the person
	// Attach are images and files of the person, for the first message of a new thread, or for
	// the next one of a thread that is resumed.
	Attach []message.Block
	// AnyPath permits inputs to name any file: a person gave them.
	AnyPath       bool
	AttachReady   bool   // Attach has all attachments, and they are prepared
	By            string // who resumes the thread, "" for a person
	AcceptChanged bool
	NoSuspend     bool // a thread that would be suspended ends with APPROVAL_REQUIRED
	Ask           exec.Ask
	Decide        Decide // asks about a call of the thread; nil: Ask does
	Relayed       bool   // the process that waits for the thread asks a person about its calls
	Attended      bool   // with Relayed: that process has a terminal
	Suspends      bool   // a surface such as the gateway shows its questions: one without an answer in time suspends it
	Interactive   bool   // a turn without calls waits for the next message of a person
	ToClient      bool   // Ask reaches the user of a client and not a terminal
	// Answer asks the person what a suspended thread asks; nil if no person is present.
	Answer    func(ctx context.Context, thread, question string) (string, error)
	Observe   threads.Observer
	Started   func(*prepare.Prepared, string) // called with the id before the first step
	Plan      bool                            // nothing is started: a model may be missing
	Below     *nodeThread                     // of a thread that a node of a graph starts
	handOff   bool                            // another thread continues the work
	Follows   string                          // the completed thread whose conversation the new thread has, "" for none
	Text      string                          // with Follows: the next message of the person
	follows   *threads.Carried                // the conversation that the new thread has; nil for none
	Above     *Run                            // the thread of this process that starts the new one
	Child     *threads.Spawned                // of a thread that a thread started
	Call      string                          // the key of the call that starts it, "" for none
	CallID    string                          // of the call of Above that starts it, "" if a step does
	Again     bool                            // a process that was stopped had begun the call
	Workspace string                          // here, read, worktree or copy; "" is where the caller works
	// Permit asks the person whether tools may write in a directory that is not a project; nil
	// if no person is present.
	Permit func(ctx context.Context, question string) (bool, error)
	Sees   *threads.WorkingCopy // what the tools of the process of a thread see
	Carry  bool                 // a worktree begins with the uncommitted changes
	Copy   string               // the id of the working copy that was made for the thread
	// Replay answers the thread from a recording; nil calls a model.
	Replay *threads.Replay
	// NoFallback leaves out the other models of the directive.
	NoFallback bool
	// Facts replace the facts about this machine and day in the prompt; nil keeps them.
	Facts *steps.Facts
	// ledger is open from the token to the account of the thread, which takes it; nil opens it.
	Ledger *store.Store
}

// Wish returns where the tools of the thread shall work.
func (o *Options) Wish() copies.Wish {
	return copies.Wish{
		Ref:       o.Ref,
		Workspace: o.Workspace,
		Carry:     o.Carry,
		Copy:      o.Copy,
		Sees:      o.Sees,
		Child:     o.Above != nil,
		Plan:      o.Plan,
		Permit:    o.Permit,
	}
}

// takeLedger returns the open ledger to a caller that closes it, or nil.
func (o *Options) takeLedger() *store.Store {
	s := o.Ledger
	o.Ledger = nil
	return s
}

// CloseLedger closes the ledger unless the account of the thread took it.
func (o *Options) CloseLedger() error {
	if s := o.takeLedger(); s != nil {
		return s.Close()
	}
	return nil
}

// isChild reports whether another thread started the one that is prepared.
func (o *Options) isChild() bool {
	return o.Child != nil ||
		o.Above != nil ||
		o.Token != nil && o.Token.Root != o.Token.Thread
}

// Request returns the options that decide about the directive, its limits, permissions and models.
func (o *Options) Request() *prepare.Request {
	r := &prepare.Request{
		Ref:        o.Ref,
		Args:       o.Args,
		Params:     o.Params,
		Held:       o.Held,
		Limits:     o.Limits,
		Narrow:     o.Narrow,
		Model:      o.Model,
		Provider:   o.Provider,
		NoFallback: o.NoFallback,
		Plan:       o.Plan,
		Below:      o.Below != nil || o.Token != nil || o.Child != nil,
		Child:      o.isChild(),
	}
	if o.Replay != nil {
		r.Recorded = o.Replay.Started
	}
	return r
}
