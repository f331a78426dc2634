// Package rulemodel is a model service for benchmarks: it answers requests by rules, in
// the dialects of package scripted. A rule reads what a model reads, and nothing
// else: a task succeeds only if the texts that reach the model contain what it needs.
//
// It keeps no conversation: each answer follows from its request, so a request that is
// repeated gets the same answer. It reaches no service and starts no program.
package rulemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/ryeos/rye/threads/provider/scripted"
)

// Rule returns the answer to a request.
type Rule func(*Request) scripted.Send

// Marked is a rule for the requests that contain a marker.
type Marked struct {
	Marker string
	Rule   Rule
}

// Model serves rules.
type Model struct {
	dialect string
	server  *scripted.Server
	rules   []Marked

	mu    sync.Mutex
	stats Stats
	last  map[string][]byte // the newest request of each conversation
}

// Stats describe the requests since the last Reset.
type Stats struct {
	Requests      int
	FirstBytes    int   // of the first request
	ToolsOffered  int   // in the first request
	Bytes         int   // of all requests
	Same, Before  int   // bytes: of the beginnings that equal the request before, and of these requests before
	Input, Cached int64 // tokens; Cached is the part of Input that began like the request before
	Output        int64
	Unknown       int      // requests without a rule
	Lost          []string // what models did not read, though they needed it
}

// New returns a model that speaks a dialect. The first rule whose marker a text of the
// request contains answers it.
func New(dialect string, rules ...Marked) *Model {
	m := &Model{dialect: dialect, rules: rules}
	m.server = &scripted.Server{Scenario: &scripted.Scenario{Dialect: dialect}, Choose: m.choose}
	m.Reset()
	return m
}

// Reset begins new statistics.
func (m *Model) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats = Stats{}
	m.last = map[string][]byte{}
}

// SamePrefix returns the share of the bytes of each request that is an identical
// beginning of the next one in its conversation, 1 if no conversation has two.
func (s *Stats) SamePrefix() float64 {
	if s.Before == 0 {
		return 1
	}
	return float64(s.Same) / float64(s.Before)
}

// Stats returns the statistics.
func (m *Model) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats
}

// AcceptAll makes the model answer requests of programs whose tools it does not check.
func (m *Model) AcceptAll() {
	m.server.Lenient = true
}

// Problems returns the rules of the dialect that requests broke.
func (m *Model) Problems() []string {
	return m.server.Problems()
}

// ServeHTTP implements http.Handler.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.server.ServeHTTP(w, r)
}

// choose answers a request by the rule whose marker it contains.
func (m *Model) choose(body []byte) *scripted.Step {
	r, err := read(m.dialect, body)
	if err != nil {
		return nil
	}
	send := scripted.Send{Text: "No rule is for this request."}
	all := r.All()
	known := false
	for _, x := range m.rules {
		if strings.Contains(all, x.Marker) {
			send = x.Rule(r)
			known = true
			break
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	send.Usage = m.count(r, send)
	if !known {
		m.stats.Unknown++
	}
	if text, lost := strings.CutPrefix(send.Text, LostText); lost {
		m.stats.Lost = append(m.stats.Lost, text)
	}
	return &scripted.Step{Send: send}
}

// bytesOfToken is how many bytes a token has on average.
const bytesOfToken = 4

// count adds a request to the statistics and returns the usage that the service bills: tokens
// of four bytes. The common beginning with the request before is billed as cached.
func (m *Model) count(r *Request, send scripted.Send) scripted.Usage {
	// Several threads call one service: their conversations begin with other texts.
	conversation := strings.Join(r.Texts[:min(2, len(r.Texts))], "\n")
	last := m.last[conversation]
	same := commonPrefix(last, r.Body)
	m.stats.Same += same
	m.stats.Before += len(last)
	m.last[conversation] = r.Body
	written := len(send.Text)
	for _, c := range send.Calls {
		arguments, _ := json.Marshal(c.Input) // maps of texts and numbers
		written += len(c.Name) + max(len(arguments), len(c.Arguments))
	}
	u := scripted.Usage{
		CacheRead: int64(same / bytesOfToken),
		Output:    int64(written/bytesOfToken + 1),
	}
	u.Input = int64(len(r.Body)/bytesOfToken) - u.CacheRead
	if m.stats.Requests == 0 {
		m.stats.FirstBytes = len(r.Body)
		m.stats.ToolsOffered = len(r.Tools)
	}
	m.stats.Requests++
	m.stats.Bytes += len(r.Body)
	m.stats.Input += u.Input + u.CacheRead
	m.stats.Cached += u.CacheRead
	m.stats.Output += u.Output
	return u
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Use returns a call of an item of rye as a model that reads the request can make it:
// by its own name where it is offered, else through rye_execute.
func (r *Request) Use(id string, input map[string]any) scripted.Call {
	name := strings.ReplaceAll(id, "/", "__")
	if r.Offers(name) {
		return scripted.Call{Name: name, Input: input}
	}
	return scripted.Call{Name: "rye_execute", Input: map[string]any{"item_type": "tool", "item_id": id, "parameters": input}}
}

// Do returns an answer that makes calls.
func (r *Request) Do(calls ...scripted.Call) scripted.Send {
	for i := range calls {
		calls[i].ID = fmt.Sprintf("call_%d", len(r.Calls)+i+1)
	}
	return scripted.Send{Calls: calls}
}

// Last returns the newest call, the zero value if there is none.
func (r *Request) Last() Call {
	if len(r.Calls) == 0 {
		return Call{}
	}
	return r.Calls[len(r.Calls)-1]
}

// LostText begins the answer of a rule that did not read what it needs.
const LostText = "LOST: "

// Lost returns the answer of a model that cannot continue: what it needs was not in the
// texts that it read.
func Lost(format string, args ...any) scripted.Send {
	return scripted.Send{Text: LostText + fmt.Sprintf(format, args...)}
}
