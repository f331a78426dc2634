// Package activity renders the events of a thread as lines for a person who watches
// it run.
//
// It writes nothing: the command line owns the terminal. It does not decide which
// threads a person may see, and JSON output does not use it.
//
// The watchdog reads through references (same_as): they are equal results.
package activity

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/resulttext"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// The most characters that a line has of the arguments of a call, and of a message.
const (
	maxInput   = 80
	maxMessage = 300
)

// Start is what the first line states.
type Start struct {
	ThreadID string
	Ref      string
	Version  string // "" has none
	Signer   string
	Model    string
	Limits   threads.Limits
	Attempts int64 // of one call of the model, at most

	// Tokens and Spent are those of earlier processes of a thread that is resumed.
	Tokens int64
	Spent  policy.USD
}

// View renders the events of one thread, in their order.
type View struct {
	start  Start
	calls  map[string]string // what is called, by the id of the call
	denied map[string]bool   // calls that a line states already
	tokens int64
	spent  policy.USD
	last   string    // the last line
	until  time.Time // when the next attempt of a failed call is made; zero for none
}

// New returns the view of a thread that begins.
func New(s Start) *View {
	return &View{start: s, calls: map[string]string{}, denied: map[string]bool{}, tokens: s.Tokens, spent: s.Spent}
}

// First returns the first line: what runs, who signed it, and what it may spend.
func (v *View) First() string {
	s := &v.start
	ref := s.Ref
	if s.Version != "" {
		ref += "@" + s.Version
	}
	return fmt.Sprintf("thread %s  %s signed by %s  %s  budget $%s", s.ThreadID, ref, s.Signer, s.Model, Money(s.Limits.Spend))
}

// Shown is how an event appears. Both fields are empty for one that people need not see.
type Shown struct {
	Streamed string // a part of the answer, to be printed without the end of a line
	Line     string
}

// Event renders an event.
func (v *View) Event(l *transcript.Line) Shown {
	v.waits(l)
	if l.Event == "token_delta" {
		var d message.Delta
		if l.Decode(&d) == nil && d.Kind == message.DeltaText {
			return Shown{Streamed: visible(d.Text)}
		}
		return Shown{}
	}
	line := ""
	if render := renderers()[l.Event]; render != nil {
		line = render(v, l)
	}
	if line == "" || line == v.last { // the loop and the kernel find the same limit
		return Shown{}
	}
	v.last = line
	return Shown{Line: line}
}

// waits remembers when the next attempt of a failed call is made.
func (v *View) waits(l *transcript.Line) {
	switch l.Event {
	case "model_error":
		var d errorData
		if l.Decode(&d) == nil && d.RetryIn != nil {
			v.until = l.At().Add(time.Duration(*d.RetryIn) * time.Millisecond)
		}
	case "model_request", "thread_suspended", "thread_cancelled", "thread_error":
		v.until = time.Time{}
	}
}

// Waiting returns the line of a thread that waits for a service, with the time that is left, and
// "" for one that does not wait, or for less than two seconds.
func (v *View) Waiting(now time.Time) string {
	left := v.until.Sub(now)
	if v.until.IsZero() || left < 2*time.Second {
		return ""
	}
	return "  waiting for the service  " + left.Round(time.Second).String()
}

// of returns what renders an event whose data have the type T. Data of another type have
// no line.
func of[T any](render func(*View, T) string) func(*View, *transcript.Line) string {
	return func(v *View, l *transcript.Line) string {
		var d T
		if l.Decode(&d) != nil {
			return ""
		}
		return render(v, d)
	}
}

func renderers() map[string]func(*View, *transcript.Line) string {
	return map[string]func(*View, *transcript.Line) string{
		"tool_call":        of((*View).call),
		"tool_result":      of((*View).result),
		"tool_denied":      of((*View).deny),
		"model_response":   of((*View).turn),
		"model_error":      of((*View).failed),
		"model_switched":   of((*View).switched),
		"limit_reached":    of((*View).limit),
		"budget_warning":   of((*View).budget),
		"watchdog":         of((*View).watchdog),
		"context_pressure": of((*View).window),
		"context_limit":    of((*View).full),

		"context_compacted": of((*View).compacted),
		"hook_run":          of((*View).hook),
		"thread_resumed":    of((*View).resumed),
	}
}

type callData struct {
	CallID string          `json:"call_id"`
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input"`
}

func (v *View) call(d callData) string {
	if v.calls[d.CallID] == "" { // with the defaults of the tool
		v.calls[d.CallID] = called(d.Name, d.Input)
	}
	return "" // its result follows
}

