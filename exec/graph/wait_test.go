package graph

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/transcript"
)

// A process that was stopped after the end of a wait was recorded, and the event was
// taken from the inbox, continues after the wait.
func TestResumeAfterWaitEnded(t *testing.T) {
	g := parse(t, head+`config: {start: a, nodes: {a: {type: wait, event: go, assign: {x: "${result.payload}"}, next: b}, b: {type: return, output: {x: "${state.x}"}}}}`)
	p := params(t, newFake())
	r, err := Start(t.Context(), g, item.Digest{}, nil, p)
	if err != nil || r.Reason != "wait" {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := Send(p.Project, r.RunID, Message{Kind: "event", Name: "go", Payload: int64(7)}, p.Now()); err != nil {
		t.Fatal(err)
	}
	if r, err = Resume(t.Context(), g, item.Digest{}, r.RunID, p); err != nil || r.Status != StateCompleted {
		t.Fatalf("%+v, %v", r, err)
	}
	base := transcript.Base(p.Project, r.RunID)
	text, err := os.ReadFile(base.Path(transcript.File))
	at := strings.Index(string(text), `"event":"node_committed"`)
	if err != nil || at < 0 {
		t.Fatal(at, err)
	}
	text = text[:strings.LastIndexByte(string(text[:at]), '\n')+1]
	if err := errors.Join(os.WriteFile(base.Path(transcript.File), text, 0o600), os.Remove(base.Path(transcript.HeadFile))); err != nil {
		t.Fatal(err)
	}
	if r, err = Resume(t.Context(), g, item.Digest{}, r.RunID, p); err != nil || fmt.Sprint(r.Output) != "map[x:7]" {
		t.Errorf("%+v, %v", r, err)
	}
}
