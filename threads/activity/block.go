// Package activity reads the logs of threads and of runs of graphs as a tree of blocks:
// texts, calls with their state and output, questions, turns, notes, nodes, and the logs
// below.
//
// The watchdog reads through references (same_as): they are equal results.
//
// It reads no file and writes nothing: its caller passes the lines of the logs, and a
// surface draws the blocks. The texts of a block are as the log has them, so a surface
// must make hidden characters visible; a note is a line that is safe to print.
package activity

import (
	"strings"
	"time"

	"github.com/ryeos/rye/policy"
)

// Kind is the kind of a block.
type Kind string

// The kinds of blocks.
const (
	Head      Kind = "head"      // what runs, who signed it, and what it may spend
	Text      Kind = "text"      // of the model, in Markdown
	Reasoning Kind = "reasoning" // of the model
	Call      Kind = "call"      // of a tool
	Question  Kind = "question"  // that waits for a person
	Turn      Kind = "turn"      // has ended
	Note      Kind = "note"      // one line about what happened
	Child     Kind = "child"     // a thread that this one started
	Node      Kind = "node"      // of a graph
	End       Kind = "end"       // how the thread or run ended or was suspended
)

// State is the state of a block.
type State string

// The states of blocks.
const (
	Open      State = "open"
	Done      State = "done"
	Failed    State = "failed"
	Denied    State = "denied"
	Suspended State = "suspended"
)

// keptLines is the number of lines that a block has of what its call printed.
const keptLines = 12

// Block is a part of what a thread or a run did.
type Block struct {
	Kind   Kind
	ID     string // of a call, a question, a child or the run of a node
	Log    string // the id of the thread or run
	Depth  int    // of its log below the first one
	Number int    // of a call or a turn, from 1
	Turn   int64  // in which it began
	State  State
	Title  string // what is called or followed, the name of a node
	Args   string // of a call, on one line
	Text   string // of a text; why a call failed; a note
	Began  time.Time
	Ended  time.Time

	Output  []string // the last lines that a call printed, or the first ones of its result
	Printed int      // the number of all of them

	FromPerson bool // a note about a message of a person

	refused bool // it did not start

	Total, Done, Failures, AtOnce int // entries of a foreach
	Nodes                         int // of the graph of a node

	Tokens     int64 // after a turn
	Spent, Max policy.USD
	MaxTurns   int64
}

// Took returns how long the block has lasted at a time, or until its end.
func (b *Block) Took(now time.Time) time.Duration {
	if !b.Ended.IsZero() {
		now = b.Ended
	}
	return max(0, now.Sub(b.Began))
}

// print adds lines to what a call printed, and keeps the last ones.
func (b *Block) print(text string, kept int) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.Printed++
		if len(b.Output) >= kept {
			copy(b.Output, b.Output[1:])
			b.Output = b.Output[:kept-1]
		}
		b.Output = append(b.Output, line)
	}
}

// Change is the effect of a line of a log on a block.
type Change struct {
	Block *Block
	Piece string // that was added to a text
	Ended bool   // the block does not change any more
}

// Start has the facts of the head. A log that is read from its first line has it, but for the
// owner of a key and the attempts.
type Start struct {
	ThreadID string
	Ref      string
	Version  string // "" has none
	Signer   string
	Model    string
	Turns    int64
	Spend    policy.USD
	Attempts int64 // of one call of the model, at most; 0 is not known
}

// Model is the call of the model that is open.
type Model struct {
	Name     string
	Since    time.Time // zero: none is open
	Thinking time.Time // when it began to reason, zero if it does not
	Writing  bool      // its text arrives
	Call     string    // the tool whose arguments it writes
	Reserved policy.USD
}
