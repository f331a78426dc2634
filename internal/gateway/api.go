package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gateway/access"
	"github.com/ryeos/rye/internal/gateway/host"
)

// apiPath is the path of the API.
const apiPath = "/api/v1"

// Request is a part of every input: it has the request, of which the caller is read. The framework reads
// exported parts only.
type Request struct {
	r *http.Request
}

// Resolve implements huma.Resolver.
func (q *Request) Resolve(ctx huma.Context) []error {
	q.r, _ = humago.Unwrap(ctx)
	return nil
}

func (q *Request) http() *http.Request {
	return q.r
}

// requested is an input.
type requested interface {
	http() *http.Request
}

// ThreadPath is the part of an input that names a thread.
type ThreadPath struct {
	Request

	ID string `path:"id" maxLength:"200" doc:"the whole id of the thread"`
}

// operation describes a route.
type operation struct {
	id      string
	method  string
	path    string
	summary string
	role    access.Role
	status  int // of a success, 0 for 200
}

// handle adds a route to the API. The caller is authorized before anything of the request is read.
func handle[I any, O any](
	s *Server,
	op operation,
	do func(ctx context.Context, v *host.View, caller *who, in *I) (O, error),
) {
	status := op.status
	if status == 0 {
		status = http.StatusOK
	}
	s.roles[op.method+" "+apiPath+op.path] = op.role
	huma.Register(s.api, huma.Operation{
		OperationID:   op.id,
		Method:        op.method,
		Path:          apiPath + op.path,
		Summary:       op.summary,
		DefaultStatus: status,
		MaxBodyBytes:  maxBody,
		Errors:        []int{400, 401, 402, 403, 404, 409, 413, 415, 429, 500, 502},
		Security:      []map[string][]string{{"key": {}}, {"session": {}}},
		Description:   "Needs the role " + string(op.role) + ".",
		Middlewares:   huma.Middlewares{s.guard(op)},
	}, func(ctx context.Context, in *I) (*reply[O], error) {
		caller, code, err := s.caller(any(in).(requested).http())
		if err != nil {
			return nil, failed(code, err)
		}
		data, err := do(ctx, s.view(caller), caller, in)
		if err != nil {
			return nil, failedAct(err)
		}
		out := ok(data)
		out.Status = status
		return out, nil
	})
}

// caller returns the caller of a request that was authorized.
func (s *Server) caller(r *http.Request) (*who, int, error) {
	caller, err := s.identify(r)
	return caller, http.StatusUnauthorized, err
}

// guard authorizes the caller, and records what may change something.
func (s *Server) guard(op operation) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		caller, status, err := s.authorize(r, op.role)
		if err == nil && op.method == http.MethodPost {
			status, err = s.mayPost(r, op, caller)
		}
		if err != nil {
			fail(w, status, err)
			if op.method == http.MethodPost {
				s.record(w, r, caller, "", status)
			}
			return
		}
		if op.method != http.MethodPost {
			next(ctx)
			return
		}
		body := digestBody(r)
		next(ctx)
		s.record(w, r, caller, body.text(), ctx.Status())
	}
}

// mayPost checks what the framework does not: the type of the body, and the rate of starts. A form of
// another page can send text/plain without asking.
func (s *Server) mayPost(
	r *http.Request,
	op operation,
	caller *who,
) (int, error) {
	// A parameter such as a charset changes nothing.
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return http.StatusUnsupportedMediaType, diag.New(diag.Usage, "reading the request: its Content-Type must be application/json")
	}
	if caller.form != "" && r.Header.Get("Origin") == "" {
		// A browser states the origin of each POST; a session without it is not from a browser.
		return http.StatusForbidden, diag.New(diag.PermissionDenied, "reading the request: a session of a browser needs the header Origin")
	}
	if op.id == "startThread" {
		if wait := s.limits.start(caller.key.ID); wait > 0 {
			return http.StatusTooManyRequests, busy(wait)
		}
	}
	return 0, nil
}

// serveAPI adds the routes of the API.
func (s *Server) serveAPI() {
	useOwnErrors()
	config := huma.DefaultConfig("rye gateway", "1")
	config.DocsPath = "" // the page of the framework loads script from another host
	config.SchemasPath = ""
	config.OpenAPIPath = "" // it is served below, for a key
	config.CreateHooks = nil
	config.Formats = map[string]huma.Format{"application/json": strictJSON(), "json": strictJSON()}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"key":     {Type: "http", Scheme: "bearer", Description: "a key of rye gateway key new"},
		"session": {Type: "apiKey", In: "cookie", Name: s.cookieName()},
	}
	s.api = humago.New(s.routes, config)
	s.readRoutes()
	s.threadRoutes()
	s.itemRoutes()
	s.rawRoutes()
}

