package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/message"
)

// second is what a second reader finds in an answer. It is written apart from the codecs: it
// reads the whole stream as plain JSON values, joins what belongs together in the way that
// the descriptions of the services state, and gives up where they state nothing.
type second struct {
	text   string
	calls  []string // name, a space, and the arguments in one form
	ended  bool
	unsure bool   // the descriptions do not state what this is
	bytes  string // the arguments of all pieces: the codec may lose and invent none
}

// plainJSON parses a value; numbers keep their spelling.
func plainJSON(raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// at follows keys and indexes.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func str(v any) string { s, _ := v.(string); return s }

func items(v any) []any { l, _ := v.([]any); return l }

// one writes a value in one form.
func one(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(b)
}

// call adds a call with arguments as a text or as a value.
func (s *second) call(name string, args any) {
	if text, isText := args.(string); isText {
		if strings.TrimSpace(text) == "" {
			args = map[string]any{}
		} else if args = plainJSON([]byte(text)); args == nil || !json.Valid([]byte(text)) {
			s.unsure = true
			return
		}
	}
	if _, isObject := args.(map[string]any); !isObject {
		s.unsure = true
		return
	}
	s.calls = append(s.calls, name+" "+one(args))
}

// readSecond reads the events of an answer.
func readSecond(dialect string, events []any, done bool) *second {
	s := &second{}
	switch dialect {
	case Chat:
		s.chat(events, done)
	case Anthropic:
		s.anthropic(events)
	case Responses:
		s.responses(events)
	case Gemini:
		s.gemini(events)
	case Ollama:
		s.ollama(events)
	case Mapped:
		s.mapped(events)
	}
	return s
}

func (s *second) chat(events []any, done bool) {
	type entry struct{ id, name, args string }
	byIndex := map[string]*entry{}
	var order []string
	var content, refusal strings.Builder
	finished := false
	for _, ev := range events {
		for _, choice := range items(at(ev, "choices")) {
			if i := at(choice, "index"); i != nil && one(i) != "0" {
				continue
			}
			delta, whole := at(choice, "delta"), at(choice, "message")
			if whole != nil {
				s.unsure = s.unsure || delta != nil || len(order) > 0 || content.Len() > 0
				delta = whole
			}
			finished = finished || str(at(choice, "finish_reason")) != ""
			s.unsure = s.unsure || at(delta, "function_call") != nil
			content.WriteString(s.part(at(delta, "content")))
			refusal.WriteString(str(at(delta, "refusal")))
			for n, c := range items(at(delta, "tool_calls")) {
				index := one(at(c, "index"))
				if at(c, "index") == nil {
					index = fmt.Sprint("n", len(order), n)
				}
				id, name, args := str(at(c, "id")), str(at(c, "function", "name")), at(c, "function", "arguments")
				text, isText := args.(string)
				if !isText && args != nil {
					text = one(args)
				}
				s.bytes += text
				e := byIndex[index]
				if e == nil {
					e = &entry{id: id, name: name}
					byIndex[index] = e
					order = append(order, index)
					s.unsure = s.unsure || name == ""
				} else if name != "" || id != "" && id != e.id || !isText && args != nil || at(c, "index") == nil {
					s.unsure = true
				}
				for other, o := range byIndex {
					s.unsure = s.unsure || other != index && id != "" && o.id == id
				}
				e.args += text
			}
			_, isList := at(delta, "tool_calls").([]any)
			s.unsure = s.unsure || at(delta, "tool_calls") != nil && !isList
		}
	}
	s.text = content.String() + refusal.String()
	for _, index := range order {
		s.call(byIndex[index].name, byIndex[index].args)
	}
	s.ended = finished || done && len(order) > 0
}

// part reads a content: a text, or parts of which some are texts.
func (s *second) part(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		text := ""
		for _, p := range v {
			text += s.part(p)
		}
		return text
	case map[string]any:
		if v["thinking"] != nil || v["reasoning"] != nil || v["reasoning_content"] != nil {
			return ""
		}
		return s.part(v["text"])
	}
	return ""
}

