package applet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

type lspDiagnostic struct {
	lspLocation
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Code     string `json:"code,omitempty"`
	Source   string `json:"source,omitempty"`
}

type lspLocation struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"end_line"`
	EndColumn int    `json:"end_column"`
	Text      string `json:"text,omitempty"` // of the line, where the file is the project's
}

type lspSymbol struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Container string `json:"container,omitempty"`
	lspLocation
}

// Shapes of the protocol.
type (
	lspPosition struct {
		Line      int `json:"line"`
		Character int `json:"character"`
	}
	lspRange struct {
		Start lspPosition `json:"start"`
		End   lspPosition `json:"end"`
	}
	lspPlace struct { // Location and LocationLink
		URI             string   `json:"uri"`
		Range           lspRange `json:"range"`
		TargetURI       string   `json:"targetUri"`
		TargetSelection lspRange `json:"targetSelectionRange"`
	}
	lspRawSymbol struct { // DocumentSymbol, SymbolInformation and WorkspaceSymbol
		Name      string         `json:"name"`
		Kind      int            `json:"kind"`
		Container string         `json:"containerName"`
		Selection *lspRange      `json:"selectionRange"`
		Location  *lspPlace      `json:"location"`
		Children  []lspRawSymbol `json:"children"`
	}
	lspRawDiagnostic struct {
		Range    lspRange        `json:"range"`
		Severity int             `json:"severity"`
		Code     json.RawMessage `json:"code"`
		Source   string          `json:"source"`
		Message  string          `json:"message"`
	}
)

// ask does the one thing that the caller wants.
func (s *lspSession) ask(ctx context.Context) (*lspResult, error) {
	switch s.call.operation {
	case "diagnostics":
		return s.diagnostics(ctx)
	case "symbols":
		return s.symbols(ctx)
	}
	places, err := s.positions()
	if err != nil {
		return nil, err
	}
	var r *lspResult
	for _, at := range places {
		if r, err = s.askAt(ctx, at); err == nil && r.Count > 0 {
			return r, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return r, err
}

// askAt asks about one place.
func (s *lspSession) askAt(ctx context.Context, at lspPosition) (*lspResult, error) {
	params := map[string]any{"textDocument": map[string]any{"uri": s.uri()}, "position": at}
	if s.call.operation == "references" {
		params["context"] = map[string]any{"includeDeclaration": s.call.declaration}
	}
	var answer json.RawMessage
	if err := s.conn.Call(ctx, "textDocument/"+s.call.operation, params, &answer); err != nil {
		return nil, err
	}
	if s.call.operation != "hover" {
		return s.locations(answer)
	}
	text := hoverText(answer)
	r := &lspResult{Hover: text, Output: text, Count: min(len(text), 1)}
	if text == "" {
		r.Output = "nothing is known of this place\n"
	}
	return r, nil
}

// locations reads one place, a list of them, or none.
func (s *lspSession) locations(answer json.RawMessage) (*lspResult, error) {
	var places []lspPlace
	if err := unmarshalSome(answer, &places); err != nil {
		return nil, err
	}
	r := &lspResult{Locations: []lspLocation{}}
	var b strings.Builder
	for _, p := range places {
		if r.Count++; r.Count > s.call.max {
			r.Truncated = true
			continue
		}
		uri, at := p.URI, p.Range
		if p.TargetURI != "" {
			uri, at = p.TargetURI, p.TargetSelection
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

// unmarshalSome reads a list, one element instead of a list, or null.
func unmarshalSome[T any](b json.RawMessage, into *[]T) error {
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

// location turns a place of a server into one for people.
func (f *lspFiles) location(uri string, at lspRange) lspLocation {
	shown := f.show(uri)
	first, known := f.line(shown, at.Start.Line)
	last, knownLast := f.line(shown, at.End.Line)
	text, _ := shorten(strings.TrimSpace(first))
	return lspLocation{
		File: shown, Line: at.Start.Line + 1, Column: column(first, known, at.Start.Character),
		EndLine: at.End.Line + 1, EndColumn: column(last, knownLast, at.End.Character), Text: text,
	}
}

// diagnostics asks for what is wrong, or waits for a server that tells by
// itself.
func (s *lspSession) diagnostics(ctx context.Context) (*lspResult, error) {
	list, err := s.pull(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b lspRawDiagnostic) int {
		return cmp.Or(cmp.Compare(a.Range.Start.Line, b.Range.Start.Line), cmp.Compare(a.Range.Start.Character, b.Range.Start.Character))
	})
	r := &lspResult{Diagnostics: []lspDiagnostic{}, Count: len(list)}
	var b strings.Builder
	for _, raw := range list[:min(len(list), s.call.max)] {
		d := lspDiagnostic{
			lspLocation: s.files.location(s.uri(), raw.Range), Severity: severityName(raw.Severity), Message: raw.Message,
			Code: codeText(raw.Code), Source: raw.Source,
		}
		r.Diagnostics = append(r.Diagnostics, d)
		fmt.Fprintf(&b, "%s:%d:%d: %s: %s\n", d.File, d.Line, d.Column, d.Severity, d.Message)
	}
	r.Truncated = len(list) > s.call.max
	if r.Output = b.String(); len(list) == 0 {
		r.Output = "no problems\n"
	}
	return r, nil
}

func (s *lspSession) pull(ctx context.Context) (list []lspRawDiagnostic, err error) {
	if s.able.Diagnostic != nil && s.able.Diagnostic != false {
		var answer struct {
			Items []lspRawDiagnostic `json:"items"`
		}
		err = s.conn.Call(ctx, "textDocument/diagnostic", map[string]any{"textDocument": map[string]any{"uri": s.uri()}}, &answer)
		return answer.Items, err
	}
	uri := sameURI(s.uri())
	if err = s.until(ctx, func() bool { return s.published[uri] != nil && len(s.running) == 0 }); err != nil {
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

// codeText renders a code that is a text or a number.
func codeText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] != '{' && string(raw) != "null" {
		return string(raw)
	}
	return ""
}

// symbols lists what a file, or with a query the workspace, defines.
func (s *lspSession) symbols(ctx context.Context) (*lspResult, error) {
	method, params := "textDocument/documentSymbol", map[string]any{"textDocument": map[string]any{"uri": s.uri()}}
	if s.call.query != "" {
		method, params = "workspace/symbol", map[string]any{"query": s.call.query}
	}
	var raw []lspRawSymbol
	if err := s.conn.Call(ctx, method, params, &raw); err != nil {
		return nil, err
	}
	r := &lspResult{Symbols: []lspSymbol{}}
	var b strings.Builder
	s.gather(r, &b, raw, "", 0)
	if r.Output = b.String(); r.Count == 0 {
		r.Output = "nothing found\n"
	}
	return r, nil
}

// maxSymbolDepth bounds a hierarchy that a server makes up.
const maxSymbolDepth = 50

func (s *lspSession) gather(r *lspResult, b *strings.Builder, raw []lspRawSymbol, container string, depth int) {
	for _, one := range raw {
		if r.Count++; r.Count > s.call.max {
			r.Truncated = true
		} else {
			sym := lspSymbol{Name: one.Name, Kind: symbolKind(one.Kind), Container: cmp.Or(one.Container, container)}
			uri, at := s.uri(), lspRange{}
			switch {
			case one.Selection != nil:
				at = *one.Selection
			case one.Location != nil:
				uri, at = one.Location.URI, one.Location.Range
			}
			sym.lspLocation = s.files.location(uri, at)
			r.Symbols = append(r.Symbols, sym)
			fmt.Fprintf(b, "%s%s:%d: %s %s\n", strings.Repeat("  ", depth), sym.File, sym.Line, sym.Kind, sym.Name)
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

// hoverText reads the three forms that what is known of a place may have.
func hoverText(answer json.RawMessage) string {
	var h struct {
		Contents json.RawMessage `json:"contents"`
	}
	if json.Unmarshal(answer, &h) != nil {
		return ""
	}
	var parts []json.RawMessage
	if unmarshalSome(h.Contents, &parts) != nil {
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
