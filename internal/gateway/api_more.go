package gateway

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gateway/access"
	"github.com/ryeos/rye/internal/gateway/host"
)

// itemsInput selects items.
type itemsInput struct {
	Request

	Query string `query:"q" maxLength:"200"`
	Kind  string `query:"kind" maxLength:"40"`
}

// itemInput names an item.
type itemInput struct {
	Request

	Ref     string `query:"ref" required:"true" maxLength:"500"`
	Project string `query:"project" maxLength:"4096"`
}

// itemList is a list of items.
type itemList struct {
	Items []host.Item `json:"items"`
}

func (s *Server) itemRoutes() {
	handle(s, operation{
		id:      "getDiff",
		method:  "GET",
		path:    "/threads/{id}/diff",
		summary: "Read what a thread changed in its working copy",
		role:    access.Viewer,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			in *ThreadPath,
		) (*host.Diff, error) {
			return v.Diff(ctx, in.ID)
		})
	handle(s, operation{
		id:      "listItems",
		method:  "GET",
		path:    "/items",
		summary: "List items with the verdicts about their signatures",
		role:    access.Viewer,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			in *itemsInput,
		) (*itemList, error) {
			list, err := v.Items(ctx, in.Query, in.Kind)
			return &itemList{Items: list}, err
		})
	// A ref contains slashes, so it is not in the path.
	handle(s, operation{
		id:      "getItem",
		method:  "GET",
		path:    "/item",
		summary: "Read one item",
		role:    access.Viewer,
	},
		func(
			ctx context.Context,
			v *host.View,
			_ *who,
			in *itemInput,
		) (*host.ItemDetail, error) {
			return v.Item(ctx, in.Project, in.Ref)
		})
}

// rawRoutes are the routes that are not documents: the description, the streams, and the state of the
// server.
func (s *Server) rawRoutes() {
	s.routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeText(w, "ok\n")
	})
	s.routes.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		if err := s.p.Host.Ready(ctx); err != nil {
			// The reason names paths, which a stranger must not read.
			s.note("checking the projects: " + err.Error())
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		writeText(w, "ok\n")
	})
	s.raw("GET", "/openapi.json", s.description)
	s.raw("GET", "/events", s.events)
	s.raw("GET", "/ws", s.socket)
	s.routes.HandleFunc(apiPath+"/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, diag.New(
			diag.UnknownCommand,
			"serving the request: there is no %s %s",
			r.Method,
			strconv.Quote(r.URL.Path),
		))
	})
}

// raw adds a route for viewers that writes its answer itself.
func (s *Server) raw(
	method, path string,
	do func(w http.ResponseWriter, r *http.Request, caller *who),
) {
	s.roles[method+" "+apiPath+path] = access.Viewer
	s.routes.HandleFunc(method+" "+apiPath+path, func(w http.ResponseWriter, r *http.Request) {
		// The framework does not see these routes, so its guard does not.
		caller, status, err := s.authorize(r, access.Viewer)
		if err != nil {
			fail(w, status, err)
			return
		}
		do(w, r, caller)
	})
}

func (s *Server) description(
	w http.ResponseWriter,
	_ *http.Request,
	_ *who,
) {
	b, err := s.api.OpenAPI().MarshalJSON()
	if err != nil {
		fail(w, http.StatusInternalServerError, diag.New(diag.Internal, "describing the API: %w", err))
		return
	}
	// It is the type that OpenAPI registered.
	w.Header().Set("Content-Type", "application/openapi+json")
	_, _ = w.Write(b)
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text))
}
