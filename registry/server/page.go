package server

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/markdown"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
)

//go:embed page.html
var pageText string

//go:embed style.css
var styleText []byte

// policyHeader permits a page its own style sheet and its form, and nothing else.
const policyHeader = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// pages returns the templates. html/template escapes every value for its position; visible
// shows characters that would be invisible. They are parsed when a page is first asked for:
// every start of the program would pay for it otherwise.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{"visible": hidden.Visible, "short": short, "lines": visibleLines}).Parse(pageText))
})

// short returns the first 16 digits of a key.
func short(key string) string {
	hex := strings.TrimPrefix(key, "ed25519:")
	return hex[:min(16, len(hex))]
}

// visibleLines is hidden.Visible that keeps the ends of lines.
func visibleLines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(hidden.Visible(strings.TrimRight(line, "\r\n")) + "\n")
	}
	return b.String()
}

// shown is the data of a page.
type shown struct {
	Title    string
	Host     string
	Key      string
	Size     int64
	Tree     string
	Query    string
	Hits     []wire.Found
	Total    int
	Note     string // about the result of a search
	Newest   []wire.Found
	Bundle   *shownBundle
	Entry    *shownEntry
	Space    *shownSpace
	NotFound bool
}

type shownBundle struct {
	ID, Full string
	Line     *wire.Line
	Newest   bool
	Versions []*wire.Line // newest first
	Signers  []shownSigner
	Found    wire.Found
	Texts    []shownText
	More     int // items whose text is not shown
}

type shownSigner struct {
	Key, Owner   string
	First, Until string
	Versions     int
	Bound        *wire.BoundKey
}

// shownText is a file of a bundle. HTML is a text in Markdown, as a page shows it.
type shownText struct {
	Path, Text string
	HTML       template.HTML
}

type shownEntry struct {
	Index int64
	Text  string
	Proof string
}

type shownSpace struct {
	Name  string
	Keys  []wire.BoundKey
	Names []string
}

// page serves what show returns.
func (s *Server) page(show func(ctx context.Context, h *http.Request, m *rules.State) (*shown, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, h *http.Request) {
		v, err := show(h.Context(), h, s.snapshot())
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.notFoundPage(w)
		case err != nil:
			s.fail(w, h, err)
		default:
			s.render(w, http.StatusOK, v)
		}
	}
}

func (s *Server) notFoundPage(w http.ResponseWriter) {
	s.render(w, http.StatusNotFound, &shown{Title: "Not found", NotFound: true})
}

