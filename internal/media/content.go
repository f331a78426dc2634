package media

import (
	"encoding/base64"
	"strings"
)

// MCP is a block of MCP content with a prepared file: an image or a sound with its data, or the
// resource that another file is.
type MCP struct {
	Type     string    `json:"type"`
	MIMEType string    `json:"mimeType,omitempty"`
	Data     string    `json:"data,omitempty"` // base64
	Resource *Resource `json:"resource,omitempty"`
}

// Resource is a file in MCP content.
type Resource struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Blob     string `json:"blob"` // base64
}

// Content returns a prepared file as a block of MCP content.
func Content(name string, p *Prepared) MCP {
	data := base64.StdEncoding.EncodeToString(p.Data)
	switch {
	case IsImage(p.Type):
		return MCP{Type: "image", MIMEType: p.Type, Data: data}
	case strings.HasPrefix(p.Type, "audio/"):
		return MCP{Type: "audio", MIMEType: p.Type, Data: data}
	}
	return MCP{Type: "resource", Resource: &Resource{URI: "file:///" + name, MIMEType: p.Type, Blob: data}}
}