func (s *second) anthropic(events []any) {
	type block struct {
		index, kind, name, text, partial string
		input                            any
	}
	var blocks []*block
	closed := 0
	add := func(index string, b any) {
		blocks = append(blocks, &block{index: index, kind: str(at(b, "type")), name: str(at(b, "name")), text: str(at(b, "text")), input: at(b, "input")})
	}
	stop := ""
	for _, ev := range events {
		switch str(at(ev, "type")) {
		case "message":
			for i, b := range items(at(ev, "content")) {
				add(fmt.Sprint(i), b)
			}
			stop = str(at(ev, "stop_reason"))
		case "content_block_start":
			for _, b := range blocks {
				s.unsure = s.unsure || b.index == one(at(ev, "index"))
			}
			add(one(at(ev, "index")), at(ev, "content_block"))
		case "content_block_stop":
			closed++
		case "content_block_delta":
			for _, b := range blocks {
				if b.index == one(at(ev, "index")) {
					b.text += str(at(ev, "delta", "text"))
					b.partial += str(at(ev, "delta", "partial_json"))
					_, isText := at(ev, "delta", "partial_json").(string)
					s.unsure = s.unsure || at(ev, "delta", "partial_json") != nil && !isText
				}
			}
		case "message_delta":
			if v := str(at(ev, "delta", "stop_reason")); v != "" {
				stop = v
			}
		case "message_stop":
		}
		if str(at(ev, "type")) == "message_stop" {
			break
		}
	}
	slices.SortStableFunc(blocks, func(a, b *block) int {
		if len(a.index) != len(b.index) {
			return len(a.index) - len(b.index)
		}
		return strings.Compare(a.index, b.index)
	})
	for _, b := range blocks {
		switch b.kind {
		case "text":
			s.text += b.text
		case "tool_use":
			if b.partial != "" {
				s.bytes += b.partial
				s.call(b.name, b.partial)
				continue
			}
			s.bytes += one(b.input)
			s.call(b.name, b.input)
		}
	}
	s.ended = stop != ""
}

func (s *second) responses(events []any) {
	var list []any
	var pieces string // of the arguments of all calls, for an item that ends without its arguments
	for _, ev := range events {
		switch kind := str(at(ev, "type")); kind {
		case "response.function_call_arguments.delta":
			pieces += str(at(ev, "delta"))
		case "response.output_item.done":
			list = append(list, at(ev, "item"))
			s.unsure = s.unsure || one(at(ev, "output_index")) != fmt.Sprint(len(list)-1)
		case "response.completed", "response.incomplete", "response.done":
			s.ended = true
			if all := items(at(ev, "response", "output")); len(all) > 0 {
				s.unsure = s.unsure || len(list) > 0 && len(list) != len(all)
				list = all
			}
		default:
			if str(at(ev, "object")) == "response" {
				s.ended = true
				list = items(at(ev, "output"))
			}
		}
		if s.ended {
			break
		}
	}
	for _, it := range list {
		switch str(at(it, "type")) {
		case "message":
			s.text += str(at(it, "content"))
			for _, p := range items(at(it, "content")) {
				s.text += str(at(p, "text")) + str(at(p, "refusal"))
			}
		case "function_call":
			s.unsure = s.unsure || at(it, "arguments") == nil || str(at(it, "name")) == ""
			if at(it, "arguments") == nil {
				s.bytes += pieces
			}
			s.call(str(at(it, "name")), at(it, "arguments"))
			text, isText := at(it, "arguments").(string)
			if !isText {
				text = one(at(it, "arguments"))
			}
			s.bytes += text
		}
	}
}

// inPieces is a call with arguments in pieces; the value of $ has the others in it.
type inPieces struct {
	name   string
	args   map[string]any
	ended  map[string]bool // paths of strings
	unsure bool
}

var pathStep = regexp.MustCompile(`^(?:\.([^.\[\]'"*]+)|\['([^'"\\]+)'\]|\[(0|[1-9][0-9]{0,3})\])`)

// add sets one value. The value of a path is replaced by a longer one each time.
func (p *inPieces) add(piece any) {
	path, rooted := strings.CutPrefix(str(at(piece, "jsonPath")), "$")
	var value any
	for _, kind := range []string{"stringValue", "numberValue", "boolValue"} {
		if v := at(piece, kind); v != nil && value == nil {
			value = v
		}
	}
	if str(at(piece, "nullValue")) == "" && value == nil || !rooted || path == "" {
		p.unsure = true
		return
	}
	full := path
	steps := []any{"$"}
	for path != "" {
		m := pathStep.FindStringSubmatch(path)
		if m == nil {
			p.unsure = true
			return
		}
		if m[3] != "" {
			n, _ := strconv.Atoi(m[3])
			steps = append(steps, n)
		} else {
			steps = append(steps, m[1]+m[2])
		}
		path = path[len(m[0]):]
	}
	if p.ended == nil {
		p.ended = map[string]bool{}
	}
	before := at(p.args, steps...)
	text, isText := value.(string)
	switch {
	case p.ended[full], before != nil && !isText:
		p.unsure = true
		return
	case isText:
		value = str(before) + text
	}
	goesOn, _ := at(piece, "willContinue").(bool)
	p.ended[full] = !goesOn
	grown, fits := put(p.args, steps, value)
	if !fits {
		p.unsure = true
		return
	}
	p.args = grown.(map[string]any)
}

