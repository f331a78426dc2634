package page

import (
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/gateway/host"
	"github.com/ryeos/rye/internal/gateway/trail"
	"github.com/ryeos/rye/internal/markdown"
	"github.com/ryeos/rye/threads/activity"
)

// Threads is the list of threads.
type Threads struct {
	Query    string
	States   []Choice
	Filtered bool
	Threads  []host.Thread
	More     int
}

// Thread is one thread as a conversation.
type Thread struct {
	Thread     *host.Detail
	Turn       int64
	Tree       []host.Thread
	Older      int // blocks that are not shown
	Blocks     []Block
	Questions  []Question
	Actions    []Action
	MayMessage bool
	Copy       bool // it works in a copy of its own
	Form       string
}

// Action is a button of a thread.
type Action struct {
	Name, Label string
	Danger      bool
}

// Block is a part of a conversation.
type Block struct {
	Element string // the id of its element
	Kind    string
	Class   string
	Sign    string
	Title   string
	Args    string
	Text    string
	HTML    template.HTML
	Outcome string
	Lines   []string
	Rest    []string // all lines, if not all are in Lines
	Printed int
	Open    bool
	Number  int
	Of      int64
	Spent   string
	Tokens  string
	Link    string // the id of a thread
}

// Limits of the lines of a result.
const (
	firstLines = 20
	allLines   = 2000
)

// Blocks converts what a thread did. The calls that failed and the newest one are open.
func Blocks(tree *activity.Tree, now time.Time) []Block {
	// What a person looks for first is unfolded.
	newest := -1
	for i, b := range tree.Blocks {
		if b.Kind == activity.Call {
			newest = i
		}
	}
	out := make([]Block, 0, len(tree.Blocks))
	for i, b := range tree.Blocks {
		x := block(b, now)
		x.Element = "b" + strconv.Itoa(i)
		x.Open = b.Kind == activity.Call &&
			(i == newest || b.State == activity.Failed || b.State == activity.Denied)
		out = append(out, x)
	}
	return out
}

func block(b *activity.Block, now time.Time) Block {
	out := Block{
		Kind:    string(b.Kind),
		Class:   string(b.State),
		Sign:    blockSign(b),
		Title:   b.Title,
		Args:    b.Args,
		Text:    b.Text,
		Outcome: outcome(b, now),
		Printed: b.Printed,
		Number:  b.Number,
		Of:      b.MaxTurns,
		Spent:   activity.Money(b.Spent),
		Tokens:  activity.Thousands(b.Tokens),
	}
	switch b.Kind {
	case activity.Text, activity.Reasoning:
		// The page has the first two levels of headings.
		out.HTML = markdown.HTML(b.Text, markdown.Options{HeadingsBelow: 2, WholeAddress: true})
	case activity.Call:
		out.Lines = b.Output[:min(len(b.Output), firstLines)]
		if len(b.Output) > firstLines {
			out.Rest = b.Output[:min(len(b.Output), allLines)]
		}
	case activity.Child:
		// Its log is a page of its own.
		out.Link = b.ID
	case activity.End:
		out.Class = endClass(b.Title)
		out.Sign = endSign(b.Title)
	}
	return out
}

// NameChildren names the threads that a thread started by what they follow: its log has their ids.
func NameChildren(blocks []Block, tree []host.Thread) {
	// Without an entry of the registry the name stays.
	items := map[string]string{}
	for i := range tree {
		items[tree[i].ID] = bare(tree[i].Item)
	}
	for i := range blocks {
		if item := items[blocks[i].Link]; item != "" {
			blocks[i].Title = item
		}
	}
}

func blockSign(b *activity.Block) string {
	switch b.State {
	case activity.Open:
		return "●"
	case activity.Failed, activity.Denied:
		return "✕"
	case activity.Suspended:
		return "‖"
	}
	return "✓"
}

// endSign returns the sign of the end of a thread, by its state.
func endSign(state string) string {
	switch state {
	case "completed", "continued":
		return "✓"
	case "suspended":
		return "‖"
	}
	return "✕"
}

func endClass(state string) string {
	switch state {
	case "completed", "continued":
		return "done"
	case "suspended":
		return "suspended"
	}
	return "failed"
}

