package steps

import (
	"context"
	"math"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/compact"
)

// The configurations that the steps read.
const (
	AgentConfig        = "agent/agent"
	ClassesConfig      = "agent/error_classification"
	CoordinationConfig = "agent/coordination"
	EventsConfig       = "agent/events"
	HooksConfig        = "agent/hooks"
	ResilienceConfig   = "agent/resilience"
)

// Configs returns the ids of the configurations that a step reads.
func Configs(name string) []string {
	switch name {
	case "classifier":
		return []string{ClassesConfig, ResilienceConfig, CoordinationConfig}
	case "compact":
		return []string{CoordinationConfig, AgentConfig}
	case "compose":
		return []string{AgentConfig}
	case "continuation":
		return []string{CoordinationConfig}
	case "finish", "result_guard", "watchdog":
		return []string{ResilienceConfig, AgentConfig}
	case "run_hooks":
		return []string{EventsConfig, ResilienceConfig}
	}
	return nil
}

// config reads a configuration with a typed reader and reports its mistakes.
func config[T any](
	ctx context.Context,
	s Services,
	id string,
	read func(*tree.Reader) T,
) (T, error) {
	var none T
	root, err := s.Config(ctx, id)
	if err != nil {
		return none, err
	}
	r := tree.NewReader(&tree.Doc{Root: root}, diag.ConfigError)
	v := read(r)
	return v, diag.FromFindings("reading config:"+id, r.Findings())
}

// Resilience is config:agent/resilience.
type Resilience struct {
	MaxAttempts  int64 // of one model call in all
	SuspendAbove int64 // seconds of a wait; 0 never suspends

	RepeatHint, RepeatStop, FailureHint int64 // calls in a row
	EqualHint, EqualStop                int64 // calls in a row, whatever their results are

	ResultTokens    int64   // of one tool result
	ReadTokens      int64   // of a part of a file or of an artifact
	ResultTokensMax int64   // the most that an item's result_tokens may ask for
	ResultFull      float64 // context ratio above which ResultTokens and ReadTokens are halved
	WindowRatio     float64 // of the window that one result may fill
	SameAsTokens    int64   // results above it are sent once
	ArtifactLines   int64   // of an artifact that a call reads without a limit, if they fit

	HookTime time.Duration // of one hook
	AskAgain int64         // how often finish asks a model to continue, in a row

	ChildWait time.Duration // of a child for money that running children hold

	// What becomes of the children of a thread that ends or is suspended: cancel, allow, or wait.
	OnParentCancel, OnParentComplete, OnParentError string
}

// ReadResilience reads config:agent/resilience.
func ReadResilience(r *tree.Reader) Resilience {
	retry := r.Map("retry")
	watch := r.Map("watchdog")
	results := r.Map("results")
	children := r.Map("child_policy")
	return Resilience{
		MaxAttempts:     retry.Int("max_attempts", 1, 1, 20),
		SuspendAbove:    retry.Int("suspend_above_seconds", 0, 0, 86_400),
		RepeatHint:      watch.Int("repeat_hint", 0, 0, 1000),
		RepeatStop:      watch.Int("repeat_stop", 0, 0, 1000),
		FailureHint:     watch.Int("failure_hint", 0, 0, 1000),
		EqualHint:       watch.Int("equal_calls_hint", 0, 0, 1000),
		EqualStop:       watch.Int("equal_calls_stop", 0, 0, 1000),
		ResultTokens:    results.Int("max_tokens", math.MaxInt32, 100, math.MaxInt32),
		ReadTokens:      results.Int("read_max_tokens", math.MaxInt32, 100, math.MaxInt32),
		WindowRatio:     results.Number("window_ratio", 1, 0, 1),
		ResultTokensMax: results.Int("item_max_tokens", math.MaxInt32, 100, math.MaxInt32),
		ResultFull:      results.Number("halve_above_ratio", 1, 0, 1),
		SameAsTokens:    results.Int("same_as_tokens", math.MaxInt32, 0, math.MaxInt32),
		ArtifactLines:   results.Int("artifact_lines", 1, 1, 1_000_000),
		HookTime:        time.Duration(r.Int("hook_seconds", 1, 1, 3600)) * time.Second,
		AskAgain:        r.Int("ask_again", 0, 0, 100),
		ChildWait:       time.Duration(r.Map("children").Int("wait_seconds", 0, 0, 3600)) * time.Second,

		OnParentCancel:   children.Enum("on_parent_cancel", "cancel", "cancel", "allow"),
		OnParentComplete: children.Enum("on_parent_complete", "allow", "allow", "cancel", "wait"),
		OnParentError:    children.Enum("on_parent_error", "cancel", "cancel", "allow"),
	}
}

