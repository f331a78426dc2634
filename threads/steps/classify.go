package steps

import (
	"context"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cond"
	"github.com/ryeos/rye/internal/hooks"
	"github.com/ryeos/rye/internal/tree"
)

// Classes are the patterns of config:agent/error_classification, in the order in
// which they are tried.
type Classes struct {
	Patterns []Pattern
	// Fallback are the categories after which another model is tried.
	Fallback []string
	// Waits are the forms in which services state a wait, in the order in which they are tried.
	Waits []Wait
}

// Pattern classifies the errors that its condition matches.
type Pattern struct {
	ID       string
	Aliases  []string
	Category string
	Code     string
	Policy   Policy
	// NamesTool finds the position of a tool definition in a message.
	NamesTool *regexp.Regexp
	// StatesWindow find the tokens of the window of the model in a message.
	StatesWindow []*regexp.Regexp
	// MayBeLength is set if the error of a long request can be its length.
	MayBeLength bool

	match    *cond.Cond // nil matches every error
	priority int64
}

// Policy is when a call is repeated.
// The pause has no other bound: the policy states its max, and the time of the thread bounds it.
type Policy struct {
	Type      string // exponential, use_header, fixed or none
	Base, Max time.Duration
	Jitter    float64
	Header    string // in lower case
	Fallback  *Policy
	Delay     time.Duration
	Attempts  int64 // repetitions by a fixed policy; 0 means without a bound of its own
}

// ReadClasses reads config:agent/error_classification. A layer of a project adds
// patterns after the system's: one that has a priority is tried before.
// Patterns of a project are tried after the builtin ones and before default, unless they have a
// priority. A pattern without a condition is always the last one.
func ReadClasses(r *tree.Reader) Classes {
	c := Classes{Fallback: r.Texts("fallback_after", nil), Waits: readWaits(r)}
	for _, m := range r.Maps("patterns") {
		m.Only("id", "aliases", "match", "category", "policy", "code", "names_tool", "states_window", "may_be_length", "priority", "description")
		m.Require("id", "category", "code")
		p := Pattern{
			ID:          m.Text("id"),
			Aliases:     m.Texts("aliases", nil),
			Category:    m.Text("category"),
			Code:        m.Text("code"),
			Policy:      readPolicy(m.Map("policy"), true),
			priority:    m.Int("priority", 0, -1000, 1000),
			MayBeLength: m.Bool("may_be_length", false),
		}
		_, known := diag.Lookup(diag.Code(p.Code))
		if !known && p.Code != "" {
			m.Reject("code", "is %q, which is not an error code of rye", p.Code)
		}
		if v := m.Value("match"); v != nil {
			var fs []diag.Finding
			p.match, fs = cond.Compile(
				r.Doc(),
				m.Path("match"),
				m.Name("match"),
				v,
				diag.ConfigError,
			)
			for _, f := range fs {
				m.Add(f)
			}
		}
		if s := m.Text("names_tool"); s != "" {
			p.NamesTool = oneGroup(m, "names_tool", s)
		}
		for _, s := range m.Texts("states_window", nil) {
			if re := oneGroup(m, "states_window", s); re != nil {
				p.StatesWindow = append(p.StatesWindow, re)
			}
		}
		c.Patterns = append(c.Patterns, p)
	}
	// A pattern without a condition matches everything, so it is the last one.
	slices.SortStableFunc(c.Patterns, func(a, b Pattern) int {
		if (a.match == nil) != (b.match == nil) {
			return map[bool]int{true: 1, false: -1}[a.match == nil]
		}
		return int(b.priority - a.priority)
	})
	return c
}

// oneGroup compiles an expression that finds one value.
func oneGroup(m *tree.Reader, key, text string) *regexp.Regexp {
	re, err := regexp.Compile(text)
	if err != nil || re.NumSubexp() != 1 {
		m.Reject(key, "must be a regular expression with one group")
		return nil
	}
	return re
}

// readPolicy reads one policy. Layers merge, so keys of another type may be left over.
func readPolicy(r *tree.Reader, nested bool) Policy {
	r.Only("type", "base", "max", "jitter", "header", "fallback", "delay", "attempts")
	p := Policy{
		Type:     r.Enum("type", "none", "exponential", "use_header", "fixed", "none"),
		Base:     seconds(r, "base", 2, 0.001, 3600),
		Max:      seconds(r, "max", 0, 0, hooks.MaxDelay),
		Jitter:   r.Number("jitter", -1, 0, 1),
		Header:   strings.ToLower(r.Text("header")),
		Delay:    seconds(r, "delay", 1, 0, 3600),
		Attempts: r.Int("attempts", 0, 0, 20),
	}
	if p.Max == 0 {
		p.Max = map[string]time.Duration{"use_header": 5 * time.Minute}[p.Type]
	}
	if p.Max == 0 {
		p.Max = time.Minute
	}
	if p.Jitter < 0 {
		p.Jitter = 0.2
	}
	if nested && r.Has("fallback") {
		f := readPolicy(r.Map("fallback"), false)
		p.Fallback = &f
	}
	return p
}

