package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/ryeos/rye/diag"
)

// goHTTP is a Remote without credentials over http and https, in this process. It
// speaks version 0 of the protocol, which every remote supports.
type goHTTP struct {
	url   string
	http  http.RoundTripper
	limit int64       // bytes of one transfer
	heavy *sync.Mutex // while a pack is indexed: one at a time bounds the memory of the process

	mu   sync.Mutex
	caps *capabilities // from the last ListRefs
}

// redirected is the error for a redirect. Redirects are not followed.
type redirected struct{ to string }

func (r *redirected) Error() string { return "it redirects to " + r.to }

// maxAddress is the length of an address that a redirect may name.
const maxAddress = 2000

// homeOf returns the repository that a redirect names, or "" if its address is not
// valid.
func homeOf(req *http.Request, res *http.Response) string {
	to, err := req.URL.Parse(res.Header.Get("Location"))
	if err != nil || res.Header.Get("Location") == "" || len(res.Header.Get("Location")) > maxAddress {
		return ""
	}
	to.RawQuery, to.Fragment, to.User = "", "", nil
	for _, tail := range []string{"/info/refs", "/git-upload-pack"} {
		to.Path = strings.TrimSuffix(to.Path, tail)
	}
	return to.String()
}

const uploadPack = "git-upload-pack"

// ask sends a request and returns the body of its response, limited to some bytes.
func (r *goHTTP) ask(ctx context.Context, path, send, kind string, limit int64) (*meter, error) {
	method, in := http.MethodGet, io.Reader(nil)
	if send != "" {
		method, in = http.MethodPost, strings.NewReader(send)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(r.url, "/")+path, in)
	if err != nil {
		return nil, diag.New(diag.Usage, "reading the address %q: %w", r.url, err)
	}
	req.Header.Set("User-Agent", "git/2 (rye)") // some hosts send pages for people to clients that are not git
	req.Header.Set("Accept", kind)
	if send != "" {
		req.Header.Set("Content-Type", "application/x-"+uploadPack+"-request")
	}
	res, err := r.http.RoundTrip(req)
	if err != nil {
		return nil, r.wrong(ctx, err)
	}
	if err := r.status(req, res); err != nil {
		res.Body.Close()
		return nil, r.wrong(ctx, err)
	}
	if got := res.Header.Get("Content-Type"); send == "" && got != kind {
		res.Body.Close()
		return nil, network(ctx, "asking", r.url, fmt.Errorf("its response has the type %.100q, not that of git: %w", got, errUnsupported))
	}
	return &meter{r: res.Body, c: res.Body, left: limit}, nil
}

// status returns the error for a response without content.
func (r *goHTTP) status(req *http.Request, res *http.Response) error {
	switch code := res.StatusCode; {
	case code == http.StatusOK:
		return nil
	case code >= 300 && code < 400:
		return &redirected{homeOf(req, res)}
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return unauthorised(r.url, false, written(res))
	case code == http.StatusNotFound:
		return notFound(r.url, written(res))
	}
	return fmt.Errorf("it returns %.100q%s", res.Status, written(res))
}

// written returns the beginning of a refusal that is plain text, in parentheses, as
// the git command prints it, or "".
func written(res *http.Response) string {
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind != "text/plain" {
		return ""
	}
	b, _ := io.ReadAll(io.LimitReader(res.Body, maxMessage))
	text := strings.Join(strings.Fields(string(b)), " ")
	if text == "" || strings.Contains(res.Status, text) {
		return ""
	}
	return " (the remote writes: " + text + ")"
}

// ListRefs implements Remote.
func (r *goHTTP) ListRefs(ctx context.Context) (*Refs, error) {
	in, err := r.ask(ctx, "/info/refs?service="+uploadPack, "", "application/x-"+uploadPack+"-advertisement", min(maxAdvert, r.limit))
	if err != nil {
		return nil, err
	}
	defer in.Close()
	a, err := readAdvert(in)
	switch {
	case in.left < 0:
		return nil, tooManyRefs(r.url, fmt.Sprintf("more than %d bytes", min(maxAdvert, r.limit)))
	case errors.Is(err, errRefs):
		return nil, tooManyRefs(r.url, fmt.Sprintf("more than %d branches and tags", maxRefs))
	case err != nil:
		return nil, r.wrong(ctx, err)
	case a.refs.SHA256:
		return nil, r.wrong(ctx, fmt.Errorf("its objects have SHA-256 names: %w", errUnsupported))
	}
	r.mu.Lock()
	r.caps = &a.caps
	r.mu.Unlock()
	return &a.refs, nil
}

