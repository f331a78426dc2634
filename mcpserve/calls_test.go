package mcpserve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ryeos/rye/diag"
)

// A call that reaches a session while that ends, ends with it.
func TestCallsOfAnEndingSession(t *testing.T) {
	c := newCalls(8, 8)
	enter := func(session string) (context.Context, func()) {
		ctx, done, err := c.begin(t.Context(), session, nil)
		if err != nil {
			t.Fatal(err)
		}
		return ctx, done
	}
	ended := func(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errShutdown) }
	mine, done := enter("mine")
	other, otherDone := enter("other")
	none, noneDone := enter("")
	closed := c.cancelSession("mine")
	if _, _, err := c.begin(t.Context(), "mine", nil); !errors.Is(err, errShutdown) {
		t.Errorf("a late call: %v", err)
	}
	if !ended(mine) || ended(other) || ended(none) {
		t.Error("not the calls of that session end")
	}
	closed()
	done()
	again, againDone := enter("mine")
	if ended(again) || !c.inSession("mine") || c.inSession("none") {
		t.Error("a name that is free again ends a call")
	}
	c.cancelAll()
	c.cancelAll()
	if _, _, err := c.begin(t.Context(), "other", nil); !errors.Is(err, errShutdown) {
		t.Errorf("a call after the end: %v", err)
	}
	for _, ctx := range []context.Context{other, none, again} {
		if !ended(ctx) {
			t.Error("a call outlives the server")
		}
	}
	if c.stop(0) {
		t.Error("calls that run are gone")
	}
	otherDone()
	noneDone()
	againDone()
	if !c.stop(ShutdownTimeout) {
		t.Error("calls that have ended run")
	}
}

// A limited number of calls run, others wait in order, and one more is refused.
func TestCallsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCalls(2, 2)
		_, first, _ := c.begin(t.Context(), "", nil)
		_, second, _ := c.begin(t.Context(), "", nil)
		waits, runs, release := make(chan int, 2), make(chan int), make(chan struct{})
		for i := range 2 {
			go func() {
				_, done, err := c.begin(t.Context(), "", func() { waits <- i })
				if err != nil {
					t.Error(err)
					return
				}
				runs <- i
				<-release
				done()
			}()
			synctest.Wait()
			if got := <-waits; got != i {
				t.Errorf("%d waits", got)
			}
		}
		_, _, err := c.begin(t.Context(), "", nil)
		var e *diag.Error
		if !errors.As(err, &e) || e.Code != diag.LimitExceeded || !e.Retryable || !strings.Contains(e.Message, "2 calls run and 2 wait") {
			t.Errorf("one too many: %v", err)
		}
		first()
		if got := <-runs; got != 0 {
			t.Errorf("%d runs before 0", got)
		}
		second()
		<-runs
		close(release)
		synctest.Wait()
		if len(c.slots) != 0 || len(c.running) != 0 {
			t.Errorf("%d slots and %d calls are left", len(c.slots), len(c.running))
		}
	})
}

// A call that waits can be cancelled, ends with its session and its server.
func TestCallsThatWaitEnd(t *testing.T) {
	for name, end := range map[string]func(*calls, func()){
		"cancelled": func(_ *calls, cancel func()) { cancel() },
		"session":   func(c *calls, _ func()) { c.cancelSession("mine")() },
		"server":    func(c *calls, _ func()) { c.cancelAll() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCalls(1, 5)
				_, first, _ := c.begin(t.Context(), "", nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ended := make(chan error, 1)
				go func() {
					_, _, err := c.begin(ctx, "mine", nil)
					ended <- err
				}()
				synctest.Wait()
				end(c, cancel)
				if err := <-ended; diag.CodeOf(err) != diag.Cancelled {
					t.Errorf("it ends with %v", err)
				}
				first()
				if len(c.slots) != 0 || len(c.running) != 0 {
					t.Errorf("%d slots and %d calls are left", len(c.slots), len(c.running))
				}
			})
		})
	}
}

// A client that starts more calls than may run hears that they wait, and gets
// an answer to those that may not.
func TestManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		s := newTestServer(f)
		s.calls = newCalls(1, 1)
		w := dial(t, s).shake()
		w.send("%s", call("2", "wait 2"))
		<-f.started
		w.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"execute","_meta":{"progressToken":"p"},"arguments":{"item_id":"wait 3"}}}`)
		for _, want := range []string{"started", "waiting until other calls have ended"} {
			demand(t, w.next(), "params.message", want)
		}
		w.send("%s", call("4", ""))
		got := w.next()
		demand(t, got, "id", "4")
		demand(t, got, "result.isError", "true")
		if text := fmt.Sprint(field(got, "result.content.0.text")); !strings.Contains(text, `"code":"LIMIT_EXCEEDED"`) || !strings.Contains(text, `"retryable":true`) {
			t.Errorf("the client reads %s", text)
		}
		w.send(`{"jsonrpc":"2.0","id":5,"method":"prompts/list"}`)
		got = w.next()
		demand(t, got, "error.code", "-32603")
		demand(t, got, "error.data.code", "LIMIT_EXCEEDED")
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
		w.alive()
		time.Sleep(time.Second) // until 3 has gone
		w.send("%s", call("6", "wait 6"))
		time.Sleep(time.Second)
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		<-f.ended
		if item := <-f.started; item != "6" {
			t.Errorf("%s runs, not 6", item)
		}
	})
}

// A client that sends and does not read is not read either: its requests do not fill
// the memory of the server.
func TestClientThatDoesNotRead(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for nothing to happen")
	}
	s := New(Params{Verbs: newFake(), Name: "rye", Version: "1", Calls: 2})
	w := dial(t, s).shake()
	const all = 1000
	sent := make(chan int, all)
	go func() {
		for i := range all {
			if _, err := fmt.Fprintf(w.in, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i+10); err != nil {
				return
			}
			sent <- i
		}
	}()
	for stalled := false; !stalled; {
		select {
		case <-sent:
		case <-time.After(300 * time.Millisecond):
			stalled = true
		}
	}
	refused, answered := 0, 0
	for range all {
		if got := w.next(); field(got, "error") != nil {
			refused++
		} else {
			answered++
		}
	}
	if left := len(sent); left < all/2 || refused == 0 || answered < 2*unanswered {
		t.Errorf("%d requests were read only with their answers; %d answers, %d refusals", left, answered, refused)
	}
}

// With a limit of calls, one more is refused and none waits.
func TestLimitOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := dial(t, New(Params{Verbs: f, Name: "rye", Version: "1", Calls: 2})).shake()
		for _, id := range []string{"2", "3"} {
			w.send("%s", call(id, "wait "+id))
			<-f.started
		}
		w.send("%s", call("4", ""))
		got := w.next()
		demand(t, got, "id", "4")
		if text := fmt.Sprint(field(got, "result.content.0.text")); !strings.Contains(text, "LIMIT_EXCEEDED") || !strings.Contains(text, "2 calls run already") {
			t.Errorf("the client reads %s", text)
		}
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		<-f.ended
		synctest.Wait()
		w.send("%s", call("5", ""))
		demand(t, w.next(), "id", "5")
	})
}
