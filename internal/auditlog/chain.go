package auditlog

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ryeos/rye/diag"
)

// maxFaults is how many places are told of one log.
const maxFaults = 50

// chain holds each line against the one before it. A line that was altered is
// noticed by the next one, or by the head, so the blame for a line that does
// not fit waits until it is known which of the two still is what others say.
type chain struct {
	head  head
	known bool // there is a head

	line int     // lines so far
	seq  int64   // of the last one
	last string  // the hash of the last one
	seqs []int64 // of every entry

	blamed  bool   // the last line was told of: what follows cannot be held against it
	suspect bool   // the last line does not fit the one before it
	atHead  string // the hash of the line that the head tells of, "" before it came
	topLine int    // its number

	faults []fault // the first of them
	more   int     // how many were left out
}

// fault is one place where the chain does not hold. A fault in the order is
// put into words at the end, when all sequence numbers are known.
type fault struct {
	line       int
	text       string
	want, have int64
	warning    bool
}

func newChain(h head, known bool) *chain {
	return &chain{head: h, known: known, last: start().Last}
}

func (c *chain) fault(f fault) {
	if len(c.faults) == maxFaults {
		c.more++
		return
	}
	c.faults = append(c.faults, f)
}

func (c *chain) altered(line int, by string) {
	c.fault(fault{line: line, text: "it was altered: " + by + " names the hash of another line here"})
}

// add takes the next whole line, and returns the entry that it is.
func (c *chain) add(line []byte) (Entry, bool) {
	e, err := parse(line)
	fits, inOrder := e.Prev == c.last, err == nil && e.Seq == c.seq+1
	c.judge(fits || !inOrder, "line "+strconv.Itoa(c.line+1))
	c.line++
	excused := c.blamed
	c.blamed = err != nil || fits && !inOrder
	switch {
	case err != nil:
		c.fault(fault{line: c.line, text: err.Error()})
	case c.blamed:
		c.fault(fault{line: c.line, text: fmt.Sprintf("it was altered: it follows entry %d and calls itself %d", c.seq, e.Seq)})
	case !inOrder:
		c.fault(fault{line: c.line, want: c.seq + 1, have: e.Seq})
	case !fits && c.line == 1:
		c.blamed = true
		c.fault(fault{line: 1, text: "it was altered: it names a line before it, and it is the first"})
	default:
		c.suspect = !fits && !excused
	}
	c.last = digestOf(line)
	if c.blamed {
		c.seq++
	} else {
		c.note(e)
	}
	return e, err == nil
}

func (c *chain) note(e Entry) {
	c.seq = e.Seq
	c.seqs = append(c.seqs, e.Seq)
	if c.known && e.Seq == c.head.Seq {
		c.atHead, c.topLine = c.last, c.line
	}
}

// judge settles which of the last two lines was altered, if they do not fit:
// the last one is intact when it is what comes next says.
func (c *chain) judge(intact bool, next string) {
	if !c.suspect {
		return
	}
	c.suspect = false
	if intact {
		c.altered(c.line-1, "line "+strconv.Itoa(c.line))
		return
	}
	c.altered(c.line, next)
	c.blamed = true
}

// cut tells of a last line without an end. Nobody signed by it: a signature is
// made after its line is whole, and the head tells of whole lines only.
func (c *chain) cut() {
	if c.known && c.seq < c.head.Seq {
		c.fault(fault{line: c.line + 1, text: "it was cut"})
		return
	}
	c.fault(fault{line: c.line + 1, text: "it has no end, for a process was stopped while it wrote; the next signature removes it", warning: true})
}

// end holds the last lines against the head and returns what was found.
func (c *chain) end() []diag.Finding {
	top := c.atHead == "" || c.atHead == c.head.Last
	c.judge(top || c.topLine != c.line, HeadFile)
	switch {
	case !c.known && c.line > 0:
		c.fault(fault{line: c.line, warning: true, text: "nothing tells whether it is the last one: " + HeadFile + " is missing or damaged"})
	case !c.known:
	case c.seq < c.head.Seq:
		c.fault(fault{line: max(c.line, 1), text: "the log ends here: " + missing(c.seq+1, c.head.Seq) + " removed"})
	case !top && !c.told(c.topLine):
		c.altered(c.topLine, HeadFile)
	}
	return c.findings()
}

func (c *chain) told(line int) bool {
	return slices.ContainsFunc(c.faults, func(f fault) bool { return f.line == line && !f.warning })
}

func (c *chain) findings() []diag.Finding {
	var out []diag.Finding
	for _, f := range c.faults {
		out = append(out, c.finding(f))
	}
	if c.more > 0 {
		out = append(out, diag.Errorf(diag.TranscriptBroken, c.line, 0, "%d more places up to here are not told", c.more))
	}
	return out
}

func (c *chain) finding(f fault) diag.Finding {
	text := f.text
	if f.have != 0 {
		text = c.order(f.want, f.have)
	}
	if f.warning {
		return diag.Warnf(diag.TranscriptBroken, f.line, 0, "%s", text)
	}
	out := diag.Errorf(diag.TranscriptBroken, f.line, 0, "%s", text)
	out.Fix = "keep the log and " + HeadFile + " as they are, and find out who wrote there; moved away, the next signature begins a new log"
	return out
}

// order says what is wrong with a sequence number.
func (c *chain) order(want, have int64) string {
	if have > want && !slices.Contains(c.seqs, want) {
		return missing(want, have-1) + " removed before it"
	}
	return fmt.Sprintf("entry %d stands where entry %d belongs: lines were moved or copied", have, want)
}

func missing(from, to int64) string {
	if from == to {
		return fmt.Sprintf("entry %d was", from)
	}
	return fmt.Sprintf("entries %d to %d were", from, to)
}