// called renders a call: one argument as its value, several with their names.
func called(name string, input json.RawMessage) string {
	name = strings.ReplaceAll(shortened(name, maxInput), "__", "/")
	parsed, _ := jsonx.ParseMessage(input)
	args, ok := parsed.(map[string]any)
	if !ok {
		return name + " " + shortened(string(input), maxInput)
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(args)) {
		text, isText := args[k].(string)
		if !isText {
			raw, _ := jsonx.Marshal(args[k])
			text = string(raw)
		}
		if len(args) > 1 {
			text = k + "=" + text
		}
		parts = append(parts, text)
	}
	return strings.TrimSpace(name + " " + shortened(strings.Join(parts, " "), maxInput))
}

type resultData struct {
	CallID   string `json:"call_id"`
	Ref      string `json:"ref"`
	IsError  bool   `json:"is_error"`
	Duration int64  `json:"duration_ms"`
	Content  []struct {
		Text string `json:"text"`
	} `json:"content"`
}

func (v *View) result(d resultData) string {
	if v.denied[d.CallID] {
		return ""
	}
	outcome, why := "ok", ""
	if d.IsError {
		outcome = "failed"
		if len(d.Content) > 0 {
			why = reason(d.Ref, d.Content[0].Text)
		}
	}
	return fmt.Sprintf("  %s  %s %s%s", v.calls[d.CallID], outcome, time.Duration(d.Duration)*time.Millisecond, why)
}

// reason returns why a call failed, from what the model reads.
func reason(ref, text string) string {
	code, why := resulttext.Code(text)
	if rest, ok := strings.CutPrefix(why, "running "+ref+": "); ok {
		why = rest // the line has it
	}
	why = strings.TrimSpace(why)
	if why == "" {
		return ""
	}
	if code != "" && code != string(diag.ExecutionFailed) {
		why = code + ": " + why
	}
	first, _, _ := strings.Cut(why, "\n")
	return ": " + shortened(first, maxMessage)
}

type deniedData struct {
	CallID  string `json:"call_id"`
	Ref     string `json:"ref"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (v *View) deny(d deniedData) string {
	v.denied[d.CallID] = true
	what := v.calls[d.CallID] // a hook of the project denies a call that is recorded
	if what == "" {
		what = shortened(cmp.Or(strings.TrimPrefix(d.Ref, "tool:"), "call "+d.CallID), maxInput)
	}
	return fmt.Sprintf("  %s  denied  %s: %s", what, d.Code, shortened(d.Message, maxMessage))
}

type responseData struct {
	Turn   int64           `json:"turn"`
	Blocks []message.Block `json:"blocks"`
	Usage  message.Usage   `json:"usage"`
	Cost   policy.USD      `json:"cost"`
}

func (v *View) turn(d responseData) string {
	for _, b := range d.Blocks {
		if b.Type == message.ToolCall && b.Input != nil { // as the model wrote it
			v.calls[b.ID] = called(b.Name, b.Input)
		}
	}
	v.tokens += d.Usage.Total()
	v.spent = v.spent.Plus(d.Cost)
	return fmt.Sprintf("turn %d/%d  %s tok  $%s/$%s", d.Turn, v.start.Limits.Turns, Thousands(v.tokens), Money(v.spent), Money(v.start.Limits.Spend))
}

type errorData struct {
	Attempt  int64  `json:"attempt"`
	Category string `json:"category"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	RetryIn  *int64 `json:"retry_in_ms"`
}

// failed states a failed call of the model, and when the next attempt is made.
func (v *View) failed(d errorData) string {
	if d.Code == string(diag.Cancelled) { // the last line states it
		return ""
	}
	next := ""
	if d.RetryIn != nil {
		wait := time.Duration(*d.RetryIn) * time.Millisecond
		next = fmt.Sprintf("; retry in %s (attempt %d of %d)", after(wait), d.Attempt+1, v.start.Attempts)
	}
	return fmt.Sprintf("  model error  %s: %s%s", strings.TrimSpace(d.Code+" "+d.Category), shortened(d.Message, maxMessage), next)
}

// after renders a wait.
func after(wait time.Duration) string {
	if wait >= time.Minute {
		return wait.Round(time.Second).String()
	}
	return fmt.Sprintf("%.3g s", wait.Seconds())
}

type switchedData struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

func (v *View) switched(d switchedData) string {
	line := fmt.Sprintf("  model switched  from %s to %s", shortened(d.From, maxInput), shortened(d.To, maxInput))
	if d.Reason != "" {
		line += ": " + shortened(d.Reason, maxMessage)
	}
	return line
}

type limitData struct {
	Limit  string `json:"limit"`
	Value  any    `json:"value"`
	Max    any    `json:"max"`
	Renews string `json:"renews"`
}

