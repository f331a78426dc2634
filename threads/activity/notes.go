package activity

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/transcript"
)

// The most characters that a line has of the arguments of a call, and of a message.
const (
	maxInput   = 80
	maxMessage = 300
)

// of returns the renderer of an event whose data have the type T. Data of another type have
// no line.
func of[T any](render func(*Tree, T) string) func(*Tree, *transcript.Line) string {
	return func(t *Tree, l *transcript.Line) string {
		var d T
		if l.Decode(&d) != nil {
			return ""
		}
		return render(t, d)
	}
}

// notes are the events that are one line each.
func notes() map[string]func(*Tree, *transcript.Line) string {
	return map[string]func(*Tree, *transcript.Line) string{
		"model_error":       of((*Tree).failed),
		"model_switched":    of((*Tree).switched),
		"limit_reached":     of((*Tree).limit),
		"budget_warning":    of((*Tree).budget),
		"watchdog":          of((*Tree).watchdog),
		"context_pressure":  of((*Tree).window),
		"context_limit":     of((*Tree).full),
		"context_compacted": of((*Tree).compacted),
		"hook_run":          of((*Tree).hook),
		"thread_resumed":    of((*Tree).resumed),
	}
}

type errorData struct {
	Attempt  int64  `json:"attempt"`
	Category string `json:"category"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	RetryIn  *int64 `json:"retry_in_ms"`
}

// failed states a failed call of the model, and when the next attempt is made.
func (t *Tree) failed(d errorData) string {
	if d.Code == "CANCELLED" { // the last line states it
		return ""
	}
	message := shortened(d.Message, maxMessage)
	next := ""
	if d.RetryIn != nil {
		message = strings.TrimSuffix(message, ".")
		wait := time.Duration(*d.RetryIn) * time.Millisecond
		of := ""
		if t.start.Attempts > 0 {
			of = fmt.Sprintf(" of %d", t.start.Attempts)
		}
		next = fmt.Sprintf("; retry in %s (attempt %d%s)", after(wait), d.Attempt+1, of)
	}
	return fmt.Sprintf("model error  %s: %s%s", strings.TrimSpace(d.Code+" "+d.Category), message, next)
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

func (t *Tree) switched(d switchedData) string {
	line := fmt.Sprintf("model switched  from %s to %s", shortened(d.From, maxInput), shortened(d.To, maxInput))
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

func (t *Tree) limit(d limitData) string {
	name := strings.ReplaceAll(d.Limit, "_", " ")
	unit := ""
	if s, ok := strings.CutSuffix(name, " seconds"); ok {
		name = s
		unit = " s"
	}
	period := map[string]string{policy.LimitDay: "day", policy.LimitMonth: "month"}[d.Limit]
	if period != "" {
		name = "spend of your account for a " + period + " (" + d.Limit + ")"
	}
	at, err := time.Parse(time.RFC3339, d.Renews)
	if err == nil {
		unit = "; renews on " + at.UTC().Format("2006-01-02 at 15:04 UTC")
	}
	return fmt.Sprintf(
		"limit reached  %s: %s of %s%s",
		shortened(name, maxInput),
		figure(d.Value),
		figure(d.Max),
		unit,
	)
}

type budgetData struct {
	Scope string `json:"scope"`
	Value string `json:"value"`
	Max   string `json:"max"`
}

func (t *Tree) budget(d budgetData) string {
	return fmt.Sprintf(
		"budget warning  %s: %s of %s",
		shortened(d.Scope, maxInput),
		figure(d.Value),
		figure(d.Max),
	)
}

type watchdogData struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
}

func (t *Tree) watchdog(d watchdogData) string {
	what := map[string]string{
		"repeated_calls":    "equal calls with equal results in a row",
		"equal_calls":       "equal calls in a row",
		"repeated_failures": "failures of one tool in a row",
	}[d.Kind]
	if what == "" { // of a step of the project
		what = shortened(strings.ReplaceAll(d.Kind, "_", " "), maxInput)
	}
	return fmt.Sprintf("watchdog  %d %s", d.Count, what)
}

type windowData struct {
	Ratio  float64 `json:"ratio"`
	Tokens int64   `json:"tokens"`
	Window int64   `json:"window"`
}

func (t *Tree) window(d windowData) string {
	return t.filled("the next request fills", d)
}

// full states that the window is full.
func (t *Tree) full(d windowData) string {
	return t.filled("the next request does not fit:", d)
}

func (t *Tree) filled(what string, d windowData) string {
	return fmt.Sprintf(
		"context  %s %.0f %% of the window, %s of %s tok",
		what,
		100*d.Ratio,
		Thousands(d.Tokens),
		Thousands(d.Window),
	)
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
func (t *Tree) compacted(d compactedData) string {
	t.Spent = t.Spent.Plus(d.Spend)
	sizes := fmt.Sprintf("about %s to %s tok", Thousands(d.Before), Thousands(d.After))
	switch {
	case d.Failed != "":
		return fmt.Sprintf(
			"context  no summary: %s; the model knows, %s left out, %s",
			shortened(d.Failed, maxMessage),
			counted(d.Turns, "older turn is", "older turns are"),
			sizes,
		)
	case d.Step == "summary":
		return fmt.Sprintf("context  a summary replaces %s, $%s, %s", counted(d.Turns, "older turn", "older turns"), Money(d.Spend), sizes)
	}
	return fmt.Sprintf("context  %s, %s", counted(int64(len(d.Results)), "older result became a reference", "older results became references"), sizes)
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
func (t *Tree) hook(d hookData) string {
	if d.OK {
		return ""
	}
	return fmt.Sprintf(
		"hook %s of %s  failed: %s",
		shortened(d.Hook, maxInput),
		shortened(d.Event, maxInput),
		shortened(d.Error, maxMessage),
	)
}

type resumedData struct {
	From int64 `json:"from_seq"`
}

func (t *Tree) resumed(d resumedData) string {
	return fmt.Sprintf("resumed  after line %d of the log", d.From)
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

// shortened returns at most n characters of a text, on one line.
func shortened(s string, n int) string {
	s = hidden.Visible(s)
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