func (s *Server) render(w http.ResponseWriter, status int, v *shown) {
	s.mu.RLock()
	tree := s.writer.Tree()
	s.mu.RUnlock()
	v.Host, v.Key, v.Size, v.Tree = s.host, s.key, tree.Size, tree.Root.String()
	var b bytes.Buffer
	if err := pages().Execute(&b, v); err != nil {
		s.p.Note("showing a page: " + err.Error())
		writeFailure(w, http.StatusInternalServerError, diag.New(diag.RegistryError, "showing the page: the registry has a defect"))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policyHeader)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", cacheShort)
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

func serveStyle(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", cacheHosts)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(styleText)
}

// shownNewest is the number of bundles on the first page.
const shownNewest = 20

func (s *Server) homePage(
	_ context.Context,
	_ *http.Request,
	m *rules.State,
) (*shown, error) {
	v := &shown{Title: s.host, Total: len(m.Bundles)}
	list := m.Sorted()
	slices.SortFunc(list, func(a, b *rules.Bundle) int {
		return int(b.Newest().Log - a.Newest().Log)
	})
	for _, b := range list {
		if len(v.Newest) == shownNewest {
			break
		}
		if f, ok := s.listedFound(b); ok {
			v.Newest = append(v.Newest, f)
		}
	}
	return v, nil
}

// listedFound returns the description of a bundle that lists may show.
func (s *Server) listedFound(b *rules.Bundle) (wire.Found, bool) {
	if !b.Listed() {
		return wire.Found{}, false
	}
	f, err := s.readFound(b.ID)
	if err != nil {
		return f, false
	}
	f.Versions, f.State = len(b.Versions), b.Newest().State
	return f, true
}

func (s *Server) findPage(
	_ context.Context,
	h *http.Request,
	m *rules.State,
) (*shown, error) {
	q := h.URL.Query().Get("q")
	v := &shown{Title: "Search", Query: strings.ToValidUTF8(cuttext.Start(q, 200), "")}
	s.find(m, v)
	return v, nil
}

// maxHits is the number of hits on a page.
const maxHits = 50

// catalog is what the search page finds bundles in, as of one model.
type catalog struct {
	mu    sync.Mutex
	of    *rules.State
	ids   []wire.ID
	items *search.Catalog
}

// find sets the bundles that match the query, the best first.
func (s *Server) find(m *rules.State, v *shown) {
	if v.Query == "" {
		return
	}
	ids, items := s.described(m)
	a, err := items.Search(search.Query{Text: v.Query, Limit: maxHits})
	if err != nil {
		v.Note = diag.Typed(err).Message
		return
	}
	v.Total = a.Total
	v.Note = a.Note
	for _, x := range a.Found {
		f, ok := s.listedFound(m.Bundles[ids[x.Number].String()])
		if ok {
			v.Hits = append(v.Hits, f)
		}
	}
}

// described returns the catalog of a model. It is made by the first search after a change.
func (s *Server) described(m *rules.State) ([]wire.ID, *search.Catalog) {
	s.catalog.mu.Lock()
	defer s.catalog.mu.Unlock()
	if s.catalog.of == m {
		return s.catalog.ids, s.catalog.items
	}
	var ids []wire.ID
	var list []search.Described
	for _, b := range m.Sorted() {
		if f, ok := s.listedFound(b); ok {
			ids = append(ids, b.ID)
			list = append(list, search.Described{Ref: item.Ref{Kind: "bundle", ID: f.ID}, Description: f.Description, Body: f.Words()})
		}
	}
	s.catalog.of, s.catalog.ids, s.catalog.items = m, ids, search.NewCatalog(list)
	return ids, s.catalog.items
}

// bundlePage shows one version of a bundle.
func (s *Server) bundlePage(
	ctx context.Context,
	h *http.Request,
	m *rules.State,
) (*shown, error) {
	name := h.PathValue("ns") + "/" + h.PathValue("name")
	version := h.PathValue("version")
	if major := h.PathValue("major"); major != "" {
		name += "/" + major
	} else if m.Bundles[name+"/"+version] != nil {
		name = name + "/" + version
		version = ""
	}
	b := m.Bundles[name]
	if b == nil {
		return nil, fs.ErrNotExist
	}
	line := b.Newest()
	if version != "" {
		if line = m.Version(name, version); line == nil {
			return nil, fs.ErrNotExist
		}
	}
	v := &shownBundle{
		ID:       name,
		Full:     b.ID.Full(s.host),
		Line:     line,
		Newest:   line == b.Newest(),
		Versions: slices.Clone(b.Versions),
	}
	slices.Reverse(v.Versions)
	v.Found, _ = s.readFound(b.ID)
	v.Signers = s.signers(m, b)
	if err := s.texts(ctx, v); err != nil {
		return nil, err
	}
	return &shown{Title: name + " " + line.Version, Bundle: v}, nil
}

// signers returns who signed versions of a bundle, in the order of their first one.
func (s *Server) signers(m *rules.State, b *rules.Bundle) (out []shownSigner) {
	for _, v := range b.Versions {
		for _, k := range v.Signers {
			i := slices.IndexFunc(out, func(x shownSigner) bool {
				return x.Key == k
			})
			if i < 0 {
				x := shownSigner{Key: k, First: v.Published}
				if d, err := s.keyDocument(k); err == nil {
					x.Owner = d.Owner
				}
				at := m.Namespaces[b.ID.NS].Find(k)
				if at != nil {
					x.Bound = &wire.BoundKey{Method: at.Method, Log: at.Log, Until: wire.TimeText(at.Until)}
				}
				i = len(out)
				out = append(out, x)
			}
			out[i].Versions++
		}
	}
	return out
}

// Limits of the texts on a page.
const (
	maxTexts     = 20
	maxShownText = 64 << 10
	maxRendered  = 1 << 20 // bytes of HTML of all texts of a page
)

// textCache keeps the texts of archives that were shown.
type textCache struct {
	mu    sync.Mutex
	texts map[string]archiveTexts // by the digest of the archive
}

type archiveTexts struct {
	shown []shownText
	more  int
	tried int // texts that were rendered: rendering costs time, also if the result is too long
	bytes int // of the HTML of shown
}

// add adds the text of a file if the limits permit it.
func (t *archiveTexts) add(f wire.File) {
	if t.tried == maxTexts || len(f.Data) > maxShownText {
		t.more++
		return
	}
	t.tried++
	text := shownText{Path: f.Path, Text: string(f.Data)}
	size := len(template.HTMLEscapeString(text.Text))
	if strings.HasSuffix(f.Path, ".md") {
		text.HTML = rendered(text.Text)
		size = max(size, len(text.HTML))
	}
	if t.bytes+size > maxRendered {
		t.more++
		return
	}
	t.bytes += size
	t.shown = append(t.shown, text)
}

// rendered returns the text of a publisher as HTML. The page has the first three levels of headings.
func rendered(text string) template.HTML {
	first, rest, _ := strings.Cut(text, "\n")
	if sign.LooksSigned([]byte(strings.TrimSuffix(first, "\r"))) { // its content is verified, not read
		text = rest
	}
	return markdown.HTML(text, markdown.Options{HeadingsBelow: 3})
}

// maxCachedTexts is the number of archives whose texts are kept.
const maxCachedTexts = 16

// texts reads the texts of the items that a person reads. Markdown is rendered, all others
// are shown as they are.
func (s *Server) texts(ctx context.Context, v *shownBundle) error {
	if v.Line.State == wire.StateDeleted {
		return nil
	}
	digest := v.Line.Archive
	s.texted.mu.Lock()
	t, ok := s.texted.texts[digest]
	s.texted.mu.Unlock()
	if !ok {
		leave, err := s.enter(ctx, s.pages)
		if err != nil {
			return err
		}
		defer leave()
		if t, err = s.readTexts(ctx, digest); err != nil {
			return err
		}
		s.texted.mu.Lock()
		if len(s.texted.texts) >= maxCachedTexts {
			clear(s.texted.texts)
		}
		s.texted.texts[digest] = t
		s.texted.mu.Unlock()
	}
	v.Texts = t.shown
	v.More = t.more
	return nil
}

// readTexts unpacks an archive and keeps nothing of it but what is shown.
func (s *Server) readTexts(ctx context.Context, digest string) (t archiveTexts, err error) {
	in, err := os.Open(s.base.Path(publicDir + archiveFile(digest)))
	if err != nil {
		return t, rules.Unavailable("reading the archive", err)
	}
	defer in.Close()
	_, err = wire.Unpack(ctx, in, func(f wire.File) error {
		if !strings.HasSuffix(f.Path, ".md") && !strings.HasPrefix(f.Path, ".ai/tools/") ||
			strings.HasSuffix(f.Path, ".rye-sig") {
			return nil
		}
		t.add(f)
		return nil
	})
	return t, err
}

// entryPage shows a log entry with the proof that the newest checkpoint covers it.
func (s *Server) entryPage(
	ctx context.Context,
	h *http.Request,
	_ *rules.State,
) (*shown, error) {
	index, err := strconv.ParseInt(h.PathValue("index"), 10, 64)
	s.mu.RLock()
	tree := s.writer.Tree()
	s.mu.RUnlock()
	if err != nil || index < 0 || index >= tree.Size {
		return nil, fs.ErrNotExist
	}
	r := log.NewReader(logFiles{s.base}.Read, tree)
	text, err := r.Entry(ctx, index)
	if err != nil {
		return nil, rules.Unavailable("reading the entry", err)
	}
	p, err := r.Prove(ctx, index)
	if err != nil {
		return nil, rules.Unavailable("proving the entry", err)
	}
	return &shown{Title: "Log entry " + strconv.FormatInt(index, 10), Entry: &shownEntry{Index: index, Text: string(text), Proof: p.String()}}, nil
}

// namespaceOrFile serves /ns/NS.json as a file and /ns/NS as a page.
func (s *Server) namespaceOrFile(w http.ResponseWriter, h *http.Request) {
	if strings.HasSuffix(h.URL.Path, ".json") {
		s.static(w, h)
		return
	}
	s.page(s.namespacePage)(w, h)
}

func (s *Server) namespacePage(
	_ context.Context,
	h *http.Request,
	m *rules.State,
) (*shown, error) {
	ns := h.PathValue("ns")
	n := m.Namespaces[ns]
	if n == nil {
		return nil, fs.ErrNotExist
	}
	v := &shownSpace{Name: ns}
	for _, k := range n.Keys {
		v.Keys = append(v.Keys, wire.BoundKey{
			Key:     k.Key,
			Method:  k.Method,
			Log:     k.Log,
			From:    wire.TimeText(k.From),
			Until:   wire.TimeText(k.Until),
			Removed: k.Removed,
		})
	}
	for _, b := range m.Sorted() {
		if b.ID.NS == ns && b.Listed() {
			v.Names = append(v.Names, b.ID.String())
		}
	}
	return &shown{Title: ns, Space: v}, nil
}
