package lsp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ryeos/rye/internal/applet/files"
)

type diagnostic struct {
	location
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Code     string `json:"code,omitempty"`
	Source   string `json:"source,omitempty"`
}

type location struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
	Text      string `json:"text,omitempty"` // of the line, if the file is in the project
}

type symbol struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Container string `json:"container,omitempty"`
	location
}

// Types of the protocol.
type (
	position struct {
		Line      int `json:"line"`
		Character int `json:"character"`
	}
	span struct {
		Start position `json:"start"`
		End   position `json:"end"`
	}
	wireLocation struct { // Location and LocationLink
		URI             string `json:"uri"`
		Range           span   `json:"range"`
		TargetURI       string `json:"targetUri"`
		TargetSelection span   `json:"targetSelectionRange"`
	}
	wireSymbol struct { // DocumentSymbol, SymbolInformation and WorkspaceSymbol
		Name      string        `json:"name"`
		Kind      int           `json:"kind"`
		Container string        `json:"containerName"`
		Selection *span         `json:"selectionRange"`
		Location  *wireLocation `json:"location"`
		Children  []wireSymbol  `json:"children"`
	}
	wireDiagnostic struct {
		Range    span            `json:"range"`
		Severity int             `json:"severity"`
		Code     json.RawMessage `json:"code"`
		Source   string          `json:"source"`
		Message  string          `json:"message"`
	}
)