// wrong returns the typed error for an error of the transport.
func (r *goHTTP) wrong(ctx context.Context, err error) error {
	var to *redirected
	switch {
	case ctx.Err() != nil:
		return stopped(ctx, "asking", r.url)
	case errors.As(err, &to):
		return moved(r.url, to.to)
	}
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return unresolved("asking", r.url, err)
	}
	return network(ctx, "asking", r.url, err)
}

// FetchSubtree implements Remote. This version of the protocol cannot request single
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
	req, err := request(*caps, w, missing)
	if err != nil {
		return network(ctx, "fetching", r.url, err)
	}
	in, err := r.ask(ctx, "/"+uploadPack, req, "application/x-"+uploadPack+"-result", r.limit)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := r.receive(ctx, store, w, *caps, in); err != nil {
		return err
	}
	if missing, err = missingObjects(store, w); err == nil && len(missing) > 0 {
		err = network(ctx, "fetching", r.url, fmt.Errorf("%w: %s", errMissing, missing[0]))
	}
	return err
}

// refusal wraps errNotOffered around the error for a commit that no ref contains.
func refusal(err error) error {
	if strings.Contains(err.Error(), "not our ref") || strings.Contains(err.Error(), "not a valid object") {
		return fmt.Errorf("%w (%w)", errNotOffered, err)
	}
	return err
}

// request renders the request for a pack.
func request(caps capabilities, w Want, missing []string) (string, error) {
	use := []string{}
	for _, name := range []string{"side-band-64k", "ofs-delta", "no-progress"} {
		if caps.has(name) {
			use = append(use, name)
		}
	}
	more := ""
	switch {
	case w.Depth == Tip && !caps.has("shallow"):
		return "", fmt.Errorf("it sends only whole histories: %w", errUnsupported)
	case w.Depth == Tip:
		use = append(use, "shallow")
		more = pktLine("deepen 1\n")
	case w.Depth == Commits && caps.has("filter"):
		use = append(use, "filter")
		more = pktLine("filter tree:0\n")
	}
	var out strings.Builder
	for i, oid := range missing {
		text := "want " + oid
		if i == 0 && len(use) > 0 {
			text += " " + strings.Join(use, " ")
		}
		out.WriteString(pktLine(text + "\n"))
	}
	return out.String() + more + "0000" + pktLine("done\n"), nil
}

// receive reads the lines before a pack, and writes the pack into the store.
func (r *goHTTP) receive(ctx context.Context, store string, w Want, caps capabilities, in *meter) error {
	l := newLines(in)
	err := beforePack(l, w)
	if err == nil {
		pack := io.Reader(l.r)
		if caps.has("side-band-64k") {
			pack = newDemux(l)
		}
		err = writePack(ctx, store, pack, r.limit, r.heavy)
	}
	switch {
	case err == nil:
		return nil
	case in.left < 0:
		return tooLarge(r.url, r.limit)
	case ctx.Err() != nil:
		return stopped(ctx, "fetching", r.url)
	case in.err != nil:
		return r.wrong(ctx, fmt.Errorf("the transfer ended early: %w", in.err))
	}
	return damaged(ctx, r.url, refusal(err))
}

// maxShallow is the number of lines before a pack. A request for one commit is answered
// with one.
const maxShallow = 100_000

// beforePack reads the commits at which the history is cut, and the end of the
// negotiation, which consists of one request.
func beforePack(l *lines, w Want) error {
	cutHere := w.Depth == Tip
	for range maxShallow {
		line, err := l.next()
		if err != nil {
			return err
		}
		text := textOf(line)
		switch {
		case line == nil && cutHere:
			cutHere = false
		case text == "NAK":
			return nil
		case cutHere && strings.HasPrefix(text, "shallow "), cutHere && strings.HasPrefix(text, "unshallow "):
		default:
			return fmt.Errorf("%w: it has the line %.100q", errLine, text)
		}
	}
	return fmt.Errorf("%w: more than %d lines precede the pack", errLine, maxShallow)
}

// meter limits the bytes of a response. They are counted after any decompression.
type meter struct {
	r    io.Reader
	c    io.Closer
	left int64
	err  error // the first but io.EOF
}

// Close closes the response.
func (m *meter) Close() error { return m.c.Close() }

// Read implements io.Reader.
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

// missingObjects returns the wanted objects that the store does not have.
func missingObjects(store string, w Want) ([]string, error) {
	st := openStore(store, w.SHA256)
	defer st.Close()
	var out []string
	for _, oid := range w.OIDs {
		if !isOID(oid) {
			return nil, diag.New(diag.Internal, "fetching %q: it is not the name of an object", oid)
		}
		found, err := st.Has(oid)
		if err != nil {
			return nil, broken(oid, err)
		}
		if !found {
			out = append(out, oid)
		}
	}
	return slices.Compact(out), nil
}
