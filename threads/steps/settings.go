package steps

import (
	"context"
	"math"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
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

// config reads a configuration with a typed reader and reports its mistakes.
func config[T any](ctx context.Context, s Services, id string, read func(*tree.Reader) T) (T, error) {
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

	ResultTokens    int64   // of one tool result
	ResultTokensMax int64   // the most that an item's result_tokens may ask for
	ResultFull      float64 // context ratio above which ResultTokens is halved
	SameAsTokens    int64   // results above it are sent once
}

// ReadResilience reads config:agent/resilience.
func ReadResilience(r *tree.Reader) Resilience {
	retry, watch, results := r.Map("retry"), r.Map("watchdog"), r.Map("results")
	return Resilience{
		MaxAttempts:     retry.Int("max_attempts", 1, 1, 20),
		SuspendAbove:    retry.Int("suspend_above_seconds", 0, 0, 86_400),
		RepeatHint:      watch.Int("repeat_hint", 0, 0, 1000),
		RepeatStop:      watch.Int("repeat_stop", 0, 0, 1000),
		FailureHint:     watch.Int("failure_hint", 0, 0, 1000),
		ResultTokens:    results.Int("max_tokens", math.MaxInt32, 100, math.MaxInt32),
		ResultTokensMax: results.Int("item_max_tokens", math.MaxInt32, 100, math.MaxInt32),
		ResultFull:      results.Number("halve_above_ratio", 1, 0, 1),
		SameAsTokens:    results.Int("same_as_tokens", math.MaxInt32, 0, math.MaxInt32),
	}
}

// Coordination is config:agent/coordination.
type Coordination struct {
	WaitSeconds, WaitMaxSeconds int64
	KillGraceSeconds            int64
	Trigger, Pressure           float64 // context ratios
}

// ReadCoordination reads config:agent/coordination.
func ReadCoordination(r *tree.Reader) Coordination {
	wait, cont := r.Map("wait"), r.Map("continuation")
	return Coordination{
		WaitSeconds:      wait.Int("default", 600, 1, 86_400),
		WaitMaxSeconds:   wait.Int("max", 3600, 1, 86_400),
		KillGraceSeconds: r.Int("kill_grace_seconds", 3, 0, 600),
		Trigger:          cont.Number("trigger_threshold", 1, 0, 1),
		Pressure:         cont.Number("pressure_threshold", 1, 0, 1),
	}
}
