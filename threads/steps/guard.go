package steps

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/threads/compact"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// artifactWidth is the length of the longest line of an artifact in characters.
const artifactWidth = 1500

// noteBytes are left for the notes about what is missing.
const noteBytes = 400

// Guarded is a result as the model reads it.
type Guarded struct {
	CallID   string          `json:"call_id"`
	Ref      string          `json:"ref,omitempty"`
	IsError  bool            `json:"is_error"`
	Content  []message.Block `json:"content"`
	Bytes    int64           `json:"bytes"` // of the complete result
	Cut      bool            `json:"cut"`
	Artifact string          `json:"artifact,omitempty"` // the id of the whole
	SameAs   string          `json:"same_as,omitempty"`  // the call whose result is the same
}

// StoredArtifact is a complete result for the artifacts of a thread.
type StoredArtifact struct {
	ID     string `json:"id"` // the SHA-256 of the text in hex
	Ext    string `json:"ext"`
	Text   string `json:"text"`
	CallID string `json:"call_id"`
}

// guardParams are the parameters of result_guard.
// The call itself cuts a result, before tool_result is recorded: a later node would need a
// second record of what the model reads.
type guardParams struct {
	Results []struct {
		Result
		ResultTokens int64 `json:"result_tokens"` // of the item; 0 is the default
		Page         bool  `json:"page"`          // a part of a text that fits: it is not cut
	} `json:"results"`
	Accepts []string `json:"accepts"` // kinds of input of the model
}

type guardResult struct {
	Results   []Guarded        `json:"results"`
	Artifacts []StoredArtifact `json:"artifacts"`
}

// resultGuard cuts results to what the model reads. The whole of a longer one is an
// artifact, and a long one that was sent before is a reference to the earlier call.
//
// Params: {results: [Result with result_tokens and page], accepts}. Result: {results: [Guarded],
// artifacts: [StoredArtifact]}.
//
// Line numbers and metadata of results stay: edit_lines and rye_artifact need them.
func resultGuard(ctx context.Context, in Input) (Output, error) {
	p, err := params[guardParams]("result_guard", in)
	if err != nil {
		return Output{}, err
	}
	cfg, err := config(ctx, in.Services, ResilienceConfig, ReadResilience)
	if err != nil {
		return Output{}, err
	}
	note, err := text(
		ctx,
		in.Services,
		"cut_result",
		"lines",
		"\x00",
		"first",
		"\x01",
		"last",
		"\x02",
		"total",
		"\x03",
		"call",
		"\x04",
	)
	if err != nil {
		return Output{}, err
	}
	if !strings.Contains(note, "\x04") {
		note += "\n\x04" // a text of a project that does not name the call
	}
	omitted, err := text(ctx, in.Services, "omitted_block", "type", "\x00", "name", "\x01")
	if err != nil {
		return Output{}, err
	}
	g := &guard{
		cfg:     cfg,
		usage:   in.Usage,
		note:    note,
		omitted: omitted,
		accepts: p.Accepts,
		lines:   in.Conversation,
	}
	results := []Guarded{}
	stored := []StoredArtifact{}
	for _, r := range p.Results {
		budget := cfg.Budget(in.Usage, r.ResultTokens, r.Page)
		if r.Page {
			budget = math.MaxInt32
		}
		out, a, err := g.result(&r.Result, budget)
		if err != nil {
			return Output{}, err
		}
		results = append(results, out)
		if a != nil {
			stored = append(stored, *a)
		}
	}
	return done(guardResult{results, stored})
}

type guard struct {
	cfg           Resilience
	usage         Usage
	note, omitted string
	accepts       []string
	lines         []transcript.Line // of the conversation before
	sent          map[string]string // content -> the call that has it; nil: not collected yet
}

