package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/ryeos/rye/internal/testing/testkit"
	"github.com/ryeos/rye/primary/agent"
)

// TestVerbIsPreparedOnce is about agents F10: the definition of a verb is verified and
// compiled by the first call of a process, and not by each call.
func TestVerbIsPreparedOnce(t *testing.T) {
	h := testkit.New(t)
	w, _ := workspace(h, nil)
	req := agent.Request{Name: "execute", Args: json.RawMessage(`{"item_type":"tool"}`)} // does nothing else
	wrong := func() {
		if env := w.Do(t.Context(), req); env.Success {
			t.Errorf("%+v", env)
		}
	}
	each := testing.AllocsPerRun(5, wrong)
	w.Cache = agent.NewCache()
	once := testing.AllocsPerRun(5, wrong) // after one call that fills the cache
	if t.Logf("%.0f allocations, %.0f with the cache", each, once); once > each/2 {
		t.Errorf("a call makes %.0f allocations with the cache, %.0f without", once, each)
	}
}
