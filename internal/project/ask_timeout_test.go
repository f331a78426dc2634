package project

import (
	"testing"
	"time"

	"github.com/ryeos/rye/primary/agent"
)

// The user has the time of the allowance to confirm a copy or a signature of an agent.
func TestAgentsQuestionsEnd(t *testing.T) {
	p := &Project{settings: &agent.Settings{}, allowance: &readAllowance{known: true}}
	seconds := int64(7)
	p.allowance.value.Approvals.TimeoutSeconds = &seconds
	w, err := workspace(t.Context(), p)
	if err != nil || w.AskTimeout != 7*time.Second {
		t.Errorf("%+v, %v", w, err)
	}
}