// outcome returns how a call ended and how long it took.
func outcome(b *activity.Block, now time.Time) string {
	lasted := duration(b.Took(now))
	switch b.State {
	case activity.Open:
		return "running, " + lasted
	case activity.Failed:
		return "failed, " + lasted
	case activity.Denied:
		return "denied"
	}
	return lasted
}

// duration writes how long something took: 85 ms, 4.1 s, 3 min.
func duration(d time.Duration) string {
	// Two digits are enough to compare calls.
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return strconv.Itoa(int(d.Minutes())) + " min"
}

// Question is an open question with its answers.
type Question struct {
	host.Approval

	Element   string
	Commands  []string // the exact commands, each on lines of its own
	Changes   bool     // Details shows what changes in files
	Answers   []Answer
	MayAnswer bool
	Named     bool   // the directive is shown
	Prefix    string // that an answer for prefixes repeats
	Back      string // the page after the answer
	Form      string
}

// Answer is a button that permits a call.
type Answer struct{ Name, Label string }

// Approvals are the open questions.
type Approvals struct {
	Questions []Question
}

// AskedOf converts a question. may reports which answers the caller may give.
func AskedOf(a *host.Approval, may func(decision string) bool) Question {
	q := Question{
		Approval:  *a,
		Element:   "q-" + strings.TrimPrefix(a.Digest, "sha256:")[:16],
		Commands:  commands(a.Question),
		Changes:   len(a.Details) > plainDetails,
		Prefix:    strings.Join(a.Prefixes, ", "),
		MayAnswer: may("deny"),
	}
	// An answer that the question does not offer has no button.
	labels := map[string]string{
		"once":   "Allow once",
		"thread": "Allow in this thread",
		"prefix": "Allow “" + q.Prefix + "” in this thread",
	}
	if a.CallID == "" {
		labels["once"] = "Continue"
	}
	for _, name := range a.Grants {
		if labels[name] != "" && may(name) {
			q.Answers = append(q.Answers, Answer{Name: name, Label: labels[name]})
		}
	}
	return q
}

// plainDetails is the number of details of a call that changes no file.
const plainDetails = 4

// commands returns the commands that a question quotes, so that a reader sees them without escapes.
func commands(question string) []string {
	var out []string
	for rest := question; ; {
		_, after, found := strings.Cut(rest, `he command "`)
		if !found {
			return out
		}
		// The text of the question itself quotes the command, so nothing is guessed.
		quoted, err := strconv.QuotedPrefix(`"` + after)
		if err != nil {
			return out
		}
		text, err := strconv.Unquote(quoted)
		if err != nil {
			return out
		}
		out = append(out, text)
		rest = after[len(quoted)-1:]
	}
}

// Diff is what a thread changed in its working copy.
type Diff struct{ Diff *host.Diff }

// DiffLine is a line of a difference.
type DiffLine struct{ Class, Text string }

// diffLines returns the lines of a difference with their classes. The sign at the beginning of a line
// states it without colour.
func diffLines(text string) []DiffLine {
	var out []DiffLine
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		class := ""
		switch {
		case strings.HasPrefix(line, "@@"):
			class = "at"
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			class = "at"
		case strings.HasPrefix(line, "+"):
			class = "plus"
		case strings.HasPrefix(line, "-"):
			class = "minus"
		}
		out = append(out, DiffLine{Class: class, Text: line})
	}
	return out
}

// Spend is what was spent.
type Spend struct{ Spend *host.Spend }

// Items is the list of items.
type Items struct {
	Query string
	Kinds []Choice
	Items []host.Item
	More  int
}

// Item is one item.
type Item struct {
	Item     *host.ItemDetail
	MayStart bool
}

// Start is the form that starts a thread.
type Start struct {
	Items    []host.Item // to choose from, if Item is nil
	Item     *host.ItemDetail
	Inputs   []Field
	Message  string
	SpendMax string
	Form     string
}

// Field is an input of a directive.
type Field struct {
	host.Input

	Value string
	Lines bool // it may have several lines
}

// Audit is the audit log.
type Audit struct {
	Broken  string
	Entries []trail.Entry
}

// Problem is an error.
type Problem struct{ Heading, Text string }