// earlier collects the long results that the model has. A conversation has many results, and
// most turns have no long one that could be equal to an earlier one: it is called for the first.
func (g *guard) earlier() error {
	if g.sent != nil {
		return nil
	}
	g.sent = map[string]string{}
	for i := range g.lines {
		l := &g.lines[i]
		switch l.Event {
		case "tool_result":
			// The content is not longer than the JSON that has it.
			if !g.isLong(len(l.Data)) {
				continue
			}
			var r toolResult
			if err := decode(l, &r); err != nil {
				return err
			}
			g.remember(r.CallID, r.Content)
		case "context_compacted":
			if err := g.forget(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// isLong reports whether a result of so many bytes is sent only once.
func (g *guard) isLong(bytes int) bool {
	return tokens(bytes) > g.cfg.SameAsTokens
}

// forget removes the results that the model does not read any more.
func (g *guard) forget(l *transcript.Line) error {
	var d struct {
		Step    string `json:"step"`
		Results []struct {
			CallID string `json:"call_id"`
		} `json:"results"`
	}
	if err := decode(l, &d); err != nil {
		return err
	}
	if d.Step == compact.Summary {
		clear(g.sent) // digests of the turns that stay, too: they are few
	}
	for _, r := range d.Results {
		maps.DeleteFunc(g.sent, func(_, call string) bool {
			return call == r.CallID
		})
	}
	return nil
}

func (g *guard) remember(id string, content []message.Block) {
	key := g.key(content)
	if key != "" && g.sent[key] == "" {
		g.sent[key] = id
	}
}

// key identifies the content of a result that is long enough to be sent once; "" for
// others.
func (g *guard) key(content []message.Block) string {
	if !g.isLong(int(size(content))) {
		return ""
	}
	b, err := json.Marshal(content)
	if err != nil {
		return "" // a block of an unknown type is equal to none
	}
	return item.DigestOf(b).String()
}

func size(content []message.Block) int64 {
	var n int64
	for _, b := range content {
		n += int64(len(b.Text) + len(b.Data))
	}
	return n
}

// result returns a result in at most budget tokens.
func (g *guard) result(r *Result, budget int64) (Guarded, *StoredArtifact, error) {
	out := Guarded{
		CallID:  r.CallID,
		Ref:     r.Ref,
		IsError: r.IsError,
		Bytes:   size(r.Content),
		Content: g.readable(r.Content),
	}
	var stored *StoredArtifact
	if n := textBytes(out.Content); tokens(n) > budget {
		stored = g.cut(&out, int(budget)*4)
	}
	key := g.key(out.Content)
	if key == "" {
		return out, stored, nil
	}
	if err := g.earlier(); err != nil {
		return Guarded{}, nil, err
	}
	first := g.sent[key]
	if first != "" && first != r.CallID {
		out.SameAs = first
		b, _ := jsonx.Marshal(map[string]any{"same_as": first}) // a text
		out.Content = []message.Block{message.TextBlock(string(b))}
		return out, nil, nil
	}
	if first == "" {
		g.sent[key] = r.CallID
	}
	return out, stored, nil
}

func textBytes(content []message.Block) int {
	n := 0
	for _, b := range content {
		n += len(b.Text)
	}
	return n
}

// readable returns the blocks that the model reads, with a note for each other one.
func (g *guard) readable(content []message.Block) []message.Block {
	out := []message.Block{}
	for _, b := range content {
		kind := string(b.Type)
		if b.MediaType == "application/pdf" {
			kind = "pdf"
		}
		if b.Type == message.Text ||
			slices.Contains(g.accepts, kind) ||
			b.Type == message.File && kind != "pdf" && strings.HasPrefix(b.MediaType, "text/") {
			out = append(out, b)
			continue
		}
		name := b.Name
		if b.Artifact != "" {
			name += " " + b.Artifact
		}
		note := strings.NewReplacer(
			"\x00",
			b.MediaType,
			"\x01",
			strings.TrimSpace(name),
		).Replace(g.omitted)
		if strings.TrimSpace(name) == "" {
			note = strings.Replace(note, b.MediaType+" :", b.MediaType+":", 1)
		}
		last := len(out) - 1
		if last >= 0 && out[last].Type == message.Text {
			out[last] = message.TextBlock(out[last].Text + "\n" + note)
			continue
		}
		out = append(out, message.TextBlock(note))
	}
	return out
}

// cut keeps the first and the last lines of the texts of a result. The lines between them
// are exactly those that the call in the note reads.
func (g *guard) cut(out *Guarded, budget int) *StoredArtifact {
	var whole strings.Builder
	var others []message.Block
	for _, b := range out.Content {
		if b.Type != message.Text {
			others = append(others, b)
			continue
		}
		if whole.Len() > 0 {
			whole.WriteString("\n")
		}
		whole.WriteString(b.Text)
	}
	left := max(budget-noteBytes, budget/2)
	// A line has at most four bytes for each character, so that at least one line fits.
	text, ext := artifactText(whole.String(), min(artifactWidth, max(left/8, 1)))
	id := item.DigestOf([]byte(text)).Hex()
	m := cuttext.Measure(cuttext.Bytes)
	head, lines := m.First(text, left*2/3)
	tail := m.Last(text[len(head):], left-len(head))
	total := lineCount(text)
	missing := total - lines - lineCount(tail)
	if missing <= 0 { // JSON that is shorter in lines than as it came
		out.Content = append([]message.Block{message.TextBlock(text)}, others...)
		return nil
	}
	call, _ := jsonx.Marshal(map[string]any{"id": id, "offset": int64(lines), "limit": int64(missing)}) // texts and numbers
	middle := strings.NewReplacer(
		"\x00", strconv.Itoa(missing), "\x01", strconv.Itoa(lines+1), "\x02", strconv.Itoa(lines+missing), "\x03", strconv.Itoa(total),
		"\x04", ArtifactTool+" "+string(call),
	).Replace(g.note)
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	shown := strings.TrimRight(head+middle+"\n"+tail, "\n")
	out.Content = append([]message.Block{message.TextBlock(shown)}, others...)
	out.Cut = true
	out.Artifact = id
	return &StoredArtifact{
		ID:     id,
		Ext:    ext,
		Text:   text,
		CallID: out.CallID,
	}
}

func lineCount(s string) int {
	if s == "" {
		return 0
	}
	return strings.Count(strings.TrimSuffix(s, "\n"), "\n") + 1
}

// artifactText returns a result in lines of at most width characters, which can be read
// one by one.
func artifactText(s string, width int) (text, ext string) {
	if doc, ok := cuttext.Indent(s, width); ok {
		return doc, ".json"
	}
	wrapped, _ := cuttext.Wrap(s, width)
	return wrapped, ".txt"
}

// resolveSame returns the content that a result refers to by same_as.
func resolveSame(lines []transcript.Line, content []message.Block) ([]message.Block, error) {
	if len(content) != 1 ||
		content[0].Type != message.Text ||
		!strings.HasPrefix(content[0].Text, `{"same_as":`) {
		return content, nil
	}
	var same struct {
		ID string `json:"same_as"`
	}
	if json.Unmarshal([]byte(content[0].Text), &same) != nil {
		return content, nil
	}
	for i := range lines {
		if lines[i].Event != "tool_result" {
			continue
		}
		var r toolResult
		if err := decode(&lines[i], &r); err != nil {
			return nil, err
		}
		if r.CallID == same.ID {
			return r.Content, nil
		}
	}
	return content, nil
}
