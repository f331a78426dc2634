package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/testing/stepevents"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/threads/steps"
)

// shippedEvents returns the events of the shipped config:agent/events.
var shippedEvents = sync.OnceValues(func() (*stepevents.Events, error) {
	b, err := os.ReadFile("../../stdlib/.ai/config/" + steps.EventsConfig + ".yaml")
	if err != nil {
		return nil, err
	}
	doc, fs := yamlx.Parse(b)
	if doc == nil || len(fs) > 0 {
		return nil, errors.New("config:agent/events does not parse")
	}
	return stepevents.ReadEvents(doc.Root)
})

// cmdEventsFit fails unless every line of the logs below a directory, or of the output of
// --events, is an event of config:agent/events with data that fit, and unless each event
// that is named occurs: eventsfit .ai/threads EVENT…, or eventsfit stdout EVENT…
func cmdEventsFit(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) > 0, "eventsfit directory|file [EVENT...]")
	events, err := shippedEvents()
	ts.Check(err)
	seen := map[string]bool{}
	if info, err := os.Stat(ts.MkAbs(args[0])); err != nil || !info.IsDir() {
		fitsStream(ts, events, []byte(ts.ReadFile(args[0])), seen)
	} else {
		fitLogs(ts, events, ts.MkAbs(args[0]), seen)
	}
	for _, kind := range args[1:] {
		if !seen[kind] {
			ts.Fatalf("no event %s in %s: %v", kind, args[0], slices.Sorted(maps.Keys(seen)))
		}
	}
}

func fitLogs(ts *testscript.TestScript, events *stepevents.Events, dir string, seen map[string]bool) {
	ts.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "transcript.jsonl" {
			return err
		}
		b, err := os.ReadFile(path)
		for line := range bytes.Lines(b) {
			fitsEvent(ts, events, line, seen)
		}
		return err
	}))
	if len(seen) == 0 {
		ts.Fatalf("no log below %s", dir)
	}
}

// fitsStream checks the output of --events: events, each with its thread, number and
// time, and the envelope as the last line.
func fitsStream(ts *testscript.TestScript, events *stepevents.Events, out []byte, seen map[string]bool) {
	lines := slices.Collect(bytes.Lines(out))
	if len(lines) < 2 {
		ts.Fatalf("the output has no events:\n%s", out)
	}
	for _, line := range lines[:len(lines)-1] {
		var l struct {
			Seq    int64     `json:"seq"`
			Time   time.Time `json:"time"`
			Thread string    `json:"thread_id"`
		}
		if err := json.Unmarshal(line, &l); err != nil || l.Seq == 0 || l.Time.IsZero() || l.Thread == "" {
			ts.Fatalf("not an event with seq, time and thread_id (%v):\n%s", err, line)
		}
		fitsEvent(ts, events, line, seen)
	}
	var envelope struct {
		OK    *bool  `json:"success"`
		Event string `json:"event"`
	}
	if err := json.Unmarshal(lines[len(lines)-1], &envelope); err != nil || envelope.OK == nil || envelope.Event != "" {
		ts.Fatalf("the last line is not the envelope (%v):\n%s", err, lines[len(lines)-1])
	}
}

func fitsEvent(ts *testscript.TestScript, events *stepevents.Events, line []byte, seen map[string]bool) {
	var l struct {
		Event string          `json:"event"`
		Data  json.RawMessage `json:"data"`
	}
	ts.Check(json.Unmarshal(line, &l))
	seen[l.Event] = true
	v, _ := jsonx.ParseMessage(l.Data)
	data, ok := v.(map[string]any)
	if !ok {
		ts.Fatalf("the data of an event are not an object: %s", line)
	}
	// Values that were moved to artifacts are not in the line.
	if _, moved := data["artifacts"]; moved {
		return
	}
	if err := events.Check(stepevents.SourceKernel, l.Event, data); err != nil {
		ts.Fatalf("%v\n%s", err, line)
	}
}

// cmdStreamed joins what a thread streamed, as a person sees it: the pieces of each text of
// a model, and the lines of each tool. A file with lines of events becomes a file with one
// line for each text: streamed EVENTS OUT
func cmdStreamed(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "streamed EVENTS OUT")
	texts, order := map[string]*strings.Builder{}, []string{}
	for line := range bytes.Lines([]byte(ts.ReadFile(args[0]))) {
		var l struct {
			Event string `json:"event"`
			Data  struct {
				Turn               int64
				Kind, Stream, Text string
				CallID             string `json:"call_id"`
			} `json:"data"`
		}
		if json.Unmarshal(line, &l) != nil || l.Event != "token_delta" && l.Event != "tool_output" {
			continue
		}
		key := fmt.Sprint(l.Event, l.Data.Turn, l.Data.Kind, l.Data.Stream, l.Data.CallID)
		if texts[key] == nil {
			texts[key] = &strings.Builder{}
			order = append(order, key)
		}
		texts[key].WriteString(l.Data.Text)
		if l.Event == "tool_output" {
			texts[key].WriteString(" ")
		}
	}
	var out strings.Builder
	for _, key := range order {
		out.WriteString(texts[key].String() + "\n")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(out.String()), 0o600))
}
