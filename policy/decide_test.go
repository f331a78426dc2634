package policy

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

// TestRule: calls have the same rule if a person is asked for the same reasons, and no reason
// is left out.
func TestRule(t *testing.T) {
	danger := func(ids ...string) (out []Danger) {
		for _, id := range ids {
			out = append(out, Danger{ID: id, Tier: T4, Text: id + " x"})
		}
		return out
	}
	a, _, _, err := ReadAllowance([]Layer{shippedAllowance(t)})
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Call{
		"the dangerous pattern rm-recursive":                                   {Rating: Rating{Class: T3, Tier: T3}, Rung: RungStrict, Dangers: danger("rm-recursive", "rm-recursive")},
		"the dangerous pattern force-push, the dangerous pattern rm-recursive": {Rating: Rating{Class: T3, Tier: T3}, Rung: RungStrict, Dangers: danger("rm-recursive", "force-push")},
		"the dangerous pattern rm-recursive, risk T3 in the sandbox basic":     {Rating: Rating{Class: T3, Tier: T3}, Rung: RungBasic, Dangers: danger("rm-recursive")},
		"risk T2 in the sandbox basic":                                         {Rating: Rating{Class: T2, Tier: T2}, Rung: RungBasic},
		"risk T4 in the sandbox none":                                          {Rating: Rating{Class: T4, Tier: T4}},
		"risk T4":                                                              {Rating: Rating{Class: T1, Tier: T4}, Rung: RungStrict},
	} {
		if got := a.Decide(c).Rule(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestPrefixes: a prefix is offered for commands whose beginning states what they do, and
// permits only texts that are one such command.
func TestPrefixes(t *testing.T) {
	a, _, _, err := ReadAllowance([]Layer{shippedAllowance(t)})
	if err != nil {
		t.Fatal(err)
	}
	risk := shippedRisk(t)
	decide := func(text, rung string) Decision {
		return a.Decide(Call{Rating: Rating{Class: T3, Tier: T3}, Rung: rung, Dangers: risk.Shell(text)})
	}
	for text, want := range map[string]string{
		"rm -r d/x":                   "rm -r",
		"rm -r -f x y":                "rm -r -f",
		"rm -r x; git push -f origin": "", // a text of two commands
		"git push -f origin":          "git push -f",
		"git push origin main -f":     "", // what matters is not at the beginning
		"git -C /d push -f":           "",
		"ssh prod 'rm -r /'":          "",
		"PATH=/e rm -r x":             "",
		"rm(){ :; }; rm -r x":         "",
		"rm x -r":                     "rm x -r",
		"mkfs.ext4 /dev/x":            "", // one word
		"rm --recursive=always x":     "",
		"sudo rm -r x":                "",
		"echo x | xargs rm -r":        "",
		"$X -r y":                     "",
		"r\\m -r x":                   "",
		"rm -r x > /dev/sda":          "",
		"curl u | sh":                 "",
		"ls":                          "",
	} {
		if got := strings.Join(decide(text, RungStrict).Prefixes(), ","); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := decide("rm -r x", RungBasic).Prefixes(); got != nil {
		t.Errorf("asked for another reason, too: %q", got)
	}
	for text, want := range map[string]bool{
		"rm -r /":                true,
		"rm -r x && rm -r y":     false,
		"ssh p 'rm -r /'":        false,
		"sudo bash -c 'rm -r x'": false,
		"PATH=/e rm -r x":        false,
		"rm -r x &":              false,
		"rm -r x; rm -R y":       false,
		"rm -rf x":               false,
		"rm -r x; git push -f":   false,
		"sudo rm -r x":           false,
		"rm -r x | sh":           false,
		"rm -r $(curl u | sh)":   false,
		"eval 'rm -r x'":         false,
		"ls":                     false,
	} {
		if got := decide(text, RungStrict).Within([]string{"rm -r"}); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestQuestion: a person sees all that a yes permits.
func TestQuestion(t *testing.T) {
	a, _, _, err := ReadAllowance([]Layer{shippedAllowance(t)})
	if err != nil {
		t.Fatal(err)
	}
	risk := shippedRisk(t)
	ask := func(text string, more map[string]any) Decision {
		params := map[string]any{"command": text}
		maps.Copy(params, more)
		return a.Decide(Call{Ref: toolRef("a/b"), Rating: Rating{Class: T3, Tier: T3}, Rung: RungStrict, Dangers: risk.Shell(text), Params: params})
	}
	for text, want := range map[string]string{
		"rm -r d/x":                                `Run tool:a/b? The command "rm -r d/x" matches the dangerous pattern rm-recursive.`,
		"rm -r x; rm -r y":                         `Run tool:a/b? The command "rm -r x; rm -r y" matches the dangerous pattern rm-recursive.`,
		"ssh prod 'rm -r /'":                       `"ssh prod 'rm -r /'"`,
		"rm -r b; mkfs.ext4 /dev/x; echo y":        `"rm -r b; mkfs.ext4 /dev/x; echo y" matches the dangerous patterns `,
		strings.Repeat("echo a;", 200) + "rm -r b": `with "rm -r b" (sha256:`,
	} {
		if got := ask(text, nil).Question(); !strings.Contains(got, want) {
			t.Errorf("%q, want %s", got, want)
		}
	}
	if got := ask("rm -r x", map[string]any{"dir": "/"}).Question(); !strings.HasSuffix(got, ` Parameters: {"dir":"/"}.`) {
		t.Errorf("parameters: %q", got)
	}
	if got := ask("rm -r x; foo (", nil).Rule(); got != "" {
		t.Errorf("a rule for a text that cannot be read: %q", got)
	}
}

// TestDecide has each outcome of a call.
func TestDecide(t *testing.T) {
	now := time.Date(2027, 1, 15, 12, 0, 0, 0, time.UTC)
	rm := []Danger{{ID: "rm-recursive", Tier: T4, Text: "rm -rf x"}}
	rate := func(class, tier Tier) Rating { return Rating{Class: class, Tier: tier, Why: "test"} }
	unconfined := func(until string) string {
		return fmt.Sprintf("sandbox: {unconfined: [{ref: \"tool:acme/*\", signer: %q%s}]}", someKey, until)
	}
	for name, c := range map[string]struct {
		user, policy string
		call         Call
		action       Action
		code         diag.Code
		part         string // of the error
	}{
		"T3 in strict":                  {call: Call{Rating: rate(T3, T3), Rung: RungStrict}, action: Run},
		"T3 in landlock":                {call: Call{Rating: rate(T3, T3), Rung: RungLandlock}, action: Run},
		"T2 in basic":                   {call: Call{Rating: rate(T2, T2), Rung: RungBasic}, action: Ask, code: diag.ApprovalRequired, part: "this system has only the sandbox basic, where landlock is the minimum"},
		"T1 in basic":                   {call: Call{Rating: rate(T1, T1), Rung: RungBasic}, action: Run},
		"T2 in basic, minimum basic":    {user: "sandbox: {minimum: basic}", call: Call{Rating: rate(T2, T2), Rung: RungBasic}, action: Run},
		"T3 in landlock, strict wanted": {policy: "sandbox: {minimum: strict}", call: Call{Rating: rate(T3, T3), Rung: RungLandlock}, action: Ask, code: diag.ApprovalRequired, part: "where strict is the minimum"},
		"an applet in basic":            {call: Call{Rating: rate(T2, T2), Rung: RungBasic, Enforced: true}, action: Run},
		"T4 without a sandbox":          {call: Call{Rating: rate(T4, T4)}, action: Ask, code: diag.ApprovalRequired, part: "it runs without a sandbox (risk T4)"},
		"T4 by name":                    {user: unconfined(""), call: Call{Ref: toolRef("acme/deploy"), Signer: someKey, Rating: rate(T4, T4)}, action: Run},
		"T4 by name, other signer":      {user: unconfined(""), call: Call{Ref: toolRef("acme/deploy"), Signer: "ed25519:other", Rating: rate(T4, T4)}, action: Ask, code: diag.ApprovalRequired},
		"T4 by name, expired":           {user: unconfined(", until: 2027-01-14"), call: Call{Ref: toolRef("acme/deploy"), Signer: someKey, Rating: rate(T4, T4)}, action: Ask, code: diag.ApprovalRequired},
		"T4 by name, last day":          {user: unconfined(", until: 2027-01-15"), call: Call{Ref: toolRef("acme/deploy"), Signer: someKey, Rating: rate(T4, T4)}, action: Run},
		"T4 by name, dangerous":         {user: unconfined(""), call: Call{Ref: toolRef("acme/deploy"), Signer: someKey, Rating: rate(T4, T4), Dangers: rm}, action: Ask, code: diag.ApprovalRequired, part: `the command "rm -rf x" matches the dangerous pattern rm-recursive`},
		"dangerous in strict":           {call: Call{Rating: rate(T3, T3), Rung: RungStrict, Dangers: rm}, action: Ask, code: diag.ApprovalRequired, part: "rm-recursive"},
		"dangerous, permitted":          {user: "approvals: {auto_approve_up_to: {sandboxed: T4}}", call: Call{Rating: rate(T3, T3), Rung: RungStrict, Dangers: rm}, action: Run},
		"raised by a project":           {call: Call{Rating: rate(T1, T4), Rung: RungStrict}, action: Ask, code: diag.ApprovalRequired, part: "its risk is T4 (test)"},
		"lowered by the user":           {user: `approvals: {tools: {"tool:acme/*": T1}}`, call: Call{Ref: toolRef("acme/x"), Rating: rate(T3, T3), Rung: RungBasic}, action: Run},
		"not below a project's raise":   {user: `approvals: {tools: {"tool:acme/*": T1}}`, call: Call{Ref: toolRef("acme/x"), Rating: rate(T3, T4), Rung: RungStrict}, action: Ask, code: diag.ApprovalRequired},
		"raised by a policy":            {policy: `approvals: {tools: {"tool:acme/*": T4}}`, call: Call{Ref: toolRef("acme/x"), Rating: rate(T0, T0), Rung: RungStrict}, action: Ask, code: diag.ApprovalRequired, part: "approvals.tools"},
		"deny_from":                     {policy: "approvals: {deny_from: T3}", call: Call{Rating: rate(T3, T3), Rung: RungStrict}, action: Refuse, code: diag.PolicyDenied, part: "approvals.deny_from"},
		"deny_from, dangerous":          {policy: "approvals: {deny_from: T4}", call: Call{Rating: rate(T3, T3), Rung: RungStrict, Dangers: rm}, action: Refuse, code: diag.PolicyDenied, part: "T4"},
		"deny beats a name":             {user: unconfined(""), policy: "approvals: {deny_from: T4}", call: Call{Ref: toolRef("acme/deploy"), Signer: someKey, Rating: rate(T4, T4)}, action: Refuse, code: diag.PolicyDenied},
		"a child in basic":              {call: Call{Rating: rate(T1, T1), Rung: RungBasic, Child: true}, action: Ask, code: diag.ApprovalRequired},
		"an unknown rung":               {call: Call{Rating: rate(T3, T3), Rung: "none"}, action: Ask, code: diag.ApprovalRequired},
	} {
		layers := []Layer{shippedAllowance(t)}
		if c.user != "" {
			layers = append(layers, layerOf(t, "user", true, c.user))
		}
		if c.policy != "" {
			layers = append(layers, layerOf(t, "policy", false, c.policy))
		}
		a, _, _, err := ReadAllowance(layers)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.call.Ref.IsZero() {
			c.call.Ref = toolRef("demo/x")
		}
		c.call.Now = now
		d := a.Decide(c.call)
		if err := d.Err(); d.Action != c.action || diag.CodeOf(err) != c.code || err != nil && !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %d, %v", name, d.Action, err)
		}
		if d.Action == Ask && (!strings.HasPrefix(d.Question(), "Run "+c.call.Ref.String()+"? ") || diag.CodeOf(d.Denied("")) != diag.ApprovalDenied) {
			t.Errorf("%s: %s", name, d.Question())
		}
	}
	if d := (Allowance{}).Decide(Call{Rating: rate(T1, T1), Rung: RungStrict}); d.Action == Run {
		t.Error("an allowance without values permits a call")
	}
}
