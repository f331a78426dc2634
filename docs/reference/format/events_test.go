package format_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/testing/stepevents"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/threads/steps"
)

const (
	eventsPage  = "events.md"
	eventsBegin = "<!-- generated from config:agent/events: RYE_UPDATE_GOLDEN=1 go test ./docs/reference/format -->\n"
	eventsEnd   = "<!-- end -->\n"
)

// shippedEvents returns the events of config:agent/events, and the configuration.
func shippedEvents(t *testing.T) (*stepevents.Events, map[string]any) {
	t.Helper()
	b, err := os.ReadFile("../../../stdlib/.ai/config/" + steps.EventsConfig + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, fs := yamlx.Parse(b)
	if doc == nil || len(fs) > 0 {
		t.Fatal(fs)
	}
	events, err := stepevents.ReadEvents(doc.Root)
	if err != nil {
		t.Fatal(err)
	}
	return events, doc.Root
}

// unwritten are events that nothing records yet.
var unwritten = []string{"child_started", "child_finished"}

// TestEventsAreShown: for each event of the page a script states, with the arguments of
// eventsfit, that a log has it.
func TestEventsAreShown(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/scripts/*.txtar")
	if err != nil || len(files) < 100 {
		t.Fatal(len(files), err)
	}
	shown := map[string]bool{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^eventsfit \S+ (.+)$`).FindAllStringSubmatch(string(b), -1) {
			for _, kind := range strings.Fields(m[1]) {
				shown[kind] = true
			}
		}
	}
	events, _ := shippedEvents(t)
	for _, k := range events.Kinds() {
		if !shown[k.ID] && !slices.Contains(unwritten, k.ID) {
			t.Errorf("no script shows the event %s: add it to the arguments of an eventsfit", k.ID)
		}
		if shown[k.ID] && slices.Contains(unwritten, k.ID) {
			t.Errorf("the event %s is recorded: remove it from unwritten", k.ID)
		}
	}
}

// TestEventsPage compares the tables of events.md with the configuration, whose
// schemas must compile.
func TestEventsPage(t *testing.T) {
	events, root := shippedEvents(t)
	var example struct {
		Event string
		Data  any
	}
	if err := json.Unmarshal([]byte(eventExample), &example); err != nil {
		t.Fatal(err)
	}
	if err := events.Check("kernel", example.Event, example.Data); err != nil {
		t.Error(err)
	}
	text := read(t, eventsPage)
	before, rest, ok := strings.Cut(text, eventsBegin)
	_, after, ends := strings.Cut(rest, eventsEnd)
	if !ok || !ends {
		t.Fatalf("%s has no generated part", eventsPage)
	}
	out := before + eventsBegin + eventTable(events) + hookTable(t, root) + eventsEnd + after
	if out == text {
		return
	}
	if !updating() {
		t.Fatalf("%s is not as config:agent/events is: run RYE_UPDATE_GOLDEN=1 go test ./docs/reference/format", eventsPage)
	}
	write(t, eventsPage, []byte(out))
}

// The examples of the page. TestEventsPage checks the event with its schema.
const (
	eventExample = `{"seq": 3, "time": "2026-11-29T16:50:49.968Z", "event": "turn_started", "data": {"turn": 1}}`
	hookExample  = `# .ai/config/agent/hooks.yaml
schema_version: "1.0.0"
category: agent
description: Every thread of this project ends when a tool fails.
hooks:
  - {id: end_at_failure, event: after_tool, condition: result.is_error, action: abort}
`
)

func eventTable(events *stepevents.Events) string {
	var b strings.Builder
	b.WriteString("\n## Events of transcripts\n\n| Event | Source | Meaning | Data |\n|---|---|---|---|\n")
	for _, k := range events.Kinds() {
		source := k.Source
		if k.Debug {
			source += ", debug"
		}
		if k.Buffered {
			source += ", buffered"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.ID, source, k.Description, members(k.Schema))
	}
	b.WriteString("\n```json\n" + eventExample + "\n```\n")
	return b.String()
}

// members lists the members of an object's schema with their types, required ones first.
func members(schema map[string]any) string {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	var first, rest []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(map[string]any)
		text := "`" + name + "` " + typeOf(property)
		if slices.Contains(required, any(name)) {
			first = append(first, text)
		} else {
			rest = append(rest, text)
		}
	}
	out := strings.Join(first, ", ")
	if len(rest) > 0 {
		if out != "" {
			out += "; "
		}
		out += "optional: " + strings.Join(rest, ", ")
	}
	return out
}

func typeOf(property map[string]any) string {
	switch v := property["type"].(type) {
	case string:
		items, _ := property["items"].(map[string]any)
		if items != nil {
			return v + " of " + typeOf(items)
		}
		return v
	case []any:
		var names []string
		for _, t := range v {
			names = append(names, fmt.Sprint(t))
		}
		return strings.Join(names, " or ")
	}
	return "any"
}

func hookTable(t *testing.T, root map[string]any) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n## Events of hooks\n\nWhere all hooks run, one denial is enough. Elsewhere the first decision ends the run of the hooks. `call.input` has the\narguments that the tool receives: the model's, and the defaults of the schema for the others.\n\n" +
		"| Event | May decide | Runs | Paths of conditions and parameters |\n|---|---|---|---|\n")
	list, _ := root["hook_events"].([]any)
	for _, v := range list {
		m, _ := v.(map[string]any)
		decides, runs := texts(m["decides"], ""), "until one decides"
		switch {
		case m["every"] == true:
			runs = "all"
		case m["texts"] == true:
			decides, runs = "nothing; results become context", "all"
		case decides == "":
			decides, runs = "nothing", "all"
		}
		fmt.Fprintf(&b, "| `%v` | %s | %s | %s |\n", m["id"], decides, runs, texts(m["paths"], "`"))
	}
	b.WriteString("\n```yaml\n" + hookExample + "```\n")
	return b.String() + "\n"
}

func texts(v any, quote string) string {
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		out = append(out, quote+fmt.Sprint(x)+quote)
	}
	return strings.Join(out, ", ")
}
