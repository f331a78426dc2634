package liveview_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/inline"
	"github.com/ryeos/rye/internal/liveview"
	"github.com/ryeos/rye/threads/activity"
	"github.com/ryeos/rye/threads/transcript"
)

// TestWaitIsStated states the time that a thread still waits for a service: in the block, and
// where there is none as a line after each silence.
func TestWaitIsStated(t *testing.T) {
	began := time.Date(2026, 11, 22, 10, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		mode inline.Mode
		want []string
	}{
		{inline.Live, []string{"waiting for the service  10m0s", "waiting for the service  9m59s", "waiting for the service  9m0s", "waiting for the service  8m0s", ""}},
		{inline.Plain, []string{"", "", "still waiting for the service, 9m0s left\n", "still waiting for the service, 8m0s left\n", ""}},
		{inline.Appended, []string{"", "", "still waiting for the service, 9m0s left\n", "still waiting for the service, 8m0s left\n", ""}},
	} {
		var out bytes.Buffer
		now := began
		clock := func() time.Time { return now }
		v := liveview.New(liveview.Params{
			Screen: inline.New(inline.Params{Out: &out, Mode: c.mode, Now: clock}), Now: clock, Silence: time.Minute,
			Tree: activity.New(activity.Start{ThreadID: "triage-1", Attempts: 4}),
		})
		v.Line("triage-1", &transcript.Line{Event: "model_error", Time: began.Format("2006-01-02T15:04:05.000Z"), Data: json.RawMessage(`{"code":"PROVIDER_ERROR","message":"Slow down.","retry_in_ms":600000,"attempt":1}`)})
		if c.mode != inline.Live {
			out.Reset() // the note about the error
		}
		for i, after := range []time.Duration{0, time.Second, time.Minute, 2 * time.Minute, 9*time.Minute + 59*time.Second} {
			now = began.Add(after)
			v.Tick(now)
			switch got := out.String(); {
			case c.mode == inline.Live && !strings.Contains(got, c.want[i]), c.mode != inline.Live && got != c.want[i]:
				t.Errorf("mode %d after %s: %q, want %q", c.mode, after, got, c.want[i])
			case c.want[i] == "" && strings.Contains(got, "waiting"):
				t.Errorf("mode %d after %s: it still waits: %q", c.mode, after, got)
			}
			out.Reset()
		}
	}
}
