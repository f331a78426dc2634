// Package page renders the pages of the gateway as HTML, with one style sheet and one script.
//
// It reads nothing and decides nothing: its caller passes what is shown. Every text of a model, a tool or
// a file is escaped, and characters that a reader cannot see are made visible.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/ryeos/rye/internal/gateway/host"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/threads"
	"github.com/ryeos/rye/threads/waiting"
)

//go:embed templates assets
var files embed.FS

// Pages are the templates and the files that they need.
type Pages struct {
	templates *template.Template
	assets    map[string]asset // by their path
	paths     map[string]string
	now       func() time.Time
}

type asset struct {
	kind string
	data []byte
}

// AssetPath is where the style sheet, the script and the icon are. Their names have their digests, so a
// browser keeps them.
const AssetPath = "/assets/"

// New parses the templates.
func New(now func() time.Time) (*Pages, error) {
	p := &Pages{
		assets: map[string]asset{},
		paths:  map[string]string{},
		now:    now,
	}
	// The table of a system can have other types, which a browser would not execute.
	types := map[string]string{
		".css": "text/css; charset=utf-8",
		".js":  "text/javascript; charset=utf-8",
		".svg": "image/svg+xml",
	}
	entries, err := fs.ReadDir(files, "assets")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		b, err := files.ReadFile("assets/" + e.Name())
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(b)
		ext := path.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), ext) + "." + hex.EncodeToString(sum[:8]) + ext
		p.paths[e.Name()] = AssetPath + name
		p.assets[AssetPath+name] = asset{kind: types[ext], data: b}
	}
	p.templates, err = template.New("pages").Funcs(p.functions()).ParseFS(files, "templates/*.html")
	return p, err
}

// Asset serves a file.
func (p *Pages) Asset(w http.ResponseWriter, r *http.Request) {
	// Names are looked up, so no path leads elsewhere.
	a, ok := p.assets[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.data)
}

// Frame is what all pages have.
type Frame struct {
	Title    string
	Live     string // the path of the stream with changes, "" without one
	SignedIn bool
	Caller   string
	Role     string
	MayAct   bool
	Form     string // the token of forms
	Running  int
	Asks     int
	Today    string
	TodayMax string
	Notice   string
	Menu     []Choice
	Body     template.HTML
}

// Choice is a link of a menu.
type Choice struct {
	Name, Path string
	Here       bool
}

// Render renders a template, such as "threads".
func (p *Pages) Render(name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	err := p.templates.ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}

// Page renders a whole page.
func (p *Pages) Page(f Frame) ([]byte, error) {
	var b bytes.Buffer
	err := p.templates.ExecuteTemplate(&b, "frame", f)
	return b.Bytes(), err
}

// functions are the functions of the templates.
func (p *Pages) functions() template.FuncMap {
	return template.FuncMap{
		"asset":   func(name string) string { return p.paths[name] },
		"visible": hidden.Visible,
		"lines":   visibleLines,
		"bare":    bare,
		"age": func(t time.Time) string {
			return waiting.Age(p.now().Sub(t))
		},
		"until": func(t time.Time) string {
			return waiting.Age(t.Sub(p.now()))
		},
		"stamp": func(t time.Time) string {
			return t.UTC().Format(time.RFC3339)
		},
		"level":      func(n int) int { return min(n, deepest) },
		"count":      count,
		"sign":       sign,
		"stateWord":  stateWord,
		"stateClass": stateClass,
		"diffLines":  diffLines,
		"trustSign":  trustSign,
		"trustClass": trustClass,
	}
}

// deepest is the deepest level that is indented.
const deepest = 4

// visibleLines is hidden.Visible that keeps the ends of lines.
func visibleLines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		text, ended := strings.CutSuffix(line, "\n")
		b.WriteString(hidden.Visible(strings.TrimSuffix(text, "\r")))
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// bare returns a ref without its kind.
func bare(ref string) string {
	// A log of an earlier version can have a bare id.
	_, id, ok := strings.Cut(ref, ":")
	if !ok {
		return ref
	}
	return id
}

// count writes a number, an int or int64, with its noun.
func count(n any, noun string) string {
	text := fmt.Sprint(n) + " " + noun
	if strings.HasPrefix(text, "1 ") {
		return text
	}
	if stem, ok := strings.CutSuffix(text, "y"); ok {
		return stem + "ies"
	}
	return text + "s"
}

// stateClass returns the class of a thread's state.
func stateClass(t host.Thread) string {
	// A thread that asks is running or suspended as well.
	switch {
	case t.Asks != nil:
		return "is-asks"
	case t.State == threads.Running:
		return "is-running"
	case t.State == threads.Suspended:
		return "is-suspended"
	case t.State == threads.Completed, t.State == threads.Continued:
		return "is-done"
	}
	return "is-failed"
}

// sign returns the sign of a thread's state: colours alone do not state it.
func sign(t host.Thread) string {
	switch stateClass(t) {
	case "is-asks", "is-suspended":
		return "‖"
	case "is-running":
		return "●"
	case "is-done":
		return "✓"
	}
	return "✕"
}

func stateWord(t host.Thread) string {
	switch {
	case t.Asks != nil:
		return "asks"
	case t.Reason != "" && t.State != threads.Completed:
		return hidden.Visible(t.State + " (" + t.Reason + ")")
	}
	return hidden.Visible(t.State)
}

func trustSign(word string) string {
	if word == "trusted" {
		return "✓"
	}
	return "✕"
}

func trustClass(word string) string {
	switch word {
	case "trusted":
		return "good"
	case "agent":
		return "agent"
	}
	return "poor"
}
