package gateway

import (
	"context"
	"crypto/subtle"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gateway/access"
	"github.com/ryeos/rye/internal/gateway/host"
	"github.com/ryeos/rye/internal/gateway/page"
	"github.com/ryeos/rye/threads"
)

// Limits of pages.
const (
	shownThreads = 200
	shownItems   = 300
	shownBlocks  = 200
	shownTree    = 100
)

// visit is a request for a page by a signed-in caller.
type visit struct {
	s      *Server
	r      *http.Request
	ctx    context.Context // of this request
	caller *who
	view   *host.View
}

func (v *visit) may(role access.Role) bool {
	return v.caller.key.Role.Includes(role)
}

// shown is a page to render.
type shown struct {
	title, template string
	here            string // the path of its view in the menu
	live            string // the path of its stream
	data            any
}

// servePages adds the routes of the pages.
func (s *Server) servePages() {
	s.routes.HandleFunc("GET "+page.AssetPath, s.pages.Asset)
	s.routes.HandleFunc("GET /login", s.loginPage)
	s.routes.HandleFunc("POST /login", s.signIn)
	s.routes.HandleFunc("POST /logout", s.signOut)
	s.page("GET /{$}", access.Viewer, threadsPage)
	s.page("GET /t/{id}", access.Viewer, threadPageOf)
	s.page("GET /t/{id}/diff", access.Viewer, diffPage)
	s.page("GET /approvals", access.Viewer, approvalsPage)
	s.page("GET /spend", access.Viewer, spendPage)
	s.page("GET /items", access.Viewer, itemsPage)
	s.page("GET /items/{ref...}", access.Viewer, itemPage)
	s.page("GET /start", access.Operator, startPage)
	s.page("GET /audit", access.Admin, auditPage)
	s.form("POST /start", access.Operator, startThread)
	s.form("POST /t/{id}/do", access.Operator, doThread)
	s.form("POST /t/{id}/decide", access.Operator, decide)
	s.routes.HandleFunc("GET /live/", s.live)
	s.routes.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.problem(w, http.StatusNotFound, "Not found", "The gateway has no such page.")
	})
}

// page adds a page.
func (s *Server) page(
	pattern string,
	role access.Role,
	show func(*visit) (*shown, error),
) {
	s.routes.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		v, ok := s.visit(w, r, role)
		if !ok {
			return
		}
		x, err := show(v)
		if err != nil {
			s.failPage(w, err)
			return
		}
		s.write(w, v, x, "")
	})
}

// visit returns the visit of a caller with a role. If ok is false, it has answered.
func (s *Server) visit(
	w http.ResponseWriter,
	r *http.Request,
	role access.Role,
) (v *visit, ok bool) {
	caller, status, err := s.authorize(r, role)
	switch {
	case status == http.StatusUnauthorized:
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return nil, false
	case err != nil:
		s.problem(w, status, http.StatusText(status), diag.Typed(err).Error())
		return nil, false
	}
	return &visit{
		s:      s,
		r:      r,
		ctx:    r.Context(),
		caller: caller,
		view:   s.view(caller),
	}, true
}

// form adds a route for a form of a page. do returns the path of the next page.
func (s *Server) form(
	pattern string,
	role access.Role,
	do func(*visit) (string, error),
) {
	s.routes.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		body := digestBody(r)
		v, ok := s.visit(w, r, role)
		if !ok {
			return
		}
		status := http.StatusSeeOther
		defer func() {
			s.record(w, r, v.caller, body.text(), status)
		}()
		err := r.ParseForm()
		// The token is in a page that another origin cannot read.
		given := r.PostForm.Get("form")
		if err != nil ||
			subtle.ConstantTimeCompare([]byte(given), []byte(v.caller.form)) != 1 ||
			given == "" {
			status = http.StatusForbidden
			s.problem(w, status, "Not done", "The form is not of this session. Go back, load the page again, and repeat it.")
			return
		}
		next, err := do(v)
		if err != nil {
			status = statusOf(err)
			s.failPage(w, err)
			return
		}
		http.Redirect(w, r, next, status)
	})
}