// put returns v with a value at a path.
func put(v any, steps []any, value any) (any, bool) {
	if len(steps) == 0 {
		return value, true
	}
	fits := false
	switch step := steps[0].(type) {
	case string:
		m, isMap := v.(map[string]any)
		if v != nil && !isMap {
			return nil, false
		}
		if m == nil {
			m = map[string]any{}
		}
		m[step], fits = put(m[step], steps[1:], value)
		return m, fits
	case int:
		l, isList := v.([]any)
		if v != nil && !isList || step > len(l) {
			return nil, false
		}
		if step == len(l) {
			l = append(l, nil)
		}
		l[step], fits = put(l[step], steps[1:], value)
		return l, fits
	}
	return nil, false
}

func (s *second) gemini(events []any) {
	var open *inPieces
	for _, ev := range events {
		s.ended = s.ended || str(at(ev, "promptFeedback", "blockReason")) != ""
		for _, c := range items(at(ev, "candidates")) {
			if i := at(c, "index"); i != nil && one(i) != "0" {
				continue
			}
			for _, p := range items(at(c, "content", "parts")) {
				if f := at(p, "functionCall"); f != nil {
					goesOn, _ := at(f, "willContinue").(bool)
					if goesOn || open != nil || at(f, "partialArgs") != nil {
						if open == nil {
							open = &inPieces{name: str(at(f, "name")), args: map[string]any{}}
						} else if at(f, "name") != nil {
							s.unsure = true
						}
						for _, piece := range items(at(f, "partialArgs")) {
							s.bytes += str(at(piece, "stringValue"))
							open.add(piece)
						}
						if !goesOn {
							s.unsure = s.unsure || open.unsure
							s.call(open.name, one(open.args["$"]))
							open = nil
						}
						continue
					}
					args := at(f, "args")
					if args == nil {
						args = map[string]any{}
					}
					s.call(str(at(f, "name")), args)
					s.bytes += one(args)
					continue
				}
				if thought, _ := at(p, "thought").(bool); !thought {
					s.text += str(at(p, "text"))
				}
			}
			s.ended = s.ended || str(at(c, "finishReason")) != ""
		}
	}
}

func (s *second) ollama(events []any) {
	for _, ev := range events {
		s.text += str(at(ev, "message", "content"))
		for _, c := range items(at(ev, "message", "tool_calls")) {
			args := at(c, "function", "arguments")
			s.call(str(at(c, "function", "name")), args)
			s.bytes += one(args)
		}
		if done, _ := at(ev, "done").(bool); done {
			s.ended = true
			return
		}
	}
}

// mapped reads the form of the item of the tests.
func (s *second) mapped(events []any) {
	type entry struct{ id, name, args string }
	var calls []*entry
	for _, ev := range events {
		s.text += str(at(ev, "delta", "text"))
		for _, c := range items(at(ev, "tools")) {
			name, args := str(at(c, "name")), at(c, "args")
			id := str(at(c, "id"))
			text, isText := args.(string)
			if !isText && args != nil {
				text = one(args)
			}
			for _, o := range calls {
				s.unsure = s.unsure || id != "" && o.id == id
			}
			if name != "" {
				calls = append(calls, &entry{id: id, name: name})
			} else if args == nil {
				continue
			}
			if len(calls) == 0 {
				s.unsure = true
				return
			}
			last := calls[len(calls)-1]
			s.unsure = s.unsure || last.args != "" && !isText || name == "" && id != ""
			last.args += text
			s.bytes += text
		}
		if done, _ := at(ev, "done").(bool); done {
			s.ended = true
			break
		}
	}
	for _, c := range calls {
		s.call(c.name, c.args)
	}
}

// differs compares a response with what the second reader found in its stream. It returns
// what differs, or "".
func differs(c *Config, stream string, r message.Response) string {
	var events []any
	done := false
	var odd oddities
	err := readEvents(strings.NewReader(stream), c.framing(), &odd, func(e httpx.Event) error {
		if string(bytes.TrimSpace(e.Data)) == doneMark {
			done = true
		}
		if done {
			return nil
		}
		// Both readers get one U+FFFD for a run of bytes that are no text.
		events = append(events, plainJSON(bytes.ToValidUTF8(e.Data, []byte("\uFFFD"))))
		return nil
	})
	if err != nil {
		return "the second reader cannot divide the stream: " + err.Error()
	}
	s := readSecond(c.Dialect, events, done)
	if !s.ended {
		return "the second reader finds no end"
	}
	var calls []string
	size := 0
	for _, b := range r.Calls() {
		if b.Dialect == textDialect {
			return "" // the calls are texts of the stream
		}
		if b.Input == nil {
			return "" // a mistake of the model, or cut: nothing of the answer runs
		}
		calls = append(calls, b.Name+" "+one(plainJSON(b.Input)))
		size += len(b.Input)
	}
	if s.unsure {
		if size > len(s.bytes)+2*len(calls) {
			return fmt.Sprintf("the calls have %d bytes of arguments, their pieces %d", size, len(s.bytes))
		}
		return ""
	}
	if r.Stop != message.StopRefusal && !slices.Equal(calls, s.calls) {
		return fmt.Sprintf("the calls are %q, for the second reader %q", calls, s.calls)
	}
	t := &thinkingText{}
	if t.feed(s.text); !t.found && r.Text() != s.text {
		return fmt.Sprintf("the text is %q, for the second reader %q", r.Text(), s.text)
	}
	return ""
}