// minBudget is the smallest budget of a result in tokens, whatever the window is.
const minBudget = 100

// Budget returns the tokens of one result: limit is the value that its item states, 0 for none,
// and a page is a part of a file or of an artifact.
func (c *Resilience) Budget(u Usage, limit int64, page bool) int64 {
	budget := c.ResultTokens
	if page {
		budget = c.ReadTokens
	}
	if limit > 0 {
		budget = min(limit, c.ResultTokensMax)
	}
	// A page loses nothing: the next one continues it.
	if u.ContextRatio() > c.ResultFull && (limit == 0 || page) {
		budget /= 2
	}
	if u.Window > 0 {
		budget = min(budget, int64(c.WindowRatio*float64(u.Window)))
	}
	return max(budget, minBudget)
}

// Defaults are the parts of config:agent/agent that a directive can state itself.
// The default limits of money fill the window of the dearest shipped model once
// (TestDefaultsFillWindow).
type Defaults struct {
	Limits               Limits
	MaxOutput, MinOutput int64 // tokens of one answer
}

// ReadDefaults reads them.
func ReadDefaults(r *tree.Reader) Defaults {
	limits := r.Map("limits")
	output := r.Map("output")
	whole := func(name string) int64 {
		return limits.Int(name, 0, 0, math.MaxInt64)
	}
	d := Defaults{
		Limits: Limits{
			Turns:           whole("turns"),
			Tokens:          whole("tokens"),
			Spawns:          whole("spawns"),
			Depth:           whole("depth"),
			DurationSeconds: whole("duration_seconds"),
		},
		MaxOutput: output.Int("max_tokens", 0, 1, math.MaxInt32), MinOutput: output.Int("min_tokens", 1, 1, math.MaxInt32),
	}
	usd, err := policy.ParseUSD(limits.Text("spend"))
	if err != nil {
		limits.Reject("spend", "%v", err)
	}
	d.Limits.Spend = usd
	return d
}

// Coordination is config:agent/coordination.
type Coordination struct {
	WaitSeconds, WaitMaxSeconds int64
	KillGraceSeconds            int64
	Trigger, Pressure           float64 // context ratios
	SummaryDirective            string
	SummarySpend                string // USD for one summary, at most; "" for no bound of its own
	CarryTokens                 int64  // of the turns that the next thread reads

	Compaction  compact.Settings
	PartTokens  int64   // of the conversation that one call summarizes, at most
	PersonKept  int64   // tokens of messages of persons that stay when a summary replaces their turns
	MoneyShare  float64 // of the money that is left, which a summary may cost
	LongRequest int64   // tokens from which an unknown refusal can be one of the length
}

// ReadCoordination reads config:agent/coordination.
func ReadCoordination(r *tree.Reader) Coordination {
	wait := r.Map("wait")
	cont := r.Map("continuation")
	comp := r.Map("compaction")
	c := Coordination{
		WaitSeconds:      wait.Int("default", 600, 1, 86_400),
		WaitMaxSeconds:   wait.Int("max", 3600, 1, 86_400),
		KillGraceSeconds: r.Int("kill_grace_seconds", 3, 0, 600),
		Trigger:          cont.Number("trigger_threshold", 1, 0, 1),
		Pressure:         cont.Number("pressure_threshold", 1, 0, 1),
		SummaryDirective: cont.Text("summary_directive"),
		SummarySpend:     cont.Text("summary_spend"),
		CarryTokens:      cont.Int("resume_ceiling_tokens", 16_000, 0, 1_000_000),
		PartTokens:       comp.Int("part_tokens", 60_000, 500, 10_000_000),
		PersonKept:       comp.Int("person_tokens", 4_000, 0, 1_000_000),
		MoneyShare:       comp.Number("money_ratio", 0.5, 0, 1),
		LongRequest:      comp.Int("long_request_tokens", 3_000, 1, math.MaxInt32),
	}
	c.Compaction = compact.Settings{
		Trigger:   c.Trigger,
		Target:    comp.Number("target_ratio", 0.5, 0, 1),
		Tail:      comp.Int("tail_tokens", 16_000, 0, 10_000_000),
		TailShare: comp.Number("tail_ratio", 0.25, 0, 1),
		Least:     comp.Int("reference_tokens", 200, 0, math.MaxInt32),
		Summary:   comp.Int("summary_tokens", 4_000, 100, 1_000_000),
	}
	return c
}
