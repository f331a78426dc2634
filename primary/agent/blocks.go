package agent

import (
	"encoding/base64"
	"encoding/json"
	"path"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/resulttext"
	"github.com/ryeos/rye/primary"
	"github.com/ryeos/rye/threads/message"
)

// Result is the outcome of a call, from Do or Ran.
type Result struct {
	*diag.Envelope
	// PageBytes is the length of the longest page: a part of a file in lines ends with the
	// last line that fits, and its note names the next one. 0 is no bound.
	PageBytes int
}

// IsPage reports whether a model reads the result in pages: it is a part of a file.
func (r Result) IsPage() bool {
	p, isTool := r.Data.(presented)
	return r.Error == nil && isTool && !p.foreign && resulttext.IsPage(p.whole)
}

// Blocks returns a result as a model reads it, and as a program reads it: the data as the
// tool returned them. It is the one conversion for calls of threads, whichever way they
// reach a tool.
func Blocks(env Result) (blocks []message.Block, data any) {
	p, isTool := env.Data.(presented)
	data = env.Data
	if isTool {
		data = p.whole
	}
	switch {
	case env.Error != nil:
		blocks = []message.Block{message.TextBlock(failureText(env.Error))}
		if isTool {
			blocks = append(blocks, p.media()...)
		}
	case isTool && p.foreign:
		blocks = p.contentBlocks()
	case isTool && env.IsPage() && env.PageBytes > 0:
		blocks = []message.Block{message.TextBlock(resulttext.Text(resulttext.Fit(p.whole, env.PageBytes)))}
	case isTool:
		blocks = append(
			[]message.Block{message.TextBlock(resulttext.Text(p.shown))},
			p.media()...,
		)
	default:
		blocks = []message.Block{message.TextBlock(resulttext.Text(env.Data))}
	}
	return blocks, data
}

// Ran returns the outcome of a run of a tool as Do returns it.
func Ran(call primary.Call, run *primary.Run, err error) *diag.Envelope {
	env := &diag.Envelope{Data: present(toolOf(run), run.Data, interleaved(call))}
	if err != nil {
		return failedRun(presentError(toolOf(run), err), env)
	}
	env.Success = true
	return env
}

// failedRun returns the envelope of a call that failed with an envelope.
func failedRun(err error, env *diag.Envelope) *diag.Envelope {
	out := failed(err, env.Metadata)
	if p, ok := env.Data.(presented); ok {
		p.data = nil // the error has it
		out.Data = p
	}
	return out
}

// failureText returns an error as a model reads it, without what it knows: which item it
// called.
func failureText(f *diag.Failure) string {
	shown := presentable(f, "")
	code := string(f.Code)
	details, err := generic(f.Details)
	facts, _ := details.(map[string]any)
	if err != nil {
		facts = nil
	}
	if schema, ok := f.Details["schema"].(json.RawMessage); ok {
		facts["schema"] = schema // in the order of its item
		shown.Suggestion = ""    // the schema is part of the text
	}
	message := shown.Message
	if rest, found := strings.CutPrefix(message, "running "); found {
		_, after, found := strings.Cut(rest, ": ")
		if found && strings.HasPrefix(rest, "tool:") {
			message = after
		}
	}
	hint := verbNames().Replace(shown.Suggestion)
	switch {
	case shown.Suggestion == classSuggestion(diag.ClassFailed):
		hint = "" // the text states it
	case f.Code == diag.PermissionDenied && strings.Contains(shown.Suggestion, SettingsID):
		hint = "inform the person if the task needs it" // that setting is for clients of rye serve
	}
	return resulttext.Failure(resulttext.Problem{
		Code:    code,
		Message: message,
		Hint:    hint,
		Details: facts,
	})
}

// verbNames replaces the names of the verbs in suggestions by the names of the tools of a
// thread.
func verbNames() *strings.Replacer {
	var pairs []string
	for _, name := range Names() {
		pairs = append(pairs, "call "+name+" ", "call rye_"+name+" ")
	}
	return strings.NewReplacer(pairs...)
}

// contentBlocks returns the content of an MCP server's result in its order.
func (p *presented) contentBlocks() []message.Block {
	var blocks []message.Block
	var texts []string
	flush := func() {
		if len(texts) > 0 {
			blocks = append(blocks, message.TextBlock(strings.Join(texts, "\n")))
			texts = nil
		}
	}
	rest := map[string]any{}
	for k, v := range p.data {
		if k != "content" {
			rest[k] = v
		}
	}
	list, _ := p.data["content"].([]any)
	for _, c := range list {
		m, _ := c.(map[string]any)
		n, isBlock := m["block"].(int64)
		switch {
		case isBlock && n > 0 && int(n) <= len(p.blocks):
			b := p.block(n - 1)
			if b.Type == message.Text {
				texts = append(texts, b.Text)
				continue
			}
			flush()
			blocks = append(blocks, b)
		case m["type"] == "text":
			text, _ := m["text"].(string)
			texts = append(texts, text)
		default:
			texts = append(texts, resulttext.Text(c))
		}
	}
	if structured, has := rest["structuredContent"]; has && len(rest) == 1 {
		texts = append(texts, resulttext.Text(structured))
	} else if len(rest) > 0 {
		texts = append(texts, resulttext.Text(rest))
	}
	flush()
	if len(blocks) == 0 {
		return []message.Block{message.TextBlock(resulttext.Text(map[string]any{}))}
	}
	return blocks
}

// media returns the images, sounds and files of a result.
func (p *presented) media() []message.Block {
	var out []message.Block
	for i := range p.blocks {
		b := p.block(int64(i))
		if b.Type != message.Text {
			out = append(out, b)
		}
	}
	return out
}

// block returns a block of the result, with the name of the file that a tool states.
func (p *presented) block(i int64) message.Block {
	b := blockFrom(p.blocks[i])
	m, _ := p.whole.(map[string]any)
	name, _ := m["file_path"].(string)
	if b.IsMedia() && name != "" {
		b.Name = path.Base(name)
	}
	b.Prepared = p.prepared
	return b
}

// blockFrom returns a block of MCP content as one of a message: an image, a file, or a text
// for a link and a resource that is a text.
func blockFrom(raw json.RawMessage) message.Block {
	var c struct {
		Type     string `json:"type"`
		Data     []byte `json:"data"`
		MIMEType string `json:"mimeType"`
		URI      string `json:"uri"`
		Name     string `json:"name"`
		Resource struct {
			URI      string  `json:"uri"`
			MIMEType string  `json:"mimeType"`
			Text     *string `json:"text"`
			Blob     string  `json:"blob"`
		} `json:"resource"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return message.TextBlock(string(raw))
	}
	switch {
	case c.Type == "image":
		return message.Block{Type: message.Image, MediaType: c.MIMEType, Data: c.Data}
	case c.Type == "audio":
		return message.Block{Type: message.File, MediaType: c.MIMEType, Data: c.Data}
	case c.Type == "resource" && c.Resource.Text != nil:
		return message.TextBlock("[resource " + c.Resource.URI + "]\n" + *c.Resource.Text)
	case c.Type == "resource":
		data, err := base64.StdEncoding.DecodeString(c.Resource.Blob)
		if err == nil {
			return message.Block{
				Type:      message.File,
				MediaType: c.Resource.MIMEType,
				Name:      path.Base(c.Resource.URI),
				Data:      data,
			}
		}
	}
	link, _ := jsonx.Marshal(map[string]any{"name": c.Name, "uri": c.URI, "mimeType": c.MIMEType}) // texts
	return message.TextBlock("[link " + string(link) + "]")
}