// listInput selects threads.
type listInput struct {
	Request

	State   string `query:"state" maxLength:"40" doc:"only threads with this state; asks: only those that ask a person"`
	Project string `query:"project" maxLength:"4096"`
	Root    string `query:"root" maxLength:"200"`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Cursor  string `query:"cursor" maxLength:"200" doc:"the next of the page before"`
}

// threadPage is a page of threads.
type threadPage struct {
	Threads []host.Thread `json:"threads"`
	Total   int           `json:"total" doc:"of all pages"`
	Next    string        `json:"next,omitempty"`
}

// selects reports whether a thread is one of those that are asked for.
func (in *listInput) selects(t *host.Thread) bool {
	return (in.Project == "" || in.Project == t.Project) &&
		(in.Root == "" || in.Root == t.Root) &&
		(in.State == "" || in.State == t.State || in.State == "asks" && t.Asks != nil)
}

func (in *listInput) page(list []host.Thread) (*threadPage, error) {
	list = slices.DeleteFunc(list, func(t host.Thread) bool {
		return !in.selects(&t)
	})
	// The cursor is the next thread, so new threads at the beginning move no page.
	from := 0
	if in.Cursor != "" {
		at := slices.IndexFunc(list, func(t host.Thread) bool {
			return t.ID == in.Cursor
		})
		if at < 0 {
			return nil, diag.New(diag.Usage, "reading the cursor: it is not of this list")
		}
		from = at
	}
	end := min(len(list), from+in.Limit)
	out := &threadPage{Threads: list[from:end], Total: len(list)}
	if end < len(list) {
		out.Next = list[end].ID
	}
	return out, nil
}

// logInput selects lines of a log.
type logInput struct {
	ThreadPath

	From  int64 `query:"from" minimum:"1" default:"1"`
	Limit int64 `query:"limit" minimum:"1" maximum:"500" default:"500"`
}

// treeOf is a thread with all below it.
type treeOf struct {
	Threads []host.Thread `json:"threads"`
}

func (s *Server) readRoutes() {
	handle(s, operation{
		id:      "listThreads",
		method:  "GET",
		path:    "/threads",
		summary: "List threads: roots from the newest on, each followed by those below it",
		role:    access.Viewer,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			in *listInput,
		) (*threadPage, error) {
			list, err := v.Threads(ctx)
			if err != nil {
				return nil, err
			}
			return in.page(list)
		})
	handle(s, operation{
		id:      "getThread",
		method:  "GET",
		path:    "/threads/{id}",
		summary: "Read one thread",
		role:    access.Viewer,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			in *ThreadPath,
		) (*host.Detail, error) {
			return v.Thread(ctx, in.ID)
		})
	handle(s, operation{
		id:      "getTree",
		method:  "GET",
		path:    "/threads/{id}/tree",
		summary: "List a thread with all below it",
		role:    access.Viewer,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			in *ThreadPath,
		) (*treeOf, error) {
			list, err := v.Tree(ctx, in.ID)
			return &treeOf{Threads: list}, err
		})
	handle(s, operation{
		id:      "getCost",
		method:  "GET",
		path:    "/threads/{id}/cost",
		summary: "Read what a thread cost with all below it",
		role:    access.Viewer,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			in *ThreadPath,
		) (*host.Cost, error) {
			return v.Cost(ctx, in.ID)
		})
	handle(s, operation{
		id:      "getLog",
		method:  "GET",
		path:    "/threads/{id}/log",
		summary: "Read lines of a log",
		role:    access.Viewer,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			in *logInput,
		) (*host.Log, error) {
			return v.Log(ctx, in.ID, in.From, in.Limit)
		})
	handle(s, operation{
		id:      "listApprovals",
		method:  "GET",
		path:    "/approvals",
		summary: "List the open questions, the oldest first",
		role:    access.Viewer,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			_ *Request,
		) (*approvals, error) {
			list, err := v.Approvals(ctx)
			return &approvals{Approvals: list}, err
		})
	handle(s, operation{
		id:      "getSpend",
		method:  "GET",
		path:    "/spend",
		summary: "Read what the account and the threads spent",
		role:    access.Viewer,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			_ *Request,
		) (*host.Spend, error) {
			return v.Spend(ctx)
		})
}

// approvals are open questions.
type approvals struct {
	Approvals []host.Approval `json:"approvals"`
}

// startInput starts a thread.
type startInput struct {
	Request

	Body struct {
		Project   string            `json:"project,omitempty" maxLength:"4096" doc:"a project of the gateway; can be left out if it serves one"`
		Directive string            `json:"directive" minLength:"1" maxLength:"500"`
		Inputs    map[string]any    `json:"inputs,omitempty"`
		Limits    map[string]string `json:"limits,omitempty" doc:"such as spend: 0.20"`
		Model     string            `json:"model,omitempty" maxLength:"200"`
		Message   string            `json:"message,omitempty" maxLength:"200000"`
		Workspace string            `json:"workspace,omitempty" enum:"here,read,copy,worktree"`
	}
}

