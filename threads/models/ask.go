package models

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/provider"
)

// askTimeout bounds one question to a service, askMax the bytes of its answer.
const (
	askTimeout = 15 * time.Second
	askMax     = 16 << 20
)

// Found is what a service answered about itself.
type Found struct {
	Address  *Address
	Dialect  string
	Root     string // path of the API; see Address.Endpoint
	Software string // the server, "" if it is not known
	Models   []Model
	Certain  bool     // the dialect is stated or was recognised; otherwise calls must show it
	AsHeader string   // the header with the key; "" is Authorization: Bearer
	Asked    []string // addresses without an answer that helps, with what came
	rules    *Rules
}

// asker asks one service.
type asker struct {
	address *Address
	key     string
	found   *Found
	client  *httpx.Client
}

// Ask finds out what a service is, by few questions, in this order: the list of models
// of the API that the URL names (/v1/models for a bare host), with the key as a bearer
// token, then as x-api-key; the list of Ollama (/api/tags); the list of the Gemini API
// (/v1beta/models). A dialect that the person or the URL names is kept, and only its
// list is read. The error is nil if the service was reached, even if it has no list.
func Ask(ctx context.Context, rules *Rules, w Wish, key string) (*Found, error) {
	address, err := ParseAddress(w.URL)
	if err != nil {
		return nil, err
	}
	dialect := w.Dialect
	if dialect == "" {
		dialect = address.Dialect
	}
	f := &Found{
		Address: address,
		Dialect: dialect,
		Certain: dialect != "",
		Root:    address.roots()[0],
		rules:   rules,
	}
	if f.Dialect == "" {
		f.Dialect = provider.Chat
	}
	a := &asker{address: address, key: key, found: f}
	if err := a.connect(); err != nil {
		return nil, err
	}
	defer func() { a.client.Close() }()
	if err := a.lists(ctx, dialect); err != nil {
		return f, err
	}
	f.AsHeader = headerOf(f.Dialect, f.AsHeader, key)
	return f, nil
}

// headerOf returns the header in which a dialect has the key, "" for a bearer token.
func headerOf(dialect, found, key string) string {
	switch {
	case key == "" || found != "":
		return found
	case dialect == provider.Anthropic:
		return "x-api-key"
	case dialect == provider.Gemini:
		return "x-goog-api-key"
	}
	return ""
}

// connect makes the client, which reaches the host of the service only.
func (a *asker) connect() error {
	p := httpx.Params{ConnectTimeout: askTimeout}
	if a.address.Private != "" {
		p.AllowPrivate = []string{a.address.Private}
	}
	client, err := httpx.New(p)
	if err != nil {
		return err
	}
	if a.client != nil {
		a.client.Close()
	}
	a.client = client
	return nil
}

// lists asks for the lists until one answers.
func (a *asker) lists(ctx context.Context, dialect string) error {
	if dialect == "" || dialect == provider.Chat || dialect == provider.Responses || dialect == provider.Anthropic {
		done, err := a.common(ctx, dialect)
		if done || err != nil {
			return err
		}
	}
	if dialect == "" || dialect == provider.Ollama {
		done, err := a.ollama(ctx)
		if done || err != nil {
			return err
		}
	}
	if dialect == "" || dialect == provider.Gemini {
		_, err := a.gemini(ctx, dialect == provider.Gemini)
		return err
	}
	return nil
}

// common asks for the list that the APIs of OpenAI and Anthropic have at one path.
func (a *asker) common(ctx context.Context, dialect string) (done bool, err error) {
	for _, root := range a.address.roots() {
		url := a.address.Host + root + "/models"
		header := a.bearer()
		if dialect == provider.Anthropic {
			header = a.apiKey()
		}
		res, err := a.get(ctx, url, header)
		if err != nil {
			return false, err
		}
		refused := res.Status == http.StatusUnauthorized || res.Status == http.StatusForbidden
		if refused && a.key != "" && dialect == "" {
			other, oerr := a.get(ctx, url, a.apiKey())
			if oerr == nil && other.Status == http.StatusOK {
				res = other
				refused = false
				a.found.AsHeader = "x-api-key"
			}
		}
		if refused {
			return false, refusal(a.address, a.key, res)
		}
		l, isList := readList(res.Body)
		if res.Status != http.StatusOK || !isList {
			a.note(url, res)
			continue
		}
		a.found.Root = root
		a.found.Models = l.models
		if dialect == "" {
			a.recognise(ctx, l)
		}
		a.software(ctx)
		return true, nil
	}
	return false, nil
}

