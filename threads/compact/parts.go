package compact

import (
	"fmt"
	"strings"

	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/threads/message"
)

// Readable returns a conversation as texts that a person or a model reads, one for each text,
// call and result. A result that is longer than most tokens loses its middle; 0 keeps all.
func Readable(messages []message.Message, most int64) (out []string) {
	for _, m := range messages {
		for _, b := range m.Blocks {
			switch b.Type {
			case message.Text:
				out = append(out, string(m.Role)+": "+b.Text)
			case message.ToolCall:
				out = append(out, "call "+b.Name+": "+string(b.Input)+b.InvalidInput)
			case message.ToolResult:
				out = append(out, result(&b, most))
			case message.Image, message.File:
				out = append(out, named(&b))
			}
		}
	}
	return out
}

func result(b *message.Block, most int64) string {
	kind := "result: "
	if b.IsError {
		kind = "failed: "
	}
	var parts []string
	for _, c := range b.Content {
		if c.Type == message.Text {
			parts = append(parts, middleCut(c.Text, most*bytesPerToken))
			continue
		}
		parts = append(parts, named(&c))
	}
	return kind + strings.Join(parts, "\n")
}

func named(b *message.Block) string {
	return fmt.Sprintf("[%s]", strings.TrimSpace(strings.Join(
		[]string{string(b.Type), b.MediaType, b.Name, b.Artifact},
		" ",
	)))
}

// bytesPerToken is the estimate of rye for text.
const bytesPerToken = 4

// Tokens estimates the tokens of a text.
func Tokens(s string) int64 {
	return int64(len(s)+bytesPerToken-1) / bytesPerToken
}

func middleCut(s string, most int64) string {
	if most <= 0 || int64(len(s)) <= most {
		return s
	}
	half := int(most / 2)
	return cuttext.Start(s, half) + "\n[…]\n" + strings.ToValidUTF8(
		s[len(s)-half:],
		"",
	)
}

// Parts joins texts to parts of at most so many tokens, in their order. A longer text is
// divided, at the end of a line if there is one in its second half. No byte is lost.
func Parts(texts []string, tokens int64) (out []string) {
	most := int(max(tokens, 1) * bytesPerToken)
	part := ""
	for _, text := range texts {
		text += "\n\n"
		if part != "" && len(part)+len(text) > most {
			out = append(out, part)
			part = ""
		}
		for len(text) > most {
			piece := cuttext.Start(text, most)
			if at := strings.LastIndexByte(piece, '\n') + 1; at > most/2 {
				piece = piece[:at]
			}
			if piece == "" {
				piece = text // a character that is longer than a part
			}
			out = append(out, piece)
			text = text[len(piece):]
		}
		part += text
	}
	if strings.TrimSpace(part) != "" {
		out = append(out, part)
	}
	return out
}