// limitFlags returns limits in the form of flags.
func limitFlags(limits map[string]string) []string {
	var out []string
	for name, value := range limits {
		out = append(out, name+"="+value)
	}
	// The order of a map differs from start to start, and the first wrong limit is the error.
	slices.Sort(out)
	return out
}

// messageInput is a text for the model of a thread.
type messageInput struct {
	ThreadPath

	Body struct {
		Text string `json:"text" minLength:"1" maxLength:"200000"`
	}
}

// suspendInput suspends a thread.
type suspendInput struct {
	ThreadPath

	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"1000"`
	}
}

// emptyInput has a body without fields: a form of another page cannot send it.
type emptyInput struct {
	ThreadPath

	Body struct{}
}

// decisionInput answers a question.
type decisionInput struct {
	ThreadPath

	Body struct {
		ID       string `json:"approval_id" minLength:"1" maxLength:"500"`
		Decision string `json:"decision" enum:"once,thread,prefix,deny"`
		Digest   string `json:"digest" pattern:"^sha256:[0-9a-f]{64}$" doc:"of the question as it was shown"`
		Feedback string `json:"feedback,omitempty" maxLength:"8192" doc:"the model reads it after a refusal"`
		Prefix   string `json:"prefix,omitempty" maxLength:"2000" doc:"with prefix: the prefixes of the question, separated by a comma and a space"`
	}
}

func (s *Server) threadRoutes() {
	handle(s, operation{
		id:      "startThread",
		method:  "POST",
		path:    "/threads",
		summary: "Start a thread",
		role:    access.Operator,
		status:  http.StatusAccepted,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			in *startInput,
		) (*host.Started, error) {
			return v.Start(ctx, host.Start{
				Project:   in.Body.Project,
				Directive: in.Body.Directive,
				Inputs:    in.Body.Inputs,
				Limits:    limitFlags(in.Body.Limits),
				Model:     in.Body.Model,
				Message:   in.Body.Message,
				Workspace: in.Body.Workspace,
			})
		})
	handle(s, operation{
		id:      "sendMessage",
		method:  "POST",
		path:    "/threads/{id}/message",
		summary: "Pass a text to the model of a thread",
		role:    access.Operator,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			in *messageInput,
		) (*host.State, error) {
			return v.Message(ctx, in.ID, in.Body.Text)
		})
	handle(s, operation{
		id:      "suspendThread",
		method:  "POST",
		path:    "/threads/{id}/suspend",
		summary: "Suspend a thread before its next turn",
		role:    access.Operator,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			in *suspendInput,
		) (*host.State, error) {
			return v.Suspend(ctx, in.ID, in.Body.Reason)
		})
	handle(s, operation{
		id:      "resumeThread",
		method:  "POST",
		path:    "/threads/{id}/resume",
		summary: "Continue a thread that is suspended or was stopped",
		role:    access.Operator,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			in *emptyInput,
		) (*host.State, error) {
			return v.Resume(ctx, in.ID)
		})
	handle(s, operation{
		id:      "cancelThread",
		method:  "POST",
		path:    "/threads/{id}/cancel",
		summary: "Cancel a thread with all below it",
		role:    access.Operator,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			in *emptyInput,
		) (*host.State, error) {
			return v.End(ctx, in.ID, false)
		})
	handle(s, operation{
		id:      "killThread",
		method:  "POST",
		path:    "/threads/{id}/kill",
		summary: "Kill a thread with all below it",
		role:    access.Admin,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			in *emptyInput,
		) (*host.State, error) {
			return v.End(ctx, in.ID, true)
		})
	handle(s, operation{
		id:      "decide",
		method:  "POST",
		path:    "/threads/{id}/decision",
		summary: "Answer a question of a thread, and continue it",
		role:    access.Operator,
	},
		func(
			ctx context.Context,
			v *host.View,
			caller *who,
			in *decisionInput,
		) (*host.Decided, error) {
			return v.Decide(ctx, host.Decision{
				Thread:   in.ID,
				ID:       in.Body.ID,
				Decision: in.Body.Decision,
				Digest:   in.Body.Digest,
				Feedback: in.Body.Feedback,
				Prefix:   in.Body.Prefix,
				May:      mayDecide(caller, in.Body.Decision),
			})
		})
}

// mayDecide returns the check of an answer by the role of a caller.
func mayDecide(caller *who, decision string) func(*host.Approval) error {
	return func(a *host.Approval) error {
		return caller.key.Role.Approves(a.Risk(), decision)
	}
}