// ask performs the operation of the call.
func (s *session) ask(ctx context.Context) (*result, error) {
	switch s.call.operation {
	case "diagnostics":
		return s.diagnostics(ctx)
	case "symbols":
		return s.symbols(ctx)
	}
	targets, err := s.targets()
	if err != nil {
		return nil, err
	}
	var r *result
	for _, at := range targets {
		if r, err = s.askAt(ctx, at); err == nil && r.Count > 0 {
			return r, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return r, err
}

// askAt asks about one position.
func (s *session) askAt(ctx context.Context, at position) (*result, error) {
	params := map[string]any{"textDocument": map[string]any{"uri": s.uri()}, "position": at}
	if s.call.operation == "references" {
		params["context"] = map[string]any{"includeDeclaration": s.call.declaration}
	}
	var answer json.RawMessage
	err := s.conn.Call(ctx, "textDocument/"+s.call.operation, params, &answer)
	if err != nil {
		return nil, err
	}
	if s.call.operation != "hover" {
		return s.locations(answer)
	}
	text := hoverText(answer)
	r := &result{Hover: text, Output: text, Count: min(len(text), 1)}
	if text == "" {
		r.Output = "no information about this position\n"
	}
	return r, nil
}

// locations decodes one location, a list of them, or null.
func (s *session) locations(answer json.RawMessage) (*result, error) {
	var list []wireLocation
	if err := unmarshalList(answer, &list); err != nil {
		return nil, err
	}
	r := &result{Locations: []location{}}
	var b strings.Builder
	for _, p := range list {
		if r.Count++; r.Count > s.call.maxResults {
			r.Truncated = true
			continue
		}
		uri := p.URI
		at := p.Range
		if p.TargetURI != "" {
			uri = p.TargetURI
			at = p.TargetSelection
		}
		l := s.files.location(uri, at)
		r.Locations = append(r.Locations, l)
		fmt.Fprintf(&b, "%s:%d:%d: %s\n", l.File, l.Line, l.Column, l.Text)
	}
	if r.Output = b.String(); r.Count == 0 {
		r.Output = "nothing found\n"
	}
	return r, nil
}

// unmarshalList decodes a list, one element instead of a list, or null.
func unmarshalList[T any](b json.RawMessage, into *[]T) error {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || string(b) == "null" {
		return nil
	}
	if b[0] == '[' {
		return json.Unmarshal(b, into)
	}
	var one T
	err := json.Unmarshal(b, &one)
	*into = []T{one}
	return err
}

// location converts a location of a server.
func (f *positions) location(uri string, at span) location {
	name := f.display(uri)
	first, known := f.line(name, at.Start.Line)
	last, knownLast := f.line(name, at.End.Line)
	text, _ := files.Shorten(strings.TrimSpace(first))
	return location{
		File:      name,
		Line:      at.Start.Line + 1,
		Column:    column(first, known, at.Start.Character),
		EndLine:   at.End.Line + 1,
		EndColumn: column(last, knownLast, at.End.Character),
		Text:      text,
	}
}

// diagnostics returns the problems of the file, sorted by position.
func (s *session) diagnostics(ctx context.Context) (*result, error) {
	list, err := s.pull(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b wireDiagnostic) int {
		return cmp.Or(
			cmp.Compare(a.Range.Start.Line, b.Range.Start.Line),
			cmp.Compare(a.Range.Start.Character, b.Range.Start.Character),
		)
	})
	r := &result{Diagnostics: []diagnostic{}, Count: len(list)}
	var b strings.Builder
	for _, raw := range list[:min(len(list), s.call.maxResults)] {
		d := diagnostic{
			location: s.files.location(s.uri(), raw.Range),
			Severity: severityName(raw.Severity),
			Message:  raw.Message,
			Code:     codeText(raw.Code),
			Source:   raw.Source,
		}
		r.Diagnostics = append(r.Diagnostics, d)
		fmt.Fprintf(
			&b,
			"%s:%d:%d: %s: %s\n",
			d.File,
			d.Line,
			d.Column,
			d.Severity,
			d.Message,
		)
	}
	r.Truncated = len(list) > s.call.maxResults
	if r.Output = b.String(); len(list) == 0 {
		r.Output = "no problems\n"
	}
	return r, nil
}

// pull asks for the diagnostics. A server without that request publishes them on
// its own; pull waits until it has.
func (s *session) pull(ctx context.Context) (list []wireDiagnostic, err error) {
	if s.offers.Diagnostic != nil && s.offers.Diagnostic != false {
		var answer struct {
			Items []wireDiagnostic `json:"items"`
		}
		err = s.conn.Call(
			ctx,
			"textDocument/diagnostic",
			map[string]any{"textDocument": map[string]any{"uri": s.uri()}},
			&answer,
		)
		return answer.Items, err
	}
	uri := normalURI(s.uri())
	if err = s.until(ctx, func() bool {
		return s.published[uri] != nil &&
			len(s.running) == 0
	}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return list, json.Unmarshal(s.published[uri], &list)
}

func severityName(n int) string {
	switch n {
	case 2:
		return "warning"
	case 3:
		return "information"
	case 4:
		return "hint"
	}
	return "error"
}

// codeText returns a code that is a string or a number.
func codeText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if raw = bytes.TrimSpace(raw); len(raw) > 0 &&
		raw[0] != '{' &&
		string(raw) != "null" {
		return string(raw)
	}
	return ""
}

// symbols lists the symbols of the file or, with a query, of the workspace.
func (s *session) symbols(ctx context.Context) (*result, error) {
	method := "textDocument/documentSymbol"
	params := map[string]any{"textDocument": map[string]any{"uri": s.uri()}}
	if s.call.query != "" {
		method = "workspace/symbol"
		params = map[string]any{"query": s.call.query}
	}
	var raw []wireSymbol
	err := s.conn.Call(ctx, method, params, &raw)
	if err != nil {
		return nil, err
	}
	r := &result{Symbols: []symbol{}}
	var b strings.Builder
	s.gather(r, &b, raw, "", 0)
	if r.Output = b.String(); r.Count == 0 {
		r.Output = "nothing found\n"
	}
	return r, nil
}

// maxSymbolDepth is the depth of a hierarchy of symbols. A server could send an
// endless one.
const maxSymbolDepth = 50

func (s *session) gather(
	r *result,
	b *strings.Builder,
	raw []wireSymbol,
	container string,
	depth int,
) {
	for _, one := range raw {
		if r.Count++; r.Count > s.call.maxResults {
			r.Truncated = true
		} else {
			sym := symbol{Name: one.Name, Kind: symbolKind(one.Kind), Container: cmp.Or(one.Container, container)}
			uri := s.uri()
			at := span{}
			switch {
			case one.Selection != nil:
				at = *one.Selection
			case one.Location != nil:
				uri = one.Location.URI
				at = one.Location.Range
			}
			sym.location = s.files.location(uri, at)
			r.Symbols = append(r.Symbols, sym)
			fmt.Fprintf(
				b,
				"%s%s:%d: %s %s\n",
				strings.Repeat("  ", depth),
				sym.File,
				sym.Line,
				sym.Kind,
				sym.Name,
			)
		}
		if depth < maxSymbolDepth {
			s.gather(r, b, one.Children, one.Name, depth+1)
		}
	}
}

func symbolKind(n int) string {
	names := []string{"file", "module", "namespace", "package", "class", "method", "property", "field", "constructor", "enum", "interface",
		"function", "variable", "constant", "string", "number", "boolean", "array", "object", "key", "null", "enum member", "struct",
		"event", "operator", "type parameter"}
	if n < 1 || n > len(names) {
		return "symbol"
	}
	return names[n-1]
}

// hoverText returns the text of a hover result, which has three forms.
func hoverText(answer json.RawMessage) string {
	var h struct {
		Contents json.RawMessage `json:"contents"`
	}
	if json.Unmarshal(answer, &h) != nil {
		return ""
	}
	var parts []json.RawMessage
	if unmarshalList(h.Contents, &parts) != nil {
		return ""
	}
	var out []string
	for _, part := range parts {
		var text string
		var marked struct{ Language, Value string }
		switch {
		case json.Unmarshal(part, &text) == nil:
		case json.Unmarshal(part, &marked) == nil && marked.Language != "":
			text = "```" + marked.Language + "\n" + marked.Value + "\n```"
		default:
			text = marked.Value
		}
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, text)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, "\n\n") + "\n"
}
