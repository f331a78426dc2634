package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	gogithttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/ryeos/rye/diag"
)

// httpRemote is the backend of a child for http and https. It is the http.RoundTripper
// under the transport of go-git: it judges the status and limits the bytes.
type httpRemote struct {
	url   string
	limit int64
	caps  []string
	rt    http.RoundTripper

	fault error  // the first error of a response, which go-git would describe in its own words
	in    *meter // of the last response
}

func newHTTPRemote(q request) *httpRemote {
	return &httpRemote{
		url:   q.URL,
		limit: q.Limit,
		caps:  q.Capabilities,
		rt:    newTransport(),
	}
}

func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		ForceAttemptHTTP2:      true,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    15 * time.Second,
		ResponseHeaderTimeout:  2 * time.Minute,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// RoundTrip implements http.RoundTripper. Redirects are errors.
func (r *httpRemote) RoundTrip(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", "git/2 (rye)") // some hosts send pages for people to clients that are not git
	limit := r.limit
	kind := "application/x-" + transport.UploadPackServiceName + "-advertisement"
	if req.Method == http.MethodGet {
		req.Header.Set("Accept", kind)
		limit = min(maxAdvert, r.limit)
	}
	res, err := r.rt.RoundTrip(req)
	if err == nil {
		err = r.status(req, res)
	}
	if got := ""; err == nil && req.Method == http.MethodGet {
		if got = res.Header.Get("Content-Type"); got != kind {
			err = network(req.Context(), "asking", r.url, fmt.Errorf("its response has the type %.100q, not git's: %w", got, errUnsupported))
		}
	}
	if err != nil {
		if res != nil {
			res.Body.Close()
		}
		r.fault = r.wrong(req.Context(), err)
		return nil, r.fault
	}
	r.in = &meter{r: res.Body, c: res.Body, left: limit}
	res.Body = r.in
	return res, nil
}

// status returns the error for a response without content.
func (r *httpRemote) status(req *http.Request, res *http.Response) error {
	switch code := res.StatusCode; {
	case code == http.StatusOK:
		return nil
	case code >= 300 && code < 400:
		return moved(r.url, homeOf(req, res))
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return unauthorised(r.url, false, written(res))
	case code == http.StatusNotFound:
		return notFound(r.url, written(res))
	}
	return fmt.Errorf("it returns %.100q%s", res.Status, written(res))
}

// wrong returns the typed error for an error of the transport.
func (r *httpRemote) wrong(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx, "asking", r.url)
	}
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return unresolved("asking", r.url, err)
	}
	return network(ctx, "asking", r.url, err)
}

func (r *httpRemote) session() (transport.UploadPackSession, error) {
	at, err := transport.NewEndpoint(strings.TrimSuffix(r.url, "/"))
	if err != nil {
		return nil, diag.New(diag.Usage, "reading the address %q: %w", r.url, err)
	}
	at.User = ""
	at.Password = "" // the git command uses credentials
	client := gogithttp.NewClientWithOptions(
		&http.Client{Transport: r},
		&gogithttp.ClientOptions{RedirectPolicy: gogithttp.NoFollowRedirects},
	)
	s, err := client.NewUploadPackSession(at, nil)
	if err != nil {
		return nil, diag.New(diag.Usage, "reading the address %q: %w", r.url, err)
	}
	return s, nil
}

// refs implements backend.
func (r *httpRemote) refs(ctx context.Context, each func(oid, name string) error) ([]string, error) {
	s, err := r.session()
	if err != nil {
		return nil, err
	}
	a, err := s.AdvertisedReferencesContext(ctx)
	switch {
	case r.fault != nil:
		return nil, r.fault
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		return nil, nil
	case r.in.left < 0:
		return nil, tooManyRefs(r.url, fmt.Sprintf("more than %d bytes", min(maxAdvert, r.limit)))
	case err != nil && strings.Contains(string(r.in.first), "object-format=sha256"):
		return nil, r.wrong(ctx, fmt.Errorf("its objects have SHA-256 names: %w", errUnsupported))
	case err != nil:
		return nil, r.wrong(ctx, r.protocol(err))
	}
	if a.Head != nil {
		if err := each(a.Head.String(), "HEAD"); err != nil {
			return nil, err
		}
	}
	for name, oid := range a.References {
		if err := each(oid.String(), name); err != nil {
			return nil, err
		}
		if commit, ok := a.Peeled[name]; ok {
			if err := each(commit.String(), name+"^{}"); err != nil {
				return nil, err
			}
		}
	}
	for _, word := range strings.Fields(a.Capabilities.String()) {
		r.caps = append(r.caps, word)
	}
	return r.caps, nil
}

