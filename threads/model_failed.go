package threads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/policy"
)

// Failed returns the facts of the failed attempt that is not yet classified, its number
// and its cost; nil if the log has none.
// A program that swallows the failure of the service does not hide it: the failure is classified
// as if the program had reported it.
func (t *Thread) Failed() (facts map[string]any, number int64, cost policy.USD) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failure == nil {
		return nil, 0, 0
	}
	return t.failure.failure.facts(), t.failure.attempt, t.failure.cost
}

// classified records a failed attempt with what a step found out about it. The figures
// are the kernel's.
func (t *Thread) classified(ctx context.Context, raw []byte) error {
	if t.failure == nil {
		return nil // it is recorded
	}
	var found errorData
	if err := json.Unmarshal(raw, &found); err != nil {
		return err
	}
	d := t.failure.data()
	d.ID = found.ID
	d.Category = found.Category
	d.RetryIn = found.RetryIn
	d.Overflow = found.Overflow
	d.Window = max(found.Window, 0)
	t.learn(d.Window)
	if found.Code != "" {
		d.Code = found.Code
	}
	t.failure = nil
	return t.record(ctx, true, evError, d)
}

// Fallbacks returns the models that are left if the current one fails.
func (t *Thread) Fallbacks() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := []string{}
	for _, s := range t.p.Services[t.service+1:] {
		out = append(out, s.name())
	}
	return out
}

func (s *Service) name() string {
	return s.Provider.ID + ":" + s.Model
}

// Switch continues with the next fallback, and reports whether there is one.
func (t *Thread) Switch(ctx context.Context, reason string) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.service+1 >= len(t.p.Services) {
		return false, nil
	}
	from := t.p.Services[t.service]
	t.service++
	t.recount() // another service counts otherwise
	return true, t.record(ctx, true, evSwitched, switchedData{From: from.name(), To: t.p.Services[t.service].name(), Reason: reason})
}

func (p *pending) data() errorData {
	d := errorData{
		Turn:      p.turn,
		Attempt:   p.attempt,
		Code:      p.failure.Code,
		Status:    p.failure.Status,
		Message:   p.failure.Error(),
		Cost:      p.cost,
		Assumed:   p.assumed,
		Overspent: p.over,
	}
	if p.failure.Usage.Total() > 0 {
		d.Usage = &p.failure.Usage
	}
	return d
}

// missedBefore records a failed attempt that nothing classified.
// A call that a crash interrupted is settled in full and recorded as model_error with the id
// interrupted.
func (t *Thread) missedBefore(ctx context.Context) error {
	if t.failure == nil {
		return nil
	}
	d := t.failure.data()
	t.failure = nil
	return t.record(ctx, true, evError, d)
}

func digestOf(v any) (string, error) {
	b, err := jsonx.Marshal(v)
	if err != nil {
		return "", diag.New(diag.Internal, "writing a request: %w", err)
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