// The second reader finds in each sample what the codec finds.
func TestSecondReader(t *testing.T) {
	for name, tc := range samples() {
		c := mustParse(t, tc.item)
		r, err := fed(c, tc.stream).Call(t.Context(), ask(tc.model), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := differs(c, tc.stream, r); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		r.Blocks = slices.DeleteFunc(r.Blocks, func(b message.Block) bool { return b.Type == message.ToolCall && b.Name == "read" })
		if differs(c, tc.stream, r) == "" {
			t.Errorf("%s: a lost call is not found", name)
		}
	}
}

type sample struct{ item, model, stream string }

func samples() map[string]sample {
	return map[string]sample{
		"anthropic": {claude, "sonnet", anthropicSample()},
		"chat":      {chat, "plain", chatSample()},
		"responses": {responses, "think", responsesSample()},
		"gemini":    {gemini, "flash", geminiSample()},
		"ollama":    {ollama, "llama", ollamaSample()},
		"mapped":    {mapped, "m", strings.TrimSuffix(mappedSample(), "\n[DONE]\n")},
	}
}

// TestMixedStreams changes the streams as services, gateways and networks do: events are
// lost, come twice or in another order, and indexes, ids, names and types change. No codec
// reads otherwise than the second reader.
func TestMixedStreams(t *testing.T) {
	rounds := 800
	if testing.Short() {
		rounds = 80
	}
	for name, tc := range samples() {
		c := mustParse(t, tc.item)
		rnd := rand.New(rand.NewPCG(1, 2))
		read := 0
		for range rounds {
			stream := mixed(rnd, tc.stream, c.framing())
			r, err := fed(c, stream).Call(t.Context(), ask(tc.model), nil)
			if err != nil {
				continue
			}
			read++
			if d := differs(c, stream, r); d != "" {
				t.Fatalf("%s: %s\n%s", name, d, stream)
			}
		}
		if read == 0 || read == rounds {
			t.Errorf("%s: %d of %d streams were read", name, read, rounds)
		}
	}
}

// mixed returns a stream with one to three changes.
func mixed(rnd *rand.Rand, stream string, framing httpx.Framing) string {
	end := "\n"
	if framing == httpx.SSE {
		end = "\n\n"
	}
	events := strings.SplitAfter(strings.TrimSuffix(stream, end)+end, end)
	events = events[:len(events)-1] // the last one is empty
	changes := [][2]string{
		{`"index":0`, `"index":1`}, {`"index":1`, `"index":0`}, {`"index":3`, `"index":2`}, {`"output_index":2`, `"output_index":1`}, {`"t1"`, `"t2"`}, {`"t2"`, `"t1"`},
		{`"id":"t1"`, `"id":""`}, {`"name":"read"`, `"name":"list"`}, {`"name":"read",`, ``}, {`"name":"list"`, `"name":""`}, {`"arguments":""`, `"arguments":null`},
		{`"arguments":""`, `"arguments":{}`}, {`"args":""`, `"args":{}`}, {`"input":{}`, `"input":{"n":1}`}, {`"content":"ü."`, `"content":["ü.",{"text":"!"}]`}, {`"index":`, `"no":`},
		{`"delta":{"tool_calls"`, `"delta":{"content":"x","tool_calls"`}, {`"tool_calls":[`, `"tool_calls":[{"index":0,"function":{"arguments":""}},`}, {`"finish_reason":null`, `"finish_reason":"stop"`},
	}
	for range 1 + rnd.IntN(3) {
		i, j := rnd.IntN(len(events)), rnd.IntN(len(events))
		switch rnd.IntN(5) {
		case 0:
			events = slices.Delete(slices.Clone(events), i, i+1)
		case 1:
			events = slices.Insert(slices.Clone(events), j, events[i])
		case 2:
			events[i], events[j] = events[j], events[i]
		default:
			with := changes[rnd.IntN(len(changes))]
			all := strings.Join(events, "")
			if n := strings.Count(all, with[0]); n > 0 { // one of its occurrences
				parts := strings.SplitN(all, with[0], rnd.IntN(n)+2)
				all = strings.Join(parts[:len(parts)-1], with[0]) + with[1] + parts[len(parts)-1]
			}
			events = strings.SplitAfter(all, end)
			events = events[:len(events)-1]
		}
		if len(events) == 0 {
			break
		}
	}
	return strings.Join(events, "")
}
