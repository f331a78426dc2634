package provider

import (
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/threads/message"
)

// defaultImageTokens are more than the services count for one image of the sizes that they
// accept: the limit of a provider whose item has no images.
const defaultImageTokens = 8192

// minImageTokens are what services count for the smallest image: some divide every image into
// tiles.
const minImageTokens = 300

// bytesPerAudioToken is the length of a token of a sound in bytes: less than services count
// for the lowest quality that people record.
const bytesPerAudioToken = 60

// The kinds of input that a block can be.
const (
	imageInput = "image"
	pdfInput   = "pdf"
	audioInput = "audio"
)

// kindOf returns the kind of input of a block, "" for one that every model takes.
func kindOf(b message.Block) string {
	switch {
	case b.Type == message.Image:
		return imageInput
	case b.Type == message.File && b.MediaType == "application/pdf":
		return pdfInput
	case b.Type == message.File && strings.HasPrefix(b.MediaType, "audio/"):
		return audioInput
	}
	return ""
}

// apart returns the text of a result, and its images and files for the message after it, below a
// line that states whose they are: several results of one answer can have some.
func apart(b message.Block) (text string, rest []message.Block) {
	text = joined(b.Content, "\n")
	for _, inner := range b.Content {
		if inner.IsMedia() {
			rest = append(rest, inner)
		}
	}
	if len(rest) == 0 {
		return text, nil
	}
	if text == "" {
		text = "[the result is in the next message]" // services refuse an empty text
	}
	return text, append(
		[]message.Block{message.TextBlock("[of the result of " + b.CallID + "]")},
		rest...,
	)
}

// Inputs returns the kinds of input that a model takes and that the dialect can write.
func (c *Config) Inputs(m *Model) []string {
	out := []string{}
	for _, kind := range m.Input {
		if kind == "text" || c.writes(kind) {
			out = append(out, kind)
		}
	}
	return out
}

// writes reports whether requests of the dialect can have a kind of input.
func (c *Config) writes(kind string) bool {
	switch c.Dialect {
	case Anthropic, Responses:
		return kind == imageInput || kind == pdfInput
	case Ollama:
		return kind == imageInput
	case Chat, Gemini:
		return true
	}
	return false // a mapped request and the input of a program are texts
}

// CheckMedia returns an error if a model does not take an image or a file.
func (c *Config) CheckMedia(m *Model, b *message.Block) error {
	kind := kindOf(*b)
	size := max(b.Bytes, int64(len(b.Data)))
	switch {
	case kind == "":
		return nil
	case !m.Accepts(kind):
		return diag.New(
			diag.ValidationFailed,
			"calling %s: the model %s takes %s, not %s",
			c.ID,
			m.ID,
			strings.Join(m.Input, ", "),
			kind,
		)
	case !c.writes(kind):
		return diag.New(diag.ValidationFailed, "calling %s: requests in the dialect %s cannot have %s", c.ID, c.Dialect, kind)
	case kind == imageInput && size > m.Images.MaxBytes:
		return diag.New(diag.TooLarge, "calling %s: an image has %d bytes, and the model %s takes at most %d", c.ID, size, m.ID, m.Images.MaxBytes)
	}
	return nil
}

// CheckInput returns an error if a message has a kind of input that the model does not take, or
// an image without its content.
func (c *Config) CheckInput(req message.Request) error {
	m, err := c.Model(req.Model)
	if err != nil {
		return err
	}
	var check func(blocks []message.Block) error
	check = func(blocks []message.Block) error {
		for i := range blocks {
			b := &blocks[i]
			if b.IsMedia() && len(b.Data) == 0 && b.Artifact != "" {
				return diag.New(diag.Internal, "calling %s: the content of the artifact %s is missing in the request", c.ID, b.Artifact)
			}
			if err := c.CheckMedia(m, b); err != nil {
				return err
			}
			if err := check(b.Content); err != nil {
				return err
			}
		}
		return nil
	}
	for _, msg := range req.Messages {
		if err := check(msg.Blocks); err != nil {
			return err
		}
	}
	return nil
}

// MediaTokens returns the tokens that are reserved for an image, a PDF file or a sound.
func (m *Model) MediaTokens(b *message.Block) int64 {
	size := max(b.Bytes, int64(len(b.Data)))
	switch kindOf(*b) {
	case imageInput:
		pixels := int64(b.Width) * int64(b.Height)
		if pixels <= 0 {
			return m.Images.MaxTokens
		}
		tokens := (pixels + m.Images.PixelsPerToken - 1) / m.Images.PixelsPerToken
		return min(max(tokens, minImageTokens), m.Images.MaxTokens)
	case pdfInput:
		return max(int64(b.Pages), 1) * m.Images.PageTokens
	case audioInput:
		return size/bytesPerAudioToken + 1
	}
	return 0
}

// mediaOf returns the tokens of the images and files of a request, and the bytes that the
// content of them has in base64.
func (m *Model) mediaOf(req message.Request) (tokens, size int64) {
	var count func(blocks []message.Block)
	count = func(blocks []message.Block) {
		for i := range blocks {
			b := &blocks[i]
			if kindOf(*b) != "" { // other files are texts of the request
				tokens += m.MediaTokens(b)
				size += int64((len(b.Data) + 2) / 3 * 4)
			}
			count(b.Content)
		}
	}
	for _, msg := range req.Messages {
		count(msg.Blocks)
	}
	return tokens, size
}