func (v *View) limit(d limitData) string {
	name, unit := strings.ReplaceAll(d.Limit, "_", " "), ""
	if s, ok := strings.CutSuffix(name, " seconds"); ok {
		name, unit = s, " s"
	}
	if period := map[string]string{policy.LimitDay: "day", policy.LimitMonth: "month"}[d.Limit]; period != "" {
		name = "spend of your account for a " + period + " (" + d.Limit + ")"
	}
	if at, err := time.Parse(time.RFC3339, d.Renews); err == nil {
		unit = "; renews on " + at.UTC().Format("2006-01-02 at 15:04 UTC")
	}
	return fmt.Sprintf("  limit reached  %s: %s of %s%s", shortened(name, maxInput), figure(d.Value), figure(d.Max), unit)
}

type budgetData struct {
	Scope string `json:"scope"`
	Value string `json:"value"`
	Max   string `json:"max"`
}

func (v *View) budget(d budgetData) string {
	return fmt.Sprintf("  budget warning  %s: %s of %s", shortened(d.Scope, maxInput), figure(d.Value), figure(d.Max))
}

type watchdogData struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
}

func (v *View) watchdog(d watchdogData) string {
	what := map[string]string{
		"repeated_calls":    "equal calls with equal results in a row",
		"equal_calls":       "equal calls in a row",
		"repeated_failures": "failures of one tool in a row",
	}[d.Kind]
	if what == "" { // of a step of the project
		what = shortened(strings.ReplaceAll(d.Kind, "_", " "), maxInput)
	}
	return fmt.Sprintf("  watchdog  %d %s", d.Count, what)
}

type windowData struct {
	Ratio  float64 `json:"ratio"`
	Tokens int64   `json:"tokens"`
	Window int64   `json:"window"`
}

func (v *View) window(d windowData) string {
	return v.filled("the next request fills", d)
}

// full states that the window is full.
func (v *View) full(d windowData) string { return v.filled("the next request does not fit:", d) }

func (v *View) filled(what string, d windowData) string {
	return fmt.Sprintf("  context  %s %.0f %% of the window, %s of %s tok", what, 100*d.Ratio, Thousands(d.Tokens), Thousands(d.Window))
}

type compactedData struct {
	Step    string            `json:"step"`
	Before  int64             `json:"before"`
	After   int64             `json:"after"`
	Turns   int64             `json:"turns"`
	Results []json.RawMessage `json:"results"`
	Spend   policy.USD        `json:"spend"`
	Failed  string            `json:"summary_failed"`
}

// compacted states how the conversation became shorter.
func (v *View) compacted(d compactedData) string {
	v.spent += d.Spend
	sizes := fmt.Sprintf("about %s to %s tok", Thousands(d.Before), Thousands(d.After))
	switch {
	case d.Failed != "":
		return fmt.Sprintf("  context  no summary: %s; the model knows, %s left out, %s", shortened(d.Failed, maxMessage), counted(d.Turns, "older turn is", "older turns are"), sizes)
	case d.Step == "summary":
		return fmt.Sprintf("  context  a summary replaces %s, $%s, %s", counted(d.Turns, "older turn", "older turns"), Money(d.Spend), sizes)
	}
	return fmt.Sprintf("  context  %s, %s", counted(int64(len(d.Results)), "older result became a reference", "older results became references"), sizes)
}

func counted(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

type hookData struct {
	Event string `json:"event"`
	Hook  string `json:"hook"`
	OK    bool   `json:"ok"`
	Error string `json:"error"`
}

// hook states a hook that failed. One that ran shows itself by what it decided.
func (v *View) hook(d hookData) string {
	if d.OK {
		return ""
	}
	return fmt.Sprintf("  hook %s of %s  failed: %s", shortened(d.Hook, maxInput), shortened(d.Event, maxInput), shortened(d.Error, maxMessage))
}

type resumedData struct {
	From int64 `json:"from_seq"`
}

func (v *View) resumed(d resumedData) string {
	return fmt.Sprintf("  resumed  after line %d of the log", d.From)
}

// figure renders a number, or an amount of money, which is a text.
func figure(x any) string {
	switch n := x.(type) {
	case string:
		if usd, err := policy.ParseUSD(n); err == nil {
			return "$" + Money(usd)
		}
		return shortened(n, maxInput)
	case float64:
		return fmt.Sprint(int64(n))
	}
	return shortened(fmt.Sprint(x), maxInput)
}

// Money renders an amount without the zeros at its end, but cents.
func Money(usd policy.USD) string {
	whole, fraction, _ := strings.Cut(usd.String(), ".")
	fraction = strings.TrimRight(fraction, "0")
	for len(fraction) < 2 {
		fraction += "0"
	}
	return whole + "." + fraction
}

// Thousands renders a number of tokens.
func Thousands(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d.%dk", n/1000, n%1000/100)
}

// visible makes a part of a text visible and leaves its tabs and ends of lines.
func visible(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		parts := strings.Split(line, "\t")
		for j, part := range parts {
			parts[j] = hidden.Visible(part)
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return strings.Join(lines, "\n")
}

// shortened returns at most n characters of a text, on one line.
func shortened(s string, n int) string {
	s = hidden.Visible(s)
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