// protocol returns the error for lines that git would not write.
func (r *httpRemote) protocol(err error) error {
	var said *pktline.ErrorLine
	switch {
	case errors.As(err, &said):
		return &remoteError{clip(said.Text)}
	case r.in.err != nil:
		return fmt.Errorf("the transfer ended early: %w", r.in.err)
	}
	return fmt.Errorf("%w: %.200s", errLine, err)
}

// fetch implements backend.
func (r *httpRemote) fetch(ctx context.Context, repository string, w Want) error {
	if w.SHA256 {
		return network(ctx, "fetching", r.url, errUnsupported)
	}
	missing, err := missingObjects(repository, w)
	if err != nil || len(missing) == 0 {
		return err
	}
	if len(r.caps) == 0 { // the refs came from the cache or another transport
		_, err := r.refs(ctx, func(string, string) error { return nil })
		if err != nil {
			return err
		}
	}
	req, err := r.request(w, missing)
	if err != nil {
		return network(ctx, "fetching", r.url, err)
	}
	s, err := r.session()
	if err != nil {
		return err
	}
	res, err := s.UploadPack(ctx, req)
	if err == nil {
		pack := io.Reader(res)
		if slices.Contains(r.caps, string(capability.Sideband64k)) {
			pack = demux{sideband.NewDemuxer(sideband.Sideband64k, res)}
		}
		err = writePack(ctx, repository, pack, r.limit)
	}
	switch {
	case r.fault != nil:
		return r.fault
	case err != nil && r.in != nil && r.in.left < 0:
		return tooLarge(r.url, r.limit)
	case err != nil && ctx.Err() != nil:
		return stopped(ctx, "fetching", r.url)
	case err != nil && r.in != nil && r.in.err != nil:
		return r.wrong(ctx, r.protocol(err))
	case err != nil:
		return damaged(ctx, r.url, refusal(err))
	}
	if missing, err = missingObjects(repository, w); err == nil && len(missing) > 0 {
		err = network(ctx, "fetching", r.url, fmt.Errorf("%w: %s", errMissing, missing[0]))
	}
	return err
}

// request returns the request for a pack.
func (r *httpRemote) request(w Want, missing []string) (*packp.UploadPackRequest, error) {
	has := func(c capability.Capability) bool {
		return slices.Contains(r.caps, string(c))
	}
	req := packp.NewUploadPackRequest()
	for _, oid := range missing {
		req.Wants = append(req.Wants, plumbing.NewHash(oid))
	}
	use := []capability.Capability{capability.Sideband64k, capability.OFSDelta, capability.NoProgress}
	switch {
	case w.Depth == Tip && !has(capability.Shallow):
		return nil, fmt.Errorf("it sends only whole histories: %w", errUnsupported)
	case w.Depth == Tip:
		use = append(use, capability.Shallow)
		req.Depth = packp.DepthCommits(1)
	case w.Depth == Commits && has(capability.Filter):
		use = append(use, capability.Filter)
		req.Filter = packp.FilterTreeDepth(0)
	}
	for _, c := range use {
		if has(c) {
			if err := req.Capabilities.Set(c); err != nil {
				return nil, err
			}
		}
	}
	return req, nil
}

// open implements backend.
func (r *httpRemote) open(_ context.Context, repository string) (Objects, error) {
	return openObjects(repository), nil
}

// refusal wraps errNotOffered around the error for a commit that no ref contains.
func refusal(err error) error {
	if strings.Contains(err.Error(), "not our ref") || strings.Contains(err.Error(), "not a valid object") {
		return fmt.Errorf("%w (%w)", errNotOffered, err)
	}
	return err
}

// demux returns the bytes of a pack that arrive among progress and errors.
type demux struct{ d *sideband.Demuxer }

// Read implements io.Reader.
func (d demux) Read(p []byte) (int, error) {
	n, err := d.d.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	if said, is := strings.CutPrefix(err.Error(), "unexpected error: "); is {
		return n, &remoteError{clip(said)}
	}
	return n, fmt.Errorf("%w: %w", errLine, err)
}

// meter limits the bytes of a response. They are counted after any decompression.
type meter struct {
	r     io.Reader
	c     io.Closer
	left  int64
	first []byte // the beginning, which has the format of the names of objects
	err   error  // the first but io.EOF
}

// firstBytes is the length of the beginning that a meter keeps.
const firstBytes = 2 << 10

// Close closes the response.
func (m *meter) Close() error {
	return m.c.Close()
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if m.left -= int64(n); m.left < 0 {
		return 0, errors.New("it is too large")
	}
	m.first = append(
		m.first,
		p[:min(n, firstBytes-len(m.first))]...,
	)
	if err != nil && !errors.Is(err, io.EOF) && m.err == nil {
		m.err = err
	}
	return n, err
}
