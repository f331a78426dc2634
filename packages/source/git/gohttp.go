package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/ryeos/rye/diag"
)

// goHTTP is a Remote without credentials over http and https, by go-git.
type goHTTP struct {
	url   string
	http  transport.Transport
	limit int64 // bytes of one transfer

	mu   sync.Mutex
	caps *capability.List // from the last ListRefs
}

// newTransport returns the transport of go-git for all remotes of a Source. Redirects
// are errors: they are not followed.
func newTransport(rt http.RoundTripper) transport.Transport {
	return githttp.NewClientWithOptions(&http.Client{Transport: guard{rt}},
		&githttp.ClientOptions{RedirectPolicy: githttp.NoFollowRedirects})
}

// guard turns redirects and unsupported responses into errors.
type guard struct{ rt http.RoundTripper }

// redirected is the error for a redirect.
type redirected struct{ to string }

func (r *redirected) Error() string { return "it redirects to " + r.to }

// RoundTrip implements http.RoundTripper.
func (g guard) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := g.rt.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		res.Body.Close()
		return nil, &redirected{homeOf(req, res)}
	}
	if !strings.HasSuffix(req.URL.Path, "/info/refs") || res.StatusCode != http.StatusOK {
		return res, nil
	}
	if kind := res.Header.Get("Content-Type"); kind != "application/x-git-upload-pack-advertisement" {
		res.Body.Close()
		return nil, fmt.Errorf("its response has the type %q, not that of git: %w", kind, errUnsupported)
	}
	head := make([]byte, 4096)
	n, err := io.ReadFull(res.Body, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		res.Body.Close()
		return nil, err
	}
	if bytes.Contains(head[:n], []byte("object-format=sha256")) {
		res.Body.Close()
		return nil, fmt.Errorf("its objects have SHA-256 names: %w", errUnsupported)
	}
	res.Body = body{io.MultiReader(bytes.NewReader(head[:n]), res.Body), res.Body}
	return res, nil
}

type body struct {
	io.Reader
	io.Closer
}

// homeOf returns the repository that a redirect names, or "" if its address is not
// valid.
func homeOf(req *http.Request, res *http.Response) string {
	to, err := req.URL.Parse(res.Header.Get("Location"))
	if err != nil || res.Header.Get("Location") == "" {
		return ""
	}
	to.RawQuery, to.Fragment, to.User = "", "", nil
	for _, tail := range []string{"/info/refs", "/git-upload-pack"} {
		to.Path = strings.TrimSuffix(to.Path, tail)
	}
	return to.String()
}

func (r *goHTTP) session() (transport.UploadPackSession, error) {
	ep, err := transport.NewEndpoint(r.url)
	if err != nil {
		return nil, diag.New(diag.Usage, "reading the address %q: %w", r.url, err)
	}
	return r.http.NewUploadPackSession(ep, nil)
}

// ListRefs implements Remote.
func (r *goHTTP) ListRefs(ctx context.Context) (*Refs, error) {
	s, err := r.session()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	adv, err := s.AdvertisedReferencesContext(ctx)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return &Refs{}, nil
	}
	if err != nil {
		return nil, r.wrong(ctx, err)
	}
	r.mu.Lock()
	r.caps = adv.Capabilities
	r.mu.Unlock()
	return refsOf(adv), nil
}

func refsOf(adv *packp.AdvRefs) *Refs {
	out := &Refs{}
	if adv.Head != nil {
		out.Head = adv.Head.String()
	}
	for name, oid := range adv.References {
		if !carriedRef(name) {
			continue
		}
		ref := Ref{Name: name, OID: oid.String(), Commit: oid.String()}
		if p, ok := adv.Peeled[name]; ok {
			ref.Commit = p.String()
		}
		out.List = append(out.List, ref)
	}
	out.sort()
	return out
}

// wrong returns the typed error for an error of go-git.
func (r *goHTTP) wrong(ctx context.Context, err error) error {
	var hidden *plumbing.UnexpectedError
	if errors.As(err, &hidden) { // it does not unwrap
		err = hidden.Err
	}
	var to *redirected
	switch {
	case ctx.Err() != nil:
		return stopped(ctx, "asking", r.url)
	case errors.As(err, &to):
		return moved(r.url, to.to)
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		return unauthorised(r.url, false)
	case errors.Is(err, transport.ErrRepositoryNotFound):
		return notFound(r.url)
	}
	return network(ctx, "asking", r.url, err)
}

// FetchSubtree implements Remote. The protocol version of go-git cannot request single
// files, so it fetches all.
func (r *goHTTP) FetchSubtree(ctx context.Context, store string, w Want, _ string) error {
	return r.FetchRef(ctx, store, w)
}

