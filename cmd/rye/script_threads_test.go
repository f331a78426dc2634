package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/internal/userdirs"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/threads/store"
	"github.com/ryeos/rye/threads/token"
)

// cmdSpend writes a thread of the project into the store, as a thread would:
// spend ID MAX [parent=ID] [MODEL:RESERVED[:COST[:assumed]]…]. Without a cost the call
// is not answered yet.
func cmdSpend(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: spend ID MAX [parent=ID] [MODEL:RESERVED[:COST[:assumed]]…]")
	}
	ctx := context.Background()
	s, err := store.Open(ctx, store.Dir(userdirs.For(ts.Getenv, "linux").State), store.Params{})
	ts.Check(err)
	defer s.Close()
	usd := func(text string) policy.USD {
		n, err := policy.ParseUSD(text)
		ts.Check(err)
		return n
	}
	month := policy.Periods{PerDay: usd("1000"), PerMonth: usd("1000"), WarnAt: 0.8}
	th := store.Thread{ID: args[0], Project: ts.Getenv("WORK"), Kind: "thread", Ref: "directive:team/triage"}
	var o *store.Owner
	if parent, ok := strings.CutPrefix(args[min(2, len(args)-1)], "parent="); ok {
		have, err := s.Cost(ctx, parent, false)
		ts.Check(err)
		above, err := s.Register(ctx, store.Thread{ID: parent}, store.Budget{Max: have[0].Max, Periods: month})
		ts.Check(err)
		o, err = above.Child(ctx, th, usd(args[1]))
		ts.Check(err)
		args = args[1:]
	} else {
		o, err = s.Register(ctx, th, store.Budget{Max: usd(args[1]), Periods: month})
		ts.Check(err)
	}
	for _, call := range args[2:] {
		part := strings.Split(call, ":")
		id := th.ID + "/" + call + time.Now().String()
		ts.Check(o.Reserve(ctx, id, part[0], usd(part[1])))
		if len(part) > 2 {
			_, err := o.Settle(ctx, id, usd(part[2]), len(part) > 3)
			ts.Check(err)
		}
	}
}

// cmdThreadToken writes what the process of a thread reads, with a token that the runtime
// key of the script's user signed: threadtoken FILE THREAD REF [NAME=VALUE…]. What the
// token states differs by thread=, project= and directive=FILE, issued=-3h, add=no (the
// registry does not know it), forge=yes (another key), flip=yes, held=CAPABILITY (of a
// parent that may do no more).
func cmdThreadToken(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) >= 3, "threadtoken FILE THREAD REF [NAME=VALUE…]")
	set := map[string]string{"thread": args[1], "project": ts.Getenv("WORK"), "issued": "0s"}
	for _, a := range args[3:] {
		name, value, _ := strings.Cut(a, "=")
		set[name] = value
	}
	dirs := userdirs.For(ts.Getenv, "linux")
	signer, err := sign.OpenFileSigner(filepath.Join(dirs.Keys(), "runtime.pem"), nil)
	ts.Check(err)
	if set["forge"] != "" {
		private, err := sign.GenerateKey(rand.Reader)
		ts.Check(err)
		signer = sign.NewFileSigner(private, "forged")
	}
	issued, err := time.ParseDuration(set["issued"])
	ts.Check(err)
	file, err := os.ReadFile(ts.MkAbs(set["directive"]))
	ts.Check(err)
	ctx := context.Background()
	id := fmt.Sprintf("%s-%d", args[0], time.Now().UnixNano())
	held := policy.Person()
	if caps := set["held"]; caps != "" {
		held = held.With(policy.Grant{Caps: policy.Set{policy.Cap(caps)}, Source: "the parent"})
	}
	t, _, err := token.Mint(ctx, token.Grant{ID: id, Thread: set["thread"], Root: set["thread"], Project: set["project"], Directive: item.DigestOf(file),
		Held: held, Now: time.Now().Add(issued), Duration: time.Hour}, signer)
	ts.Check(err)
	if set["add"] == "" {
		s, err := store.Open(ctx, store.Dir(dirs.State), store.Params{})
		ts.Check(err)
		defer s.Close()
		ts.Check(s.AddToken(ctx, id, set["thread"], "", time.Now().Add(time.Hour)))
		if set["revoke"] != "" {
			ts.Check(s.Revoke(ctx, set["thread"], true))
		}
	}
	if set["flip"] != "" {
		t.Text = strings.Replace(t.Text, "rye.*", "rye.?", 1)
	}
	b, err := json.Marshal(map[string]any{"thread_id": args[1], "ref": args[2], "params": map[string]any{"file": "issue.md"}, "token": t.Text, "signature": t.Signature})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o600))
}

// cmdRevoke revokes the tokens of a thread: revoke FILE, which begins with its id.
func cmdRevoke(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 1, "revoke FILE")
	ctx := context.Background()
	s, err := store.Open(ctx, store.Dir(userdirs.For(ts.Getenv, "linux").State), store.Params{})
	ts.Check(err)
	defer s.Close()
	id, _, _ := strings.Cut(ts.ReadFile(args[0]), " ")
	ts.Check(s.Revoke(ctx, id, true))
}