// frame returns the parts that all pages have.
func (v *visit) frame(x *shown) (*page.Frame, error) {
	// The sums of the head are of everything that the caller sees, also on the page of one thread.
	f := &page.Frame{
		Title:    x.title,
		Live:     x.live,
		SignedIn: true,
		Caller:   v.caller.key.Name,
		Role:     string(v.caller.key.Role),
		MayAct:   v.may(access.Operator),
		Form:     v.caller.form,
	}
	list, err := v.view.Threads(v.ctx)
	if err != nil {
		return nil, err
	}
	open, err := v.view.Approvals(v.ctx)
	if err != nil {
		return nil, err
	}
	spend, err := v.view.Spend(v.ctx)
	if err != nil {
		return nil, err
	}
	f.Asks = len(open)
	for i := range list {
		if list[i].State == threads.Running {
			f.Running++
		}
	}
	if len(spend.Periods) > 0 {
		today := spend.Periods[0]
		f.Today = today.Spend
		if today.Limited {
			f.TodayMax = today.Max
		}
	}
	for _, m := range menu() {
		if m.Path == "/audit" && !v.may(access.Admin) {
			continue
		}
		m.Here = m.Path == x.here
		f.Menu = append(f.Menu, m)
	}
	return f, nil
}

// menu has the views.
func menu() []page.Choice {
	return []page.Choice{
		{Name: "Threads", Path: "/"},
		{Name: "Approvals", Path: "/approvals"},
		{Name: "Spend", Path: "/spend"},
		{Name: "Items", Path: "/items"},
		{Name: "Audit", Path: "/audit"},
	}
}

// write writes a page.
func (s *Server) write(
	w http.ResponseWriter,
	v *visit,
	x *shown,
	notice string,
) {
	f, err := v.frame(x)
	if err == nil {
		f.Notice = notice
		f.Body, err = s.pages.Render(x.template, x.data)
	}
	if err != nil {
		s.failPage(w, err)
		return
	}
	s.writeFrame(w, http.StatusOK, f)
}

