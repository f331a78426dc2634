// Package testfile reads and writes recorded threads as items of the kind test, removes
// secrets from them, and compares what a replay did with what was recorded.
//
// It runs no thread and verifies no signature.
package testfile

import (
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/threads"
)

// Dir is the directory of recorded tests, and Ext the extension of their files.
const (
	Dir = ".ai/tests"
	Ext = ".yaml"
)

// format is the version of the format of events.
const format = 1

// Facts are what the prompt states about the machine and the day of the recording.
type Facts struct {
	Date, System, Project, Workspace string
}

// File is a recorded test.
type File struct {
	ID          string
	Version     string
	Description string
	Facts       Facts
	Recorded    *threads.Recorded
}

// Marshal returns the file without a signature.
func (f *File) Marshal() ([]byte, error) {
	r := f.Recorded
	events := make([]any, len(r.Events))
	for i, e := range r.Events {
		events[i] = yamlx.Map{{Key: "event", Value: e.Event}, {Key: "data", Value: e.Data}}
	}
	expect := yamlx.Map{{Key: "status", Value: r.Result.Status}}
	if r.Result.Outputs != nil {
		expect = append(expect, yamlx.Pair{Key: "outputs", Value: r.Result.Outputs})
	} else {
		expect = append(expect, yamlx.Pair{Key: "text", Value: r.Result.Text})
	}
	out := yamlx.Map{{Key: "version", Value: f.Version}, {Key: "name", Value: path.Base(f.ID)}}
	if dir := path.Dir(f.ID); dir != "." {
		out = append(out, yamlx.Pair{Key: "category", Value: dir})
	}
	inputs := r.Inputs
	if inputs == nil {
		inputs = map[string]any{}
	}
	out = append(out, yamlx.Map{
		{Key: "description", Value: f.Description},
		{Key: "format", Value: format},
		{Key: "directive", Value: r.Directive},
		{Key: "inputs", Value: inputs},
		{Key: "provider", Value: r.Provider},
		{Key: "model", Value: r.Model},
		{Key: "facts", Value: yamlx.Map{{Key: "date", Value: f.Facts.Date}, {Key: "system", Value: f.Facts.System},
			{Key: "project", Value: f.Facts.Project}, {Key: "workspace", Value: f.Facts.Workspace}}},
		{Key: "expect", Value: expect},
		{Key: "events", Value: events},
	}...)
	return yamlx.Marshal(out)
}

// Read reads the text of an item of the kind test.
func Read(id string, text []byte) (*File, error) {
	doc, fs := yamlx.ParseItem(text)
	if diag.Failed(fs) {
		return nil, diag.FromFindings("reading the recording "+id, fs)
	}
	r := tree.NewReader(doc, diag.ValidationFailed)
	f := &File{
		ID:          id,
		Version:     r.Text("version"),
		Description: r.Text("description"),
		Recorded: &threads.Recorded{
			Directive: r.Text("directive"), Provider: r.Text("provider"), Model: r.Text("model"),
		},
	}
	if v := doc.Root["format"]; v != int64(format) {
		return nil, diag.New(diag.ValidationFailed, "reading the recording %s: its format is %v, and this version of rye reads %d", id, v, format)
	}
	facts := r.Map("facts")
	f.Facts = Facts{facts.Text("date"), facts.Text("system"), facts.Text("project"), facts.Text("workspace")}
	expect := r.Map("expect")
	f.Recorded.Result = &threads.Result{Status: expect.Text("status"), Text: expect.Text("text")}
	err := diag.FromFindings("reading the recording "+id, r.Findings())
	if err != nil {
		return nil, err
	}
	if f.Recorded.Inputs, _ = doc.Root["inputs"].(map[string]any); f.Recorded.Inputs == nil {
		f.Recorded.Inputs = map[string]any{}
	}
	m, _ := doc.Root["expect"].(map[string]any)
	if m != nil {
		f.Recorded.Result.Outputs, _ = m["outputs"].(map[string]any)
	}
	events, _ := doc.Root["events"].([]any)
	for i, v := range events {
		m, _ := v.(map[string]any)
		name, _ := m["event"].(string)
		data, _ := m["data"].(map[string]any)
		if name == "" || data == nil {
			return nil, diag.New(diag.ValidationFailed, "reading the recording %s: event %d has no name or no data", id, i+1)
		}
		f.Recorded.Events = append(f.Recorded.Events, threads.Event{Event: name, Data: data})
	}
	if len(f.Recorded.Events) == 0 {
		return nil, diag.New(diag.ValidationFailed, "reading the recording %s: it has no events, so nothing could be compared", id)
	}
	return f, nil
}

// canonical renders a value with sorted keys, for a comparison.
func canonical(v any) string {
	b, err := jsonx.MarshalIndent(v)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(string(b), "\n")
}
