package testfile

import (
	"fmt"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/linediff"
	"github.com/ryeos/rye/threads"
)

// The parts of a thread that are compared, in addition to system, tools and messages of a
// request.
const (
	PartCalls  = "calls"
	PartTool   = "tool"   // the file of a tool whose recorded result was used
	PartResult = "result" // state, outputs, text or error
)

// Difference is what a replay did otherwise than the recorded thread.
type Difference struct {
	Turn int64  `json:"turn,omitempty"` // 0 for the result
	Part string `json:"part"`
	Tool string `json:"tool,omitempty"`
	Diff string `json:"diff"` // in the unified format
}

// Calls compares the calls of tools with their results. The difference names the first call
// that differs.
func Calls(was, is []threads.CallOutcome) (Difference, bool) {
	for i := range max(len(was), len(is)) {
		at := Difference{Part: PartCalls}
		switch {
		case i >= len(was):
			at.Turn = is[i].Turn
			at.Tool = is[i].Name
		case i >= len(is) || call(&was[i]) != call(&is[i]):
			at.Turn = was[i].Turn
			at.Tool = was[i].Name
		default:
			continue
		}
		at.Diff = linediff.Unified(
			"recorded",
			"now",
			[]byte(calls(was)),
			[]byte(calls(is)),
		)
		return at, true
	}
	return Difference{}, false
}

func calls(list []threads.CallOutcome) string {
	var b strings.Builder
	for i := range list {
		b.WriteString(call(&list[i]))
	}
	return b.String()
}

// call renders a call as lines. Its id is left out: a service invents it.
func call(c *threads.CallOutcome) string {
	return fmt.Sprintf(
		"turn %d: %s\n%s\nresult, error: %t\n%s",
		c.Turn,
		c.Name,
		indented(canonical(c.Input)),
		c.IsError,
		c.Text,
	)
}

func indented(s string) string {
	return "  " + strings.ReplaceAll(s, "\n", "\n  ")
}

// Results compares how the threads ended. unused is the number of recorded answers of the
// model that the replay did not ask for.
func Results(was, is *threads.Result, unused int) (Difference, bool) {
	before := result(was)
	after := result(is)
	if unused > 0 {
		after += fmt.Sprintf("calls of the model that were not made: %d\n", unused)
	}
	if before == after {
		return Difference{}, false
	}
	return Difference{Part: PartResult, Diff: linediff.Unified(
		"recorded",
		"now",
		[]byte(before),
		[]byte(after),
	)}, true
}

func result(r *threads.Result) string {
	text := "status: " + r.Status + "\n"
	if r.Error != nil {
		text += fmt.Sprintf("error: %s\n%s\n", r.Error.Code, indented(r.Error.Message))
	}
	if r.Outputs != nil {
		return text + "outputs:\n" + indented(canonical(r.Outputs)) + "\n"
	}
	return text + "text:\n" + indented(r.Text) + "\n"
}

// Changed is the difference of a tool whose file is not the one that gave the recorded result.
func Changed(c *threads.CallOutcome, now string) Difference {
	was := fmt.Sprintf("%s %s\n", c.Ref, c.Digest)
	return Difference{
		Turn: c.Turn,
		Part: PartTool,
		Tool: c.Name,
		Diff: linediff.Unified(
			"recorded",
			"now",
			[]byte(was),
			[]byte(c.Ref+" "+now+"\n"),
		),
	}
}

// Mismatch returns the error of a replay that differs, nil without a difference.
func Mismatch(id string, found []Difference) error {
	if len(found) == 0 {
		return nil
	}
	d := found[0]
	return diag.New(diag.ReplayMismatch, "testing %s: %s", id, d.Headline()).
		WithReason("test_differs").
		WithDetail("test", id).
		WithDetail("part", d.Part)
}

// Headline states in one line what differs.
func (d *Difference) Headline() string {
	where := ""
	if d.Turn > 0 {
		where = fmt.Sprintf("turn %d: ", d.Turn)
	}
	switch {
	case d.Part == PartResult:
		return "the result differs"
	case d.Part == PartTool:
		return where + "the file of the tool " + d.Tool + " changed since its result was recorded"
	case d.Part == PartCalls:
		return where + "the call of " + d.Tool + " or its result differs"
	case d.Tool != "":
		return where + "the " + d.Part + " differ, first in " + d.Tool
	case d.Part == "system":
		return where + "the system text differs"
	}
	return where + "the " + d.Part + " differ"
}