// recognise sets the dialect by the form of the list. Ollama has a list of the form of
// OpenAI too: its own dialect states the window in each request, so it is preferred.
func (a *asker) recognise(ctx context.Context, l list) {
	a.found.Certain = true
	a.found.Dialect = l.dialect
	if l.dialect != "" {
		return
	}
	a.found.Dialect = provider.Chat
	ownedByLibrary := func(m Model) bool { return m.ownedBy == "library" }
	if len(l.models) > 0 && !slices.ContainsFunc(l.models, ownedByLibrary) {
		return
	}
	done, err := a.ollama(ctx)
	if err == nil && !done && len(l.models) == 0 {
		a.found.Certain = false // a list without models shows no form
	}
}

// software finds out which server has a list of the form of OpenAI.
func (a *asker) software(ctx context.Context) {
	for _, m := range a.found.Models {
		switch {
		case m.ownedBy == "llamacpp" || m.trainedFor > 0:
			a.found.Software = "llama.cpp"
		case m.ownedBy == "vllm":
			a.found.Software = "vLLM"
		case m.ownedBy == "organization_owner" && m.Window == 0:
			a.lmStudio(ctx)
		default:
			continue
		}
		return
	}
}

// lmStudio reads the list of LM Studio, which has the windows of the models.
func (a *asker) lmStudio(ctx context.Context) {
	res, err := a.get(ctx, a.address.Host+"/api/v0/models", a.bearer())
	if err != nil || res.Status != http.StatusOK {
		return
	}
	l, ok := readList(res.Body)
	if ok && len(l.models) > 0 {
		a.found.Models = l.models
		a.found.Software = "LM Studio"
	}
}

// ollama asks for the list of Ollama.
func (a *asker) ollama(ctx context.Context) (done bool, err error) {
	url := a.address.Host + a.address.ollamaRoot() + "/api/tags"
	res, err := a.get(ctx, url, a.bearer())
	if err != nil {
		return false, err
	}
	tags, isList := readTags(res.Body)
	if res.Status != http.StatusOK || !isList {
		a.note(url, res)
		return false, nil
	}
	a.found.Dialect = provider.Ollama
	a.found.Certain = true
	a.found.Software = "Ollama"
	a.found.Models = tags
	return true, nil
}

// gemini asks for the list of the Gemini API.
func (a *asker) gemini(ctx context.Context, stated bool) (done bool, err error) {
	url := a.address.Host + a.address.geminiRoot() + "/models"
	header := http.Header{}
	if a.key != "" {
		header.Set("X-Goog-Api-Key", a.key)
	}
	res, err := a.get(ctx, url, header)
	if err != nil {
		return false, err
	}
	if stated && (res.Status == http.StatusUnauthorized || res.Status == http.StatusForbidden) {
		return false, refusal(a.address, a.key, res)
	}
	l, isList := readList(res.Body)
	if res.Status != http.StatusOK || !isList || !stated && l.dialect != provider.Gemini {
		a.note(url, res)
		return false, nil
	}
	a.found.Dialect = provider.Gemini
	a.found.Certain = true
	a.found.Models = l.models
	return true, nil
}

// Describe completes what is known about a model by a question that concerns it alone.
func (f *Found) Describe(ctx context.Context, m *Model, key string) {
	a := &asker{address: f.Address, key: key, found: f}
	if a.connect() != nil {
		return
	}
	defer a.client.Close()
	switch f.Software {
	case "Ollama":
		body, err := json.Marshal(map[string]string{"model": m.ID})
		if err != nil {
			return
		}
		req := httpx.Request{
			Method: http.MethodPost,
			URL:    f.Address.Host + f.Address.ollamaRoot() + "/api/show",
			Header: a.bearer(),
			Body:   body,
		}
		res, err := a.send(ctx, req)
		if err == nil && res.Status == http.StatusOK {
			readShow(res.Body, m)
		}
	case "llama.cpp":
		res, err := a.get(ctx, f.Address.Host+"/props", a.bearer())
		if err == nil && res.Status == http.StatusOK {
			readProps(res.Body, m)
		}
	}
}