// FetchRef implements Remote.
func (r *goHTTP) FetchRef(ctx context.Context, store string, w Want) error {
	if w.SHA256 {
		return network(ctx, "fetching", r.url, errUnsupported)
	}
	missing, err := missingObjects(store, w)
	if err != nil || len(missing) == 0 {
		return err
	}
	r.mu.Lock()
	caps := r.caps
	r.mu.Unlock()
	if caps == nil { // the refs came from the cache or another transport
		if _, err := r.ListRefs(ctx); err != nil {
			return err
		}
		return r.FetchRef(ctx, store, w)
	}
	req, err := r.request(caps, w, missing)
	if err != nil {
		return network(ctx, "fetching", r.url, err)
	}
	s, err := r.session()
	if err != nil {
		return err
	}
	defer s.Close()
	res, err := s.UploadPack(ctx, req)
	if err != nil {
		return r.wrong(ctx, refusal(err))
	}
	defer res.Close()
	return r.receive(ctx, store, w, req, res)
}

// refusal wraps errNotOffered around the error for a commit that no ref contains.
func refusal(err error) error {
	if strings.Contains(err.Error(), "not our ref") || strings.Contains(err.Error(), "not a valid object") {
		return fmt.Errorf("%w (%w)", errNotOffered, err)
	}
	return err
}

func (r *goHTTP) request(caps *capability.List, w Want, missing []string) (*packp.UploadPackRequest, error) {
	req := packp.NewUploadPackRequestFromCapabilities(caps)
	req.Capabilities.Delete(capability.ThinPack)
	for _, oid := range missing {
		req.Wants = append(req.Wants, plumbing.NewHash(oid))
	}
	if caps.Supports(capability.NoProgress) {
		req.Capabilities.Set(capability.NoProgress)
	}
	switch {
	case w.Depth == Tip && !caps.Supports(capability.Shallow):
		return nil, fmt.Errorf("it sends only whole histories: %w", errUnsupported)
	case w.Depth == Tip:
		req.Depth = packp.DepthCommits(1)
		return req, req.Capabilities.Set(capability.Shallow)
	case w.Depth == Commits && caps.Supports(capability.Filter):
		req.Filter = packp.FilterTreeDepth(0)
		return req, req.Capabilities.Set(capability.Filter)
	}
	return req, nil
}

// receive writes the pack of a response into the store.
func (r *goHTTP) receive(ctx context.Context, store string, w Want, req *packp.UploadPackRequest, res io.Reader) error {
	in := io.Reader(res)
	switch {
	case req.Capabilities.Supports(capability.Sideband64k):
		in = sideband.NewDemuxer(sideband.Sideband64k, res)
	case req.Capabilities.Supports(capability.Sideband):
		in = sideband.NewDemuxer(sideband.Sideband, res)
	}
	pack := &meter{r: in, left: r.limit}
	err := writePack(store, pack)
	switch {
	case pack.left < 0:
		return tooLarge(r.url, r.limit)
	case err != nil && ctx.Err() != nil:
		return stopped(ctx, "fetching", r.url)
	case err != nil && pack.err != nil:
		return r.wrong(ctx, fmt.Errorf("the transfer ended early: %w", refusal(pack.err)))
	case err != nil:
		return network(ctx, "fetching", r.url, fmt.Errorf("the pack is not complete: %w", err))
	}
	missing, err := missingObjects(store, w)
	if err == nil && len(missing) > 0 {
		err = network(ctx, "fetching", r.url, fmt.Errorf("%w: %s", errMissing, missing[0]))
	}
	return err
}

// meter limits the bytes that are read from the network.
type meter struct {
	r    io.Reader
	left int64
	err  error // the first but io.EOF
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if m.left -= int64(n); m.left < 0 {
		return 0, errors.New("it is too large")
	}
	if err != nil && !errors.Is(err, io.EOF) && m.err == nil {
		m.err = err
	}
	return n, err
}

// writePack writes a pack and its index into the store. It removes the files of a
// broken transfer: the caller holds the lock of the store.
func writePack(store string, pack io.Reader) error {
	st := openStorage(store)
	defer st.Close()
	defer removeTemporary(store)
	w, err := st.PackfileWriter()
	if err != nil {
		return err
	}
	n, err := io.Copy(w, pack)
	if closing := w.Close(); err == nil {
		err = closing
	}
	if err == nil && n == 0 {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func removeTemporary(store string) {
	found, _ := filepath.Glob(filepath.Join(store, "objects", "pack", "tmp_*"))
	for _, path := range found {
		_ = os.Remove(path)
	}
}

// missingObjects returns the wanted objects that the store does not have.
func missingObjects(store string, w Want) ([]string, error) {
	st := openStorage(store)
	defer st.Close()
	var out []string
	for _, oid := range w.OIDs {
		if !isOID(oid) {
			return nil, diag.New(diag.Internal, "fetching %q: it is not the name of an object", oid)
		}
		if st.HasEncodedObject(plumbing.NewHash(oid)) != nil {
			out = append(out, oid)
		}
	}
	return slices.Compact(out), nil
}
