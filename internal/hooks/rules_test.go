package hooks

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/yamlx"
)

const events = `
hook_events:
  - {id: before_tool, decides: [deny, skip], every: true, paths: [call.name, call.input]}
  - {id: after_step, decides: [fail, suspend, escalate], paths: []}
  - {id: nightly, decides: [fail]}
  - {id: node_started, of: graph, decides: [skip]}
`

func rulesOf(t *testing.T) *Rules {
	t.Helper()
	doc, fs := yamlx.Parse([]byte(events))
	if len(fs) > 0 {
		t.Fatal(fs)
	}
	rules, fs := ReadRules(doc.Root)
	if len(fs) > 0 {
		t.Fatal(fs)
	}
	return rules
}

func TestCheck(t *testing.T) {
	for src, want := range map[string]string{
		`{id: x, event: before_tool, action: deny, condition: "call.input.command == 'x' and turn > 2"}`: "",
		`{id: x, event: before_tool, action: deny, params: {feedback: "no ${call.name}, ${gone?}"}}`:     "",
		`{id: x, event: nightly, action: fail, condition: "anything.at.all == 1"}`:                       "", // its paths are not declared
		`{id: x, event: before_tool, tool: t/x, condition: "exists(call)"}`:                              "",
		`{id: x, event: before_tool, action: {item_id: t/x}, params: {a: 1}}`:                            "",
		`{id: x, event: before_tol, action: deny}`:                                                       "hooks[0].event is",
		`{id: x, event: node_started, action: skip}`:                                                     "an event of graphs",
		`{id: x, event: before_tool, action: suspend}`:                                                   "hooks[0].action is suspend, which before_tool does not permit",
		`{id: x, event: before_tool, action: deny, condition: "call.inptu.command == 'x'"}`:              "hooks[0].condition reads call.inptu.command",
		`{id: x, event: after_step, action: fail, condition: {path: call.name, op: eq, value: x}}`:       "hooks[0].condition reads call.name",
		`{id: x, event: after_step, action: fail, params: {message: "${call.name}"}}`:                    "hooks[0].params reads call.name",
		`{id: x, event: after_step, action: fail, params: {message: "${call"}}`:                          "hooks[0].params has a template",
		`{id: x, event: after_step, action: escalate, params: {to: persn}}`:                              `hooks[0].params.to is not a control action that rye can run: to is "persn"`,
		`{id: x, event: after_step, action: escalate, on_failure: continue}`:                             "must not continue without the answer",
		`{id: x, event: after_step, tool: t/x, on_failure: deny}`:                                        "deny nothing",
	} {
		doc, fs := yamlx.Parse([]byte("hooks:\n  - " + src))
		if len(fs) > 0 {
			t.Fatal(src, fs)
		}
		list, fs := Read(doc, 3)
		if len(fs) > 0 {
			t.Fatal(src, fs)
		}
		found := rulesOf(t).Check(list, doc)
		switch {
		case want == "" && len(found) > 0:
			t.Errorf("%s: %v", src, found)
		case want != "" && (len(found) != 1 || !strings.Contains(found[0].Message, want) || found[0].Line != 2 || found[0].Severity != diag.SeverityError):
			t.Errorf("%s: %v, want %q", src, found, want)
		}
	}
}

// A thread that a hook was to stop does not continue because the hook failed.
func TestFailed(t *testing.T) {
	rules := rulesOf(t)
	for _, event := range []string{"before_tool", "after_step", "nightly"} {
		rule, _ := rules.Event(event)
		for _, action := range Controls() {
			for _, onFailure := range []string{"continue", "deny", "fail"} {
				c := rule.Failed(onFailure, action, "reason")
				switch {
				case c == nil && (Stops(action) || onFailure != "continue"):
					t.Errorf("%s %s %s: the thread continues", event, action, onFailure)
				case c != nil && !Stops(c.Action):
					t.Errorf("%s %s %s: %v", event, action, onFailure, c)
				case c != nil && c.Check() != nil:
					t.Errorf("%s %s %s: %v", event, action, onFailure, c.Check())
				}
			}
		}
	}
}

// A member that has no effect is a mistake: its author expects one.
func TestReadMistakes(t *testing.T) {
	for src, want := range map[string]string{
		`{id: x, event: before_tool, action: {item_id: t/x, prams: {a: 1}}}`:                  `unknown field "hooks[0].action.prams"`,
		`{id: x, event: before_tool, action: {item_id: t/x, params: {a: 1}}, params: {a: 2}}`: "hooks[0] has its parameters twice",
		`{id: x, event: before_tool, tool: t/x, params: {a: 1}, inputs: {a: 2}}`:              "hooks[0] has its parameters twice",
		`{id: x, event: before_tool, tool: t/x, delay: 3}`:                                    "hooks[0].delay has no effect",
		`{id: x, event: before_tool, action: {primary: exceute, item_id: t/x}}`:               "hooks[0].action.primary must be",
	} {
		doc, fs := yamlx.Parse([]byte("hooks:\n  - " + src))
		if len(fs) > 0 {
			t.Fatal(src, fs)
		}
		if _, fs := Read(doc, 3); len(fs) == 0 || !strings.Contains(fs[0].Message, want) {
			t.Errorf("%s: %v, want %q", src, fs, want)
		}
	}
}