func (a *asker) bearer() http.Header {
	h := http.Header{}
	if a.key != "" {
		h.Set("Authorization", "Bearer "+a.key)
	}
	return h
}

func (a *asker) apiKey() http.Header {
	h := http.Header{}
	h.Set("Anthropic-Version", "2023-06-01")
	if a.key != "" {
		h.Set("X-Api-Key", a.key)
	}
	return h
}

// get sends one question. A host that is not public is permitted then, because the
// person named it.
func (a *asker) get(
	ctx context.Context,
	url string,
	header http.Header,
) (*httpx.Response, error) {
	return a.send(ctx, httpx.Request{Method: http.MethodGet, URL: url, Header: header})
}

func (a *asker) send(ctx context.Context, req httpx.Request) (*httpx.Response, error) {
	req.MaxBytes = askMax
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "rye")
	if req.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	// A key goes over an unencrypted connection to a host of this network only.
	if a.key != "" &&
		strings.HasPrefix(req.URL, "http://") &&
		a.address.Private == "" {
		ask := req
		ask.Header = http.Header{}
		if _, err := a.once(ctx, ask); err != nil {
			return nil, err
		}
		if a.address.Private == "" {
			return nil, diag.New(diag.ConfigError, "asking %s: the address begins with http:// and would send the key unencrypted; write https://", httpx.Shown(req.URL))
		}
	}
	return a.once(ctx, req)
}

func (a *asker) once(ctx context.Context, req httpx.Request) (*httpx.Response, error) {
	within, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	res, err := a.client.Do(within, req)
	if diag.CodeOf(err) == diag.PolicyDenied &&
		a.address.Private == "" &&
		isPrivate(err) {
		a.address.Private = a.address.hostname()
		if cerr := a.connect(); cerr != nil {
			return nil, cerr
		}
		res, err = a.client.Do(within, req)
	}
	if err != nil {
		return nil, Unreachable(a.address, err)
	}
	return res, nil
}

// note remembers a question whose answer is not a list.
func (a *asker) note(url string, res *httpx.Response) {
	what := fmt.Sprint("status ", res.Status)
	if to := res.Header.Get("Location"); to != "" {
		what += " to " + httpx.Shown(to)
	}
	if res.Status == http.StatusOK {
		what = "not a list of models"
		if isPage(res.Body) {
			what = "a web page"
		}
	}
	a.found.Asked = append(
		a.found.Asked,
		strings.TrimPrefix(url, a.address.Host)+" ("+what+")",
	)
}

// isPage reports whether a body is HTML.
func isPage(body []byte) bool {
	head := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 512)]))
	return bytes.HasPrefix(head, []byte("<!doctype html")) ||
		bytes.HasPrefix(head, []byte("<html"))
}

// Chat returns the models that answer to messages; all of them if none seems to.
func (f *Found) Chat() []Model {
	var out []Model
	for _, m := range f.Models {
		if m.Chats && f.rules.answersMessages(m.ID) {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return f.Models
	}
	return out
}

// Named returns the listed model with a name. Ollama leaves out ":latest".
func (f *Found) Named(name string) (Model, bool) {
	i := slices.IndexFunc(f.Models, func(m Model) bool {
		return m.ID == name || f.Software == "Ollama" && m.ID == name+":latest"
	})
	if i < 0 {
		return Model{ID: name}, false
	}
	m := f.Models[i]
	m.ID = name
	return m, true
}

// Names returns the names of the models that answer to messages.
func (f *Found) Names() []string {
	var out []string
	for _, m := range f.Chat() {
		out = append(out, m.ID)
	}
	return out
}
