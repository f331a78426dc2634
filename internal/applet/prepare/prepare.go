// Package prepare has the applet that prepares an image, a PDF file or a sound for a model: it
// is decoded where a fault of a decoder harms nothing. rye calls it for files that a person
// attaches and for results of MCP servers.
//
// It opens no file: the parameters have the content.
package prepare

import (
	"context"
	"encoding/base64"
	"runtime/debug"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/media"
)

// Applets returns the applet by its name.
func Applets() map[string]wire.Func {
	return map[string]wire.Func{"prepare": run}
}

type result struct {
	Success   bool   `json:"success"`
	MediaType string `json:"media_type"`
	Width     int    `json:"width,omitempty"`
	Height    int    `json:"height,omitempty"`
	Pages     int    `json:"pages,omitempty"`
	Data      []byte `json:"data"` // base64
}

func run(_ context.Context, _ wire.Params, in map[string]any) (any, error) {
	a := wire.NewArgs(in, "name", "data")
	name := a.Required("name")
	text := a.Required("data")
	if err := a.Err(); err != nil {
		return nil, err
	}
	debug.SetMemoryLimit(media.MemoryLimit)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, diag.New(diag.ValidationFailed, "reading %q: its content is not base64", name)
	}
	p, err := media.ForModel(name, data)
	if err != nil {
		return nil, err
	}
	return result{
		Success:   true,
		MediaType: p.Type,
		Width:     p.Width,
		Height:    p.Height,
		Pages:     p.Pages,
		Data:      p.Data,
	}, nil
}