func (s *Server) writeFrame(w http.ResponseWriter, status int, f *page.Frame) {
	b, err := s.pages.Page(*f)
	if err != nil {
		s.note("showing a page: " + err.Error())
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

// problem writes a page about an error.
func (s *Server) problem(w http.ResponseWriter, status int, heading, text string) {
	body, err := s.pages.Render("problem", page.Problem{Heading: heading, Text: text})
	if err != nil {
		s.note("showing a page: " + err.Error())
	}
	s.writeFrame(w, status, &page.Frame{Title: heading, Body: body})
}

func (s *Server) failPage(w http.ResponseWriter, err error) {
	e := diag.Typed(err)
	heading := "Not done"
	if e.Code.Class() == diag.ClassNotFound {
		heading = "Not found"
	}
	s.problem(w, statusOf(err), heading, diag.Redact(e.Error()))
}

func (s *Server) loginPage(w http.ResponseWriter, _ *http.Request) {
	s.showLogin(w, http.StatusOK, "")
}

func (s *Server) showLogin(w http.ResponseWriter, status int, notice string) {
	body, err := s.pages.Render("login", nil)
	if err != nil {
		s.note("showing a page: " + err.Error())
	}
	s.writeFrame(w, status, &page.Frame{
		Title:  "Sign in",
		Body:   body,
		Notice: notice,
	})
}

// signIn begins a session for a code of this computer, or for a key.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	address := s.address(r)
	if wait := s.limits.signIn(address); wait > 0 {
		tooMany(w, wait)
		return
	}
	secret := strings.TrimSpace(r.PostFormValue("secret"))
	key, err := s.p.Keys.Find(secret)
	if isLocal(address) && s.p.Keys.UseCode(secret) {
		key, err = access.Local(), nil
	}
	if err != nil {
		s.record(w, r, nil, "", http.StatusUnauthorized)
		s.showLogin(w, http.StatusUnauthorized, "This is not a valid key, and not a code that was made in the last minute.")
		return
	}
	http.SetCookie(w, s.cookie(s.sessions.begin(key.ID)))
	s.record(w, r, &who{key: key}, "", http.StatusSeeOther)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (s *Server) signOut(w http.ResponseWriter, r *http.Request) {
	// Without a session there is nothing to end.
	c, err := r.Cookie(s.cookieName())
	if err == nil {
		s.sessions.end(c.Value)
	}
	http.SetCookie(w, s.cookie(""))
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// states are the choices of the list of threads.
func states() []page.Choice {
	return []page.Choice{
		{Name: "all"},
		{Name: "running", Path: threads.Running},
		{Name: "asks", Path: "asks"},
		{Name: "failed", Path: threads.Failed},
	}
}

func threadsPage(v *visit) (*shown, error) {
	data, err := listOf(v, v.r.URL.Query())
	if err != nil {
		return nil, err
	}
	return &shown{
		title:    "Threads",
		template: "threads",
		here:     "/",
		live:     "/live/threads?" + v.r.URL.RawQuery,
		data:     data,
	}, nil
}

// listOf returns the list of threads that a query selects.
func listOf(v *visit, query url.Values) (*page.Threads, error) {
	list, err := v.view.Threads(v.ctx)
	if err != nil {
		return nil, err
	}
	data := &page.Threads{Query: query.Get("q")}
	in := listInput{State: query.Get("state")}
	for _, c := range states() {
		c.Here = c.Path == in.State
		set := url.Values{}
		if c.Path != "" {
			set.Set("state", c.Path)
		}
		if data.Query != "" {
			set.Set("q", data.Query)
		}
		c.Path = "/?" + set.Encode()
		data.States = append(data.States, c)
	}
	data.Filtered = data.Query != "" || in.State != ""
	words := strings.Fields(strings.ToLower(data.Query))
	list = slices.DeleteFunc(list, func(t host.Thread) bool {
		text := strings.ToLower(
			t.Item + " " + t.Name + " " + t.ID + " " + t.State,
		)
		missing := slices.ContainsFunc(words, func(w string) bool {
			return !strings.Contains(text, w)
		})
		return missing || !in.selects(&t)
	})
	data.More = max(0, len(list)-shownThreads)
	data.Threads = list[:min(len(list), shownThreads)]
	if data.Filtered {
		// The parents of what matches may be missing.
		for i := range data.Threads {
			data.Threads[i].Level = 0
		}
	}
	return data, nil
}

func threadPageOf(v *visit) (*shown, error) {
	id := v.r.PathValue("id")
	all := v.r.URL.Query().Get("all") == "1"
	data, err := conversation(v, id, all)
	if err != nil {
		return nil, err
	}
	live := "/live/t/" + id
	if all {
		live += "?all=1"
	}
	return &shown{
		title:    "Thread " + data.Thread.Item,
		template: "thread",
		live:     live,
		data:     data,
	}, nil
}

// conversation returns a thread as a page shows it.
func conversation(v *visit, id string, all bool) (*page.Thread, error) {
	detail, err := v.view.Thread(v.ctx, id)
	if err != nil {
		return nil, err
	}
	tree, _, err := v.view.Activity(v.ctx, id)
	if err != nil {
		return nil, err
	}
	data := &page.Thread{
		Thread: detail,
		Turn:   tree.Turn,
		Blocks: page.Blocks(tree, v.s.p.Now()),
		Form:   v.caller.form,
	}
	// The ids of the elements count all blocks, so that the stream replaces the same ones.
	if !all && len(data.Blocks) > shownBlocks {
		data.Older = len(data.Blocks) - shownBlocks
		data.Blocks = data.Blocks[data.Older:]
	}
	data.Copy = v.view.HasCopy(v.ctx, id)
	below, err := v.view.Tree(v.ctx, id)
	if err == nil {
		data.Tree = below[:min(len(below), shownTree)]
		page.NameChildren(data.Blocks, below)
	}
	open, err := v.view.ApprovalsOf(v.ctx, id)
	if err != nil {
		return nil, err
	}
	for i := range open {
		data.Questions = append(data.Questions, v.question(&open[i], "/t/"+id, false))
	}
	if v.may(access.Operator) {
		data.Actions = v.actions(detail)
		data.MayMessage = detail.Kind == "thread" &&
			len(open) == 0 &&
			(detail.State == threads.Running || detail.State == threads.Suspended)
	}
	return data, nil
}

// question returns a question with the answers that the caller may give.
func (v *visit) question(
	a *host.Approval,
	back string,
	named bool,
) page.Question {
	q := page.AskedOf(a, func(decision string) bool {
		return v.caller.key.Role.Approves(a.Risk(), decision) == nil
	})
	q.Back = back
	q.Named = named
	q.Form = v.caller.form
	return q
}

// actions returns the buttons of a thread.
func (v *visit) actions(t *host.Detail) []page.Action {
	cancel := page.Action{Name: "cancel", Label: "Cancel", Danger: true}
	switch {
	case t.State == threads.Running && t.Kind == "thread":
		out := []page.Action{{Name: "suspend", Label: "Suspend"}, cancel}
		if v.may(access.Admin) {
			out = append(out, page.Action{Name: "kill", Label: "Kill", Danger: true})
		}
		return out
	case t.State == threads.Running:
		return []page.Action{cancel}
	case t.State == threads.Suspended && t.Asks == nil && t.Kind == "thread":
		return []page.Action{{Name: "resume", Label: "Continue"}, cancel}
	case t.State == threads.Suspended:
		return []page.Action{cancel}
	case t.State == threads.Failed && t.Reason == threads.Orphaned:
		return []page.Action{{Name: "resume", Label: "Continue"}}
	}
	return nil
}

func approvalsPage(v *visit) (*shown, error) {
	data, err := openQuestions(v)
	if err != nil {
		return nil, err
	}
	return &shown{
		title:    "Approvals",
		template: "approvals",
		here:     "/approvals",
		live:     "/live/approvals",
		data:     data,
	}, nil
}

func openQuestions(v *visit) (*page.Approvals, error) {
	open, err := v.view.Approvals(v.ctx)
	if err != nil {
		return nil, err
	}
	data := &page.Approvals{}
	for i := range open {
		data.Questions = append(data.Questions, v.question(&open[i], "/approvals", true))
	}
	return data, nil
}

func spendPage(v *visit) (*shown, error) {
	spend, err := v.view.Spend(v.ctx)
	if err != nil {
		return nil, err
	}
	return &shown{
		title:    "Spend",
		template: "spend",
		here:     "/spend",
		data:     page.Spend{Spend: spend},
	}, nil
}

func itemsPage(v *visit) (*shown, error) {
	q := v.r.URL.Query()
	kind := q.Get("kind")
	list, err := v.view.Items(v.ctx, q.Get("q"), kind)
	if err != nil {
		return nil, err
	}
	data := &page.Items{
		Query: q.Get("q"),
		More:  max(0, len(list)-shownItems),
		Items: list[:min(len(list), shownItems)],
	}
	for _, k := range []string{"", "directive", "tool", "knowledge", "config"} {
		c := page.Choice{Name: k, Path: "/items?kind=" + k, Here: k == kind}
		if k == "" {
			c.Name = "all"
			c.Path = "/items"
		}
		data.Kinds = append(data.Kinds, c)
	}
	return &shown{
		title:    "Items",
		template: "items",
		here:     "/items",
		data:     data,
	}, nil
}

func itemPage(v *visit) (*shown, error) {
	it, err := v.view.Item(v.ctx, "", v.r.PathValue("ref"))
	if err != nil {
		return nil, err
	}
	return &shown{
		title:    it.Ref,
		template: "item",
		here:     "/items",
		data: page.Item{
			Item:     it,
			MayStart: it.Kind == "directive" && it.Trust == "trusted" && v.may(access.Operator),
		},
	}, nil
}

func auditPage(v *visit) (*shown, error) {
	data, err := v.s.audit()
	if err != nil {
		return nil, err
	}
	return &shown{
		title:    "Audit",
		template: "audit",
		here:     "/audit",
		data:     data,
	}, nil
}

// fragment is an element of a page that changed.
type fragment struct {
	Parent string        `json:"parent,omitempty"` // to which a new element is added
	HTML   template.HTML `json:"html"`
}