// seconds reads a time that may be a part of a second.
func seconds(r *tree.Reader, key string, def, low, high float64) time.Duration {
	return time.Duration(r.Number(key, def, low, high) * float64(time.Second))
}

// match returns the first pattern that matches an error, or nil.
func (c *Classes) match(scope map[string]any) *Pattern {
	for i := range c.Patterns {
		if c.Patterns[i].match.Match(scope) {
			return &c.Patterns[i]
		}
	}
	return nil
}

// wait returns how long to wait after an attempt that stated no wait. ok is false if the
// policy does not repeat the call.
func (p *Policy) wait(
	attempt int64,
	scope map[string]any,
	s Services,
) (d time.Duration, ok bool) {
	switch p.Type {
	case "exponential":
		seconds := min(
			p.Base.Seconds()*math.Pow(2, float64(attempt-1)),
			p.Max.Seconds(),
		)
		seconds *= 1 - p.Jitter + 2*p.Jitter*s.Rand()
		return time.Duration(seconds * float64(time.Second)), true
	case "fixed":
		return p.Delay, p.Attempts == 0 || attempt <= p.Attempts
	case "use_header": // without a stated wait
		if p.Fallback != nil {
			return p.Fallback.wait(attempt, scope, s)
		}
	}
	return 0, false
}

// asked returns the time that the service asks to wait: in a form that every service can have,
// or in the header of the policy.
func (c *Classes) asked(
	p *Policy,
	scope map[string]any,
	now time.Time,
) (time.Duration, bool) {
	d, known := c.stated(scope, now)
	if known || p.Header == "" {
		return d, known
	}
	wait := Wait{As: "seconds", Zone: time.UTC}
	return wait.read(valueAt(scope["headers"], p.Header), now)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case interface{ Float64() (float64, error) }:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}

// Classification is the result of classifier.
type Classification struct {
	ID          string   `json:"id"`
	Category    string   `json:"category"`
	Code        string   `json:"code"`
	Aliases     []string `json:"aliases"`
	Action      string   `json:"action"` // retry, fallback, suspend, fail or abort
	DelayMS     int64    `json:"delay_ms"`
	Delay       float64  `json:"delay"`              // in seconds, as the control action retry has it
	Fallback    string   `json:"fallback,omitempty"` // the model that is next
	Attempt     int64    `json:"attempt"`
	MaxAttempts int64    `json:"max_attempts"`
	Message     string   `json:"message"`
	Tool        string   `json:"tool,omitempty"` // whose definition the service refused
	Overflow    string   `json:"overflow"`       // stated or possible: the request was too long; "" otherwise
	Window      int64    `json:"window"`         // tokens that the service has or that the request had, 0 unknown
	Notice      string   `json:"notice"`         // when the service accepts the next request, if it stated that, else ""
}

// failedCall are the parameters of classifier.
type failedCall struct {
	Error     map[string]any `json:"error,omitempty"`
	Attempt   int64          `json:"attempt,omitempty"`
	Fallbacks []string       `json:"fallbacks"`
	Tools     []string       `json:"tools,omitempty"`
	Provider  string         `json:"provider"`
	Model     string         `json:"model"`
	Cost      string         `json:"cost,omitempty"`
	Suspends  *bool          `json:"suspends"` // whether the thread can be suspended; true if it is not stated
}

