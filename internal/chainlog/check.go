package chainlog

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ryeos/rye/diag"
)

// MaxFaults is the maximum number of faults that a report lists.
const MaxFaults = 50

// Check compares each line with the one before it. If the hash in a line differs
// from the hash of the line before, either of the two may have been altered. The
// next line, or the head, decides: the line whose hash it names is intact.
type Check struct {
	format *Format

	head  Head
	known bool // the head file was readable

	line int     // lines so far
	seq  int64   // of the last one
	last string  // the hash of the last one
	seqs []int64 // of every entry

	blamed  bool   // the last line has a fault: the next one is not compared with it
	suspect bool   // the last line does not fit the one before it
	atHead  string // the hash of the line with the head's sequence number, "" before it was read
	topLine int    // its number

	faults []fault // the first of them
	more   int     // how many were left out
}

// fault is one position where the chain is broken. The text of a fault in the
// order of lines is made at the end, when all sequence numbers are known.
type fault struct {
	line       int
	text       string
	want, have int64
	warning    bool
}

// NewCheck returns a Check of a log from its beginning. The head must be read before
// the log: the log only grows, so it then has at least the lines that the head covers.
// known is false if there is no head.
func (f *Format) NewCheck(h Head, known bool) *Check {
	return &Check{
		format: f,
		head:   h,
		known:  known,
		last:   f.Start().Last,
	}
}

func (c *Check) fault(f fault) {
	if len(c.faults) == MaxFaults {
		c.more++
		return
	}
	c.faults = append(c.faults, f)
}

func (c *Check) altered(line int, by string) {
	c.fault(fault{line: line, text: "it was altered: " + by + " names the hash of another line here"})
}

// Add checks the next whole line with its line feed. ok is false if the line is not
// one of the format.
func (c *Check) Add(line []byte) (ok bool) {
	l, err := c.format.Link(line)
	fits := l.Prev == c.last
	inOrder := err == nil && l.Seq == c.seq+1
	c.judge(fits || !inOrder, "line "+strconv.Itoa(c.line+1))
	c.line++
	excused := c.blamed
	c.blamed = err != nil || fits && !inOrder
	switch {
	case err != nil:
		c.fault(fault{line: c.line, text: err.Error()})
	case c.blamed:
		c.fault(fault{line: c.line, text: fmt.Sprintf("it was altered: it follows entry %d and calls itself %d", c.seq, l.Seq)})
	case !inOrder:
		c.fault(fault{line: c.line, want: c.seq + 1, have: l.Seq})
	case !fits && c.line == 1:
		c.blamed = true
		c.fault(fault{line: 1, text: "it was altered: it names a line before it, and it is the first"})
	default:
		c.suspect = !fits && !excused
	}
	c.last = Digest(line)
	if c.blamed {
		c.seq++
	} else {
		c.note(l)
	}
	return err == nil
}

func (c *Check) note(e Link) {
	c.seq = e.Seq
	c.seqs = append(c.seqs, e.Seq)
	if c.known && e.Seq == c.head.Seq {
		c.atHead = c.last
		c.topLine = c.line
	}
}

// judge decides which of the last two lines was altered if they do not fit. The
// last one is intact if the hash named by next is its own.
func (c *Check) judge(intact bool, next string) {
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

// Cut reports a last line without a line feed. What it would record did not happen:
// the line is complete before that, and the head covers complete lines only.
func (c *Check) Cut() {
	if c.known && c.seq < c.head.Seq {
		c.fault(fault{line: c.line + 1, text: "it was cut"})
		return
	}
	c.fault(fault{line: c.line + 1, text: "it is incomplete because a process was stopped while writing; " + c.format.Repair, warning: true})
}

// Line returns the number of whole lines so far.
func (c *Check) Line() int {
	return c.line
}

// End compares the last lines with the head and returns all findings.
func (c *Check) End() []diag.Finding {
	top := c.atHead == "" || c.atHead == c.head.Last
	c.judge(top || c.topLine != c.line, c.format.Head)
	switch {
	case !c.known && c.line > 0:
		c.fault(fault{line: c.line, warning: true, text: "it may not be the last one: " + c.format.Head + " is missing or damaged"})
	case !c.known:
	case c.seq < c.head.Seq:
		c.fault(fault{line: max(c.line, 1), text: "the log ends here: " + missing(c.seq+1, c.head.Seq) + " removed"})
	case !top && !c.reported(c.topLine):
		c.altered(c.topLine, c.format.Head)
	}
	return c.findings()
}

func (c *Check) reported(line int) bool {
	return slices.ContainsFunc(c.faults, func(f fault) bool {
		return f.line == line && !f.warning
	})
}

func (c *Check) findings() []diag.Finding {
	var out []diag.Finding
	for _, f := range c.faults {
		out = append(out, c.finding(f))
	}
	if c.more > 0 {
		out = append(out, diag.Errorf(diag.TranscriptBroken, c.line, 0, "%d more faults up to here are not listed", c.more))
	}
	return out
}

func (c *Check) finding(f fault) diag.Finding {
	text := f.text
	if f.have != 0 {
		text = c.order(f.want, f.have)
	}
	if f.warning {
		return diag.Warnf(diag.TranscriptBroken, f.line, 0, "%s", text)
	}
	return diag.Errorf(diag.TranscriptBroken, f.line, 0, "%s", text).
		WithReason(c.format.Reason, "head", c.format.Head)
}

// order describes a wrong sequence number.
func (c *Check) order(want, have int64) string {
	if have > want && !slices.Contains(c.seqs, want) {
		return missing(want, have-1) + " removed before it"
	}
	return fmt.Sprintf("entry %d is in the position of entry %d: lines were moved or copied", have, want)
}

func missing(from, to int64) string {
	if from == to {
		return fmt.Sprintf("entry %d was", from)
	}
	return fmt.Sprintf("entries %d to %d were", from, to)
}
