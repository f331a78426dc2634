package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/jsonx"
)

// The JSON forms of the types of blocks. Fields are written in this order.
type (
	textJSON struct {
		Type Type   `json:"type"`
		Text string `json:"text"`
		Wire *wire  `json:"wire,omitempty"`
	}
	dataJSON struct {
		Type      Type   `json:"type"`
		MediaType string `json:"media_type"`
		Name      string `json:"name,omitempty"`
		Data      []byte `json:"data,omitempty"`
		Artifact  string `json:"artifact,omitempty"`
		Width     int    `json:"width,omitempty"`
		Height    int    `json:"height,omitempty"`
		Pages     int    `json:"pages,omitempty"`
		Bytes     int64  `json:"bytes,omitempty"`
	}
	callJSON struct {
		Type         Type            `json:"type"`
		ID           string          `json:"id"`
		Name         string          `json:"name"`
		Input        json.RawMessage `json:"input,omitempty"`
		InvalidInput *string         `json:"invalid_input,omitempty"`
		Wire         *wire           `json:"wire,omitempty"`
	}
	resultJSON struct {
		Type    Type    `json:"type"`
		CallID  string  `json:"call_id"`
		Content []Block `json:"content"`
		IsError bool    `json:"is_error"`
	}
	rawJSON struct {
		Type Type `json:"type"`
		wire
	}
	// wire has the bytes of the service as a text: as a JSON value they would be
	// written in another form. Bytes that are not a text are in base64.
	wire struct {
		Dialect  string `json:"dialect"`
		Provider string `json:"provider,omitempty"`
		Model    string `json:"model"`
		Raw      string `json:"raw,omitempty"`
		Base64   []byte `json:"raw_base64,omitempty"`
	}
)

// MarshalJSON writes the fields that the type of the block has.
func (b Block) MarshalJSON() ([]byte, error) {
	switch b.Type {
	case Text:
		return compact(textJSON{b.Type, b.Text, b.wire()})
	case Image, File:
		return compact(dataJSON{b.Type, b.MediaType, b.Name, b.Data, b.Artifact, b.Width, b.Height, b.Pages, b.Bytes})
	case ToolCall:
		c := callJSON{
			Type:  b.Type,
			ID:    b.ID,
			Name:  b.Name,
			Input: b.Input,
			Wire:  b.wire(),
		}
		if b.Input == nil {
			c.InvalidInput = &b.InvalidInput
		}
		return compact(c)
	case ToolResult:
		r := resultJSON{b.Type, b.CallID, b.Content, b.IsError}
		if r.Content == nil {
			r.Content = []Block{}
		}
		return compact(r)
	case Reasoning, Opaque:
		return compact(rawJSON{b.Type, b.exact()})
	}
	return nil, fmt.Errorf("a block of the type %q does not exist", b.Type)
}

// exact returns the JSON form of Raw.
func (b Block) exact() wire {
	w := wire{
		Dialect:  b.Dialect,
		Provider: b.Provider,
		Model:    b.Model,
		Raw:      string(b.Raw),
	}
	if !utf8.Valid(b.Raw) {
		w.Raw, w.Base64 = "", b.Raw
	}
	return w
}

// wire returns the JSON form of Raw, nil without one.
func (b Block) wire() *wire {
	if len(b.Raw) == 0 {
		return nil
	}
	w := b.exact()
	return &w
}

// into sets the fields of a block that have its bytes.
func (w *wire) into(b *Block) {
	if w == nil {
		return
	}
	b.Dialect = w.Dialect
	b.Provider = w.Provider
	b.Model = w.Model
	b.Raw = []byte(w.Raw)
	if len(w.Base64) > 0 {
		b.Raw = w.Base64
	}
}

// UnmarshalJSON reads a block of any type. Unknown fields are ignored: a later
// version may have written them.
func (b *Block) UnmarshalJSON(data []byte) error {
	var head struct {
		Type Type `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	switch head.Type {
	case Text:
		return read(data, func(v textJSON) {
			*b = Block{Type: v.Type, Text: v.Text}
			v.Wire.into(b)
		})
	case Image, File:
		return read(data, func(v dataJSON) {
			*b = Block{
				Type:      v.Type,
				MediaType: v.MediaType,
				Name:      v.Name,
				Data:      v.Data,
				Artifact:  v.Artifact,
				Width:     v.Width,
				Height:    v.Height,
				Pages:     v.Pages,
				Bytes:     v.Bytes,
			}
		})
	case ToolCall:
		return b.readCall(data)
	case ToolResult:
		return read(data, func(v resultJSON) {
			*b = Block{Type: v.Type, CallID: v.CallID, IsError: v.IsError}
			if len(v.Content) > 0 {
				b.Content = v.Content
			}
		})
	case Reasoning, Opaque:
		return read(data, func(v rawJSON) {
			*b = Block{Type: v.Type}
			v.into(b)
		})
	}
	return fmt.Errorf("a block has the type %q, which is unknown", head.Type)
}

func (b *Block) readCall(data []byte) error {
	var missing bool
	err := read(data, func(v callJSON) {
		missing = v.Input == nil && v.InvalidInput == nil
		*b = Block{
			Type:  v.Type,
			ID:    v.ID,
			Name:  v.Name,
			Input: v.Input,
		}
		if v.InvalidInput != nil {
			b.InvalidInput = *v.InvalidInput
		}
		v.Wire.into(b)
		_, found := jsonx.ParseMessage(b.Input)
		if b.Input != nil && len(found) > 0 {
			// an earlier version wrote arguments as they came
			b.InvalidInput = string(b.Input)
			b.Input = nil
		}
	})
	if err == nil && missing {
		return fmt.Errorf("the tool_call %q has no input", b.ID)
	}
	return err
}

func read[T any](data []byte, use func(T)) error {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	use(v)
	return nil
}

// compact writes v without escapes for HTML. An encoder around it that escapes, such
// as json.Marshal, changes the spelling of texts, not their value.
func compact(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