// classifier finds the category of a failed model call and what follows.
//
// Params: {error: {status_code, error: {code, type, message, reason}, headers,
// retry_after_ms}, attempt, fallbacks, tools, cost, suspends}. Result: Classification.
func classifier(ctx context.Context, in Input) (Output, error) {
	p, err := params[failedCall]("classifier", in)
	if err != nil {
		return Output{}, err
	}
	classes, err := config(ctx, in.Services, ClassesConfig, ReadClasses)
	if err != nil {
		return Output{}, err
	}
	cfg, err := config(ctx, in.Services, ResilienceConfig, ReadResilience)
	if err != nil {
		return Output{}, err
	}
	scope, _ := in.Params["error"].(map[string]any) // numbers as conditions compare them
	wait, known := classes.stated(scope, in.Services.Now())
	if known {
		scope["wait_ms"] = wait.Milliseconds()
	}
	pattern := classes.match(scope)
	if pattern == nil {
		return Output{}, diag.New(diag.ConfigError, "reading config:%s: no pattern without match, so an error has no category", ClassesConfig)
	}
	lengths, err := config(ctx, in.Services, CoordinationConfig, ReadCoordination)
	if err != nil {
		return Output{}, err
	}
	c := p.classify(pattern, &classes, cfg, scope, in)
	if err := c.length(pattern, in, lengths.LongRequest); err != nil {
		return Output{}, err
	}
	data := map[string]any{
		"turn": in.Turn, "attempt": c.Attempt, "id": c.ID, "category": c.Category, "code": c.Code,
		"status_code": scope["status_code"], "message": c.Message, "cost": p.Cost,
	}
	if c.Action == "retry" {
		data["retry_in_ms"] = c.DelayMS
	}
	if c.Overflow != "" {
		data["overflow"], data["window"] = c.Overflow, c.Window
	}
	events := []Event{event("model_error", data)}
	if c.Code == string(diag.ContextFull) {
		u := in.Usage
		if c.Window > 0 {
			u.Window = c.Window
		}
		events = append(events, event("context_limit", map[string]any{"ratio": round(u.ContextRatio()), "tokens": u.ContextTokens, "window": u.Window}))
	}
	return done(c, events...)
}

func (p *failedCall) classify(
	pattern *Pattern,
	classes *Classes,
	cfg Resilience,
	scope map[string]any,
	in Input,
) Classification {
	e, _ := scope["error"].(map[string]any)
	message, _ := e["message"].(string)
	c := Classification{
		ID:          pattern.ID,
		Category:    pattern.Category,
		Code:        pattern.Code,
		Aliases:     append([]string{}, pattern.Aliases...),
		Attempt:     max(p.Attempt, 1),
		MaxAttempts: cfg.MaxAttempts,
		Message:     message,
		Action:      "fail",
	}
	c.Tool = pattern.toolOf(message, p.Tools)
	now := in.Services.Now()
	wait := time.Duration(0)
	stated := false
	if kind := pattern.Policy.Type; kind == "use_header" || kind == "exponential" {
		wait, stated = classes.asked(&pattern.Policy, scope, now)
	}
	repeat := stated
	if !stated {
		wait, repeat = pattern.Policy.wait(c.Attempt, scope, in.Services)
	} else {
		c.Notice = notice(wait, now)
	}
	repeat = repeat && c.Attempt < cfg.MaxAttempts
	other := slices.Contains(classes.Fallback, c.Category) && len(p.Fallbacks) > 0
	switch {
	case pattern.Code == string(diag.Cancelled):
		c.Action = "abort"
	case repeat && !in.tooLong(wait, stated, pattern, cfg):
		c.Action, c.DelayMS = "retry", wait.Milliseconds()
	case other:
		c.Action = "fallback"
		c.Fallback = p.Fallbacks[0]
	// A service that asks for a longer wait would refuse an earlier attempt.
	case repeat && cfg.SuspendAbove > 0 && (p.Suspends == nil || *p.Suspends):
		c.Action, c.DelayMS = "suspend", wait.Milliseconds()
	}
	c.Delay = float64(c.DelayMS) / 1000
	return c
}

// longestWait is how long a process waits in place if its project never suspends a thread and the
// policy permits no longer wait.
const longestWait = 5 * time.Minute

// tooLong reports whether a wait is longer than the process waits for, or than the thread has
// time.
func (in *Input) tooLong(wait time.Duration, stated bool, p *Pattern, cfg Resilience) bool {
	left := time.Duration(in.Limits.DurationSeconds)*time.Second - time.Duration(in.Usage.DurationMS)*time.Millisecond
	limit := time.Duration(cfg.SuspendAbove) * time.Second
	switch {
	case stated && in.Limits.DurationSeconds > 0 && wait >= left:
		return true
	case stated && p.Policy.Type == "use_header" && wait > p.Policy.Max:
		return true
	case limit > 0:
		return wait > limit
	}
	return stated && wait > max(p.Policy.Max, longestWait)
}

// toolOf returns the name of the tool whose position a message contains.
func (p *Pattern) toolOf(message string, tools []string) string {
	if p.NamesTool == nil {
		return ""
	}
	m := p.NamesTool.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	i, err := strconv.Atoi(m[1])
	if err != nil || i < 0 || i >= len(tools) {
		return ""
	}
	return tools[i]
}
