// Package steps implements the steps of a thread's loop that rye ships: functions
// from JSON to JSON, one for each item below rye/agent/threads/internal. A project
// replaces any of them by an item of the same id, a program in any language with the
// same input and output.
//
// A step decides and never acts by itself: it calls no model, starts no tool, writes
// no file and no log. What it needs of the thread is in its input, or is a function
// of Services, which the kernel provides with the thread's permissions. The limits
// that a step checks are checked again by the kernel.
package steps

import (
	"context"
	"time"

	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/threads/transcript"
)

// Dir is the directory of the step items: the id of a step is Dir + its name.
const Dir = "rye/agent/threads/internal/"

// Step is the body of one step item.
type Step func(ctx context.Context, in Input) (Output, error)

// Input is what a step receives: as a JSON object on stdin if it is a program.
type Input struct {
	ThreadID string         `json:"thread_id"`
	Turn     int64          `json:"turn"` // from 1; 0 before the first
	Limits   Limits         `json:"limits"`
	Usage    Usage          `json:"usage"`
	Params   map[string]any `json:"params"`
	// ConversationFile is the path of the transcript's lines without encrypted
	// reasoning. A native step has them in Conversation instead.
	ConversationFile string `json:"conversation_file,omitempty"`

	// Config has the configurations that the step reads, by id, merged over all spaces. A
	// native step has Services.Config instead.
	Config map[string]any `json:"config,omitempty"`

	Conversation []transcript.Line `json:"-"`
	Services     Services          `json:"-"`
}

// Limits are the limits of the thread, all of them known and finite.
type Limits = policy.ThreadLimits

// Usage is what the thread has used of its limits.
type Usage struct {
	Turns        int64      `json:"turns"`
	InputTokens  int64      `json:"input_tokens"`
	OutputTokens int64      `json:"output_tokens"`
	Spend        policy.USD `json:"spend"`
	Spawns       int64      `json:"spawns"`
	DurationMS   int64      `json:"duration_ms"` // without suspension
	// NewTokens are the tokens that the limit counts: neither cached nor sent before.
	NewTokens int64 `json:"new_tokens"`
	// ContextTokens is the size of the next request, as far as it is known.
	ContextTokens int64 `json:"context_tokens"`
	// Window is the largest request of the model in tokens; 0 is unknown.
	Window int64 `json:"window"`
}

// ContextRatio returns the part of the window that the next request fills.
func (u Usage) ContextRatio() float64 {
	if u.Window <= 0 {
		return 0
	}
	return float64(u.ContextTokens) / float64(u.Window)
}

// Output is the result of a step. A step that failed has Success false and an error
// message in Data; the turn then ends.
type Output struct {
	Success bool           `json:"success"`
	Data    map[string]any `json:"data"`
	Events  []Event        `json:"events,omitempty"`
}

// Event is a line for the transcript. Only events that config:agent/events gives the
// source step are recorded.
type Event struct {
	Event string         `json:"event"`
	Data  map[string]any `json:"data"`
}

// Services are what the kernel does for a native step, always with the permissions
// of the thread. A step that is a program reaches the same through its broker.
type Services struct {
	// Config returns a configuration merged over all spaces, such as agent/resilience.
	Config func(ctx context.Context, id string) (map[string]any, error)
	// Step runs another step by its name, or the item that replaces it. The kernel
	// records the events of its output.
	Step func(ctx context.Context, name string, params map[string]any) (Output, error)
	// Execute runs the action of a hook or a check through the gates of every call
	// and returns the data of its result.
	Execute func(ctx context.Context, a Action) (any, error)
	// Call runs one call of the model: capability, tier, approval, record, execution.
	// A call that was denied or failed has a result, not an error.
	Call func(ctx context.Context, c Call) (Result, error)
	// Answer records the result of a call that a hook denied or left out.
	Answer func(ctx context.Context, c Call, r Result) error
	// Model makes one attempt of a call of the model, reserved and recorded.
	Model func(ctx context.Context, params map[string]any) (map[string]any, error)
	// Now is the clock, and Rand returns a number from 0 to 1 without 1.
	Now  func() time.Time
	Rand func() float64
}

// Action is what a hook or a check executes.
type Action struct {
	Verb   policy.Verb    `json:"primary"`
	Kind   string         `json:"item_type"`
	ID     string         `json:"item_id"`
	Params map[string]any `json:"params"`
	// By names the hook or the check, and Event the event of the hook.
	By    string `json:"by"`
	Event string `json:"event,omitempty"`
	// Template is Params before Scope was put into it. A text that a shell reads is filled in
	// again, where the item that is called is known: a value must not become a part of it.
	Template map[string]any `json:"-"`
	Scope    map[string]any `json:"-"`
}

// All returns the steps by name.
func All() map[string]Step {
	return map[string]Step{
		"cancel_checker": cancelChecker,
		"classifier":     classifier,
		"compact":        compaction,
		"control":        control,
		"compose":        compose,
		"continuation":   continuation,
		"cost_tracker":   costTracker,
		"dispatch":       dispatch,
		"emitter":        emitter,
		"finish":         finish,
		"limit_checker":  limitChecker,
		"provider_call":  providerCall,
		"result_guard":   resultGuard,
		"run_hooks":      runHooks,
		"watchdog":       watchdog,
	}
}

// Called returns the steps that rye or a hook calls, in addition to those that a loop names:
// the name of each.
// result_guard is called by the kernel, control and emitter by hooks. Each is resolved before
// the thread begins, so a missing step is refused without a log.
func Called() []string {
	return []string{"result_guard", "control", "emitter"}
}

// event returns an event whose data is a struct.
func event(name string, data any) Event {
	m, _ := object(data) // the structs of events consist of texts and numbers
	return Event{Event: name, Data: m}
}

// added returns the event of a message that rye adds to the conversation.
func added(source, text string) Event {
	return Event{Event: "message_added", Data: map[string]any{
		"role": "user", "source": source, "blocks": []any{map[string]any{"type": "text", "text": text}},
	}}
}
