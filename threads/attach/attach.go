// Package attach reads the images and files that a person attaches to a thread, and those
// that inputs of a directive name, and has images prepared by a tool in a process of its own.
//
// It decodes no image, decides about no path of a model, and writes nothing: package threads
// stores what it returns.
package attach

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/media"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/threads/message"
)

// Tool is the id of the tool that prepares an image.
const Tool = "rye/agent/media/prepare"

// The limits of the attachments of one thread.
const (
	Max      = 16
	MaxBytes = 15_000_000 // together, as they are sent
	maxText  = 256 << 10  // of a file that is a text
)

// Run runs Tool with parameters and returns its result.
type Run func(ctx context.Context, params map[string]any) (map[string]any, error)

// Read reads a file of a person. Links are followed; a device or a pipe is an error. A text
// becomes a block of text.
func Read(path string) (message.Block, error) {
	b, err := read(path)
	return b, Refused(err)
}

// Refused returns the error of a file that cannot be attached. A file that is too large is not one
// whose bytes are wrong, which TOO_LARGE means for an item.
func Refused(err error) error {
	if diag.CodeOf(err) != diag.TooLarge {
		return err
	}
	e := *diag.Typed(err)
	e.Code = diag.ValidationFailed
	e.Reason = "attachment_size"
	return &e
}

func read(path string) (message.Block, error) {
	name := filepath.Base(path)
	data, err := openat.ReadRegular(path, media.MaxImageBytes)
	if err != nil {
		code := diag.CodeOf(err)
		if code == "" {
			code = diag.FileSystemError
		}
		return message.Block{}, diag.New(code, "attaching %q: %w", path, err)
	}
	if media.Recognise(data) == "" {
		return textOf(name, path, data)
	}
	info, err := media.Check(name, data)
	if err != nil {
		return message.Block{}, diag.Doing(fmt.Sprintf("attaching %q", path), err)
	}
	return Block(name, info.Type, data), nil
}

// textOf returns a file that is a text.
func textOf(name, path string, data []byte) (message.Block, error) {
	switch {
	case !utf8.Valid(data) || strings.ContainsRune(string(data), 0):
		return message.Block{}, diag.New(diag.ValidationFailed, "attaching %q: it is not a PNG, JPEG, GIF, WebP, PDF or audio file, and not a text", path)
	case len(data) > maxText:
		return message.Block{}, diag.New(diag.TooLarge, "attaching %q: a text of %d bytes, more than %d", path, len(data), maxText)
	}
	return Text(name, string(data)), nil
}

// Text returns the text of a file in an element whose name its content cannot have.
func Text(name, text string) message.Block {
	element := "file-" + message.ArtifactID([]byte(text))[:16]
	for strings.Contains(text, element) {
		element += "x"
	}
	attribute := strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;", "\n", " ").Replace(name)
	return message.TextBlock(
		"<" + element + ` name="` + attribute + "\">\n" + strings.TrimRight(text, "\n") + "\n</" + element + ">",
	)
}

// Block returns the content of an image or a file as a block.
func Block(name, mediaType string, data []byte) message.Block {
	b := message.Block{
		Type:      message.File,
		MediaType: mediaType,
		Name:      name,
		Data:      data,
	}
	if media.IsImage(mediaType) {
		b.Type = message.Image
	}
	return b
}

// ForModel returns a block as a model gets it. What its sender states about the type does not
// matter: the content decides.
func ForModel(ctx context.Context, run Run, b message.Block) (message.Block, error) {
	name := b.Name
	if name == "" {
		name = "image"
	}
	if b.Prepared {
		return Ready(b.Name, b.MediaType, b.Data)
	}
	info, err := media.Check(name, b.Data)
	if err != nil {
		return b, err
	}
	if !media.IsImage(info.Type) {
		out := Block(b.Name, info.Type, b.Data)
		out.Pages = info.Pages
		out.Prepared = true
		return out, nil
	}
	data, err := run(ctx, map[string]any{"name": name, "data": base64.StdEncoding.EncodeToString(b.Data)})
	if err != nil {
		return b, err
	}
	text, _ := data["data"].(string)
	mediaType, _ := data["media_type"].(string)
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(content) == 0 {
		return b, diag.New(diag.ExecutionFailed, "preparing %q: the result of %s has no data", name, Tool)
	}
	return Ready(b.Name, mediaType, content)
}

// Ready returns the block of an image that was prepared. Its header is read again: the process
// that decoded it is not trusted to state its dimensions.
func Ready(name, mediaType string, content []byte) (message.Block, error) {
	info, err := media.Check(name, content)
	if err != nil {
		return message.Block{}, err
	}
	b := Block(name, info.Type, content)
	tooLarge := info.Width > media.MaxEdge ||
		info.Height > media.MaxEdge ||
		len(content) > media.MaxPrepared
	if media.IsImage(info.Type) && (tooLarge || info.Type != mediaType) {
		return b, diag.New(diag.ExecutionFailed, "preparing %q: the result is not a prepared image", name)
	}
	b.Width = info.Width
	b.Height = info.Height
	b.Pages = info.Pages
	b.Prepared = true
	return b, nil
}

// FromContent returns the file in the result of rye/file-system/read, which has prepared it.
func FromContent(name string, result map[string]any) (message.Block, error) {
	raw, err := jsonx.Marshal(result["content"])
	var content []media.MCP
	if err == nil {
		err = json.Unmarshal(raw, &content)
	}
	if err != nil || len(content) != 1 {
		return message.Block{}, diag.New(diag.ExecutionFailed, "reading %q: the result has no content", name)
	}
	encoded := content[0].Data
	mediaType := content[0].MIMEType
	if from := content[0].Resource; from != nil {
		encoded = from.Blob
		mediaType = from.MIMEType
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return message.Block{}, diag.New(diag.ExecutionFailed, "reading %q: the content is not base64", name)
	}
	return Ready(name, mediaType, data)
}

// All prepares the attachments of a thread, and applies the limits before a model is called.
// check returns an error for one that the model does not read; nil accepts all.
func All(
	ctx context.Context,
	run Run,
	blocks []message.Block,
	check func(*message.Block) error,
) ([]message.Block, error) {
	if len(blocks) > Max {
		return nil, diag.New(diag.ValidationFailed, "attaching files: there are %d, and at most %d are permitted", len(blocks), Max).
			WithDetail("count", len(blocks)).WithDetail("max", Max)
	}
	var out []message.Block
	size := 0
	for i, b := range blocks {
		var err error
		if b.IsMedia() && check != nil {
			kind := b // it has the size of the person's file
			kind.Data = nil
			err = check(&kind)
		}
		if err == nil && b.IsMedia() && !b.Prepared {
			b, err = ForModel(ctx, run, b)
		}
		if err == nil && b.IsMedia() && check != nil {
			err = check(&b)
		}
		if err != nil {
			return nil, Refused(diag.Doing(fmt.Sprintf("attaching file %d, %q", i+1, b.Name), err))
		}
		if size += len(b.Data); size > MaxBytes {
			return nil, Refused(diag.New(diag.TooLarge, "attaching files: together they have more than %d bytes", MaxBytes))
		}
		out = append(out, b)
	}
	return out, nil
}
