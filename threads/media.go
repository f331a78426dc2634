package threads

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/media"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/threads/message"
	"github.com/ryeos/rye/threads/transcript"
)

// maxResultMedia is the largest number of images and files of one result: each is decoded in
// a process of its own.
const maxResultMedia = 16

// maxRequestMedia is the length of all images and files of one request in bytes: 20 MB in
// base64, the limit of a service for a whole request.
const maxRequestMedia = 15_000_000

// mediaFile returns the path of the artifact of a block below the directory of a thread.
func mediaFile(b *message.Block) string {
	return transcript.ArtifactsDir + "/" + b.Artifact + media.Extension(b.MediaType)
}

// kept returns blocks as the log has them: the content of each image and file is prepared and
// becomes an artifact of the thread, which the block names. In place of content that cannot
// be prepared is a note for the model.
func (t *Thread) kept(ctx context.Context, blocks []message.Block) ([]message.Block, error) {
	if !slices.ContainsFunc(blocks, isNew) {
		return blocks, nil
	}
	out := slices.Clone(blocks)
	count := 0
	for i := range out {
		b := &out[i]
		var err error
		switch {
		case b.Type == message.ToolResult:
			b.Content, err = t.kept(ctx, b.Content)
		case !isNew(*b):
		case isText(b):
			*b = message.TextBlock(string(b.Data))
		case count == maxResultMedia:
			*b = omitted(b, fmt.Sprintf("a result has at most %d images and files", maxResultMedia))
		default:
			count++
			*b, err = t.keep(ctx, *b)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// keptEvents returns events of a step as the log has them.
func (t *Thread) keptEvents(ctx context.Context, events []Event) ([]Event, error) {
	out := slices.Clone(events)
	for i, e := range out {
		if e.Event != evAdded {
			continue
		}
		raw, err := jsonx.Marshal(e.Data)
		var d addedData
		if err == nil {
			err = json.Unmarshal(raw, &d)
		}
		if err != nil || !slices.ContainsFunc(d.Blocks, isNew) {
			continue // recording the event reports the error
		}
		blocks, err := t.kept(ctx, d.Blocks)
		if err != nil {
			return nil, err
		}
		out[i].Data = maps.Clone(e.Data)
		out[i].Data["blocks"] = blocks
	}
	return out, nil
}

// storeAttachments stores the images and files of the first message. If the thread continues
// an earlier thread, they are artifacts of that thread.
func (t *Thread) storeAttachments() error {
	t.p.Attachments = slices.Clone(t.p.Attachments)
	for i := range t.p.Attachments {
		b := &t.p.Attachments[i]
		if len(b.Data) == 0 {
			continue
		}
		err := StoreMedia(t.p.Project, t.id, b)
		if err != nil {
			return err
		}
		b.Data = nil
	}
	return nil
}

// isNew reports whether a block, or one in it, is not an artifact yet: its content must not be in
// a log. A server may send an image without content, of which no artifact can be read later.
func isNew(b message.Block) bool {
	return b.IsMedia() && (len(b.Data) > 0 || b.Artifact == "") ||
		b.Type == message.ToolResult && slices.ContainsFunc(b.Content, isNew)
}

// isText reports whether a file is a text, which every model reads.
func isText(b *message.Block) bool {
	kind, _, _ := strings.Cut(b.MediaType, ";")
	text := strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+json") ||
		slices.Contains([]string{"application/json", "application/xml", "application/yaml", "application/javascript"}, kind)
	return text &&
		len(b.Data) > 0 &&
		utf8.Valid(b.Data) &&
		!bytes.ContainsRune(b.Data, 0) &&
		media.Recognise(b.Data) == ""
}

// keep prepares one block and stores its content.
func (t *Thread) keep(ctx context.Context, b message.Block) (message.Block, error) {
	if t.p.ForModel != nil {
		prepared, err := t.p.ForModel(ctx, b)
		if ctx.Err() != nil {
			return b, diag.New(diag.Cancelled, "preparing an image of %s: cancelled", t.id)
		}
		if err != nil {
			e := diag.Typed(err)
			return omitted(&b, string(e.Code)+": "+e.Error()), nil
		}
		b = prepared
	}
	err := StoreMedia(t.p.Project, t.id, &b)
	if err != nil {
		return b, err
	}
	b.Data = nil
	return b, nil
}

// omitted returns the note in place of an image or a file.
func omitted(b *message.Block, why string) message.Block {
	name := b.MediaType
	if b.Name != "" {
		name += " " + b.Name
	}
	return message.TextBlock("[" + name + ": " + why + "]")
}

// StoreMedia makes the content of a block an artifact of a thread, and sets what its log
// states about it.
func StoreMedia(project, id string, b *message.Block) error {
	b.Artifact = message.ArtifactID(b.Data)
	b.Bytes = int64(len(b.Data))
	b.Prepared = false
	err := transcript.Base(project, id).Write(mediaFile(b), b.Data, 0o600)
	if err != nil {
		return diag.Doing("storing an artifact of "+id, err)
	}
	return nil
}

// refuses returns why the model of a service does not read an image or a file, "" if it does.
func (s *Service) refuses(b *message.Block) string {
	if s.CheckMedia == nil {
		return ""
	}
	err := s.CheckMedia(b)
	switch {
	case err == nil:
		return ""
	case diag.CodeOf(err) == diag.TooLarge:
		return fmt.Sprintf("with %d bytes it is too long for this model", b.Bytes)
	}
	return "this model does not read it"
}

// mediaTokens returns the tokens of the images and files in blocks.
func (s *Service) mediaTokens(blocks []message.Block) int64 {
	if s.MediaTokens == nil {
		return 0
	}
	var n int64
	for i := range blocks {
		if blocks[i].IsMedia() {
			n += s.MediaTokens(&blocks[i])
		}
		n += s.mediaTokens(blocks[i].Content)
	}
	return n
}

// readableFor puts a note in place of each image and file that the model of a service does not
// read, and of the oldest ones if all of them are too long for one request.
func readableFor(s *Service, messages []message.Message) {
	left := int64(maxRequestMedia)
	for i := range slices.Backward(messages) {
		messages[i].Blocks = s.readable(messages[i].Blocks, &left)
	}
}

func (s *Service) readable(blocks []message.Block, left *int64) []message.Block {
	if !slices.ContainsFunc(blocks, isMedia) {
		return blocks
	}
	out := slices.Clone(blocks)
	for i := range slices.Backward(out) {
		b := &out[i]
		switch {
		case b.Type == message.ToolResult:
			b.Content = s.readable(b.Content, left)
		case !b.IsMedia():
		case s.refuses(b) != "":
			*b = omitted(b, s.refuses(b))
		case b.Bytes > *left:
			*b = omitted(b, "it was shown before, and is left out of this request")
			*left = 0 // all older ones, too: which are left out must not change with their sizes
		default:
			*left -= b.Bytes
		}
	}
	return out
}

func isMedia(b message.Block) bool {
	return b.IsMedia() || slices.ContainsFunc(b.Content, isMedia)
}

// withMedia returns a request with the content of its images and files, from the artifacts of
// the thread. A missing or altered one is TRANSCRIPT_BROKEN.
func (t *Thread) withMedia(req *message.Request) (*message.Request, error) {
	out := *req
	out.Messages = slices.Clone(req.Messages)
	for i := range out.Messages {
		m := &out.Messages[i]
		var err error
		if m.Blocks, err = t.withContent(m.Blocks); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

func (t *Thread) withContent(blocks []message.Block) ([]message.Block, error) {
	if !slices.ContainsFunc(blocks, isMedia) {
		return blocks, nil
	}
	out := slices.Clone(blocks)
	for i := range out {
		b := &out[i]
		var err error
		if b.Type == message.ToolResult {
			b.Content, err = t.withContent(b.Content)
		} else if b.IsMedia() && len(b.Data) == 0 {
			b.Data, err = t.content(b)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// content reads the artifact of a block: of the thread, or of one that it continues, from
// which the block was carried.
func (t *Thread) content(b *message.Block) ([]byte, error) {
	id := t.id
	carried := t.p.Carried
	for {
		content, err := ReadMedia(t.p.Project, id, b)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || carried == nil {
			return content, err
		}
		id = carried.Source()
		before, startErr := ReadStarted(t.p.Project, id)
		if startErr != nil {
			return nil, err
		}
		carried = before.Carried
	}
}

// ReadMedia reads the content of an image or a file from the artifacts of a thread. A missing
// or altered one is TRANSCRIPT_BROKEN.
func ReadMedia(project, id string, b *message.Block) ([]byte, error) {
	broken := func(format string, args ...any) error {
		e := diag.New(diag.TranscriptBroken, "reading an artifact: "+format, args...)
		return e.
			WithReason("transcript_artifact").
			WithDetail("path", transcript.Base(project, id).Path(mediaFile(b)))
	}
	if len(b.Artifact) != sha256.Size*2 || strings.Trim(b.Artifact, "0123456789abcdef") != "" {
		return nil, broken("%q is not the id of one", b.Artifact)
	}
	content, _, err := openat.Read(
		project,
		transcript.Dir+"/"+id+"/"+mediaFile(b),
		media.MaxImageBytes,
	)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, broken("%s%s is missing: %w", b.Artifact, media.Extension(b.MediaType), fs.ErrNotExist)
	case err != nil:
		return nil, broken("%w", err)
	case message.ArtifactID(content) != b.Artifact:
		return nil, broken("the file of %s%s has other content", b.Artifact, media.Extension(b.MediaType))
	}
	return content, nil
}
