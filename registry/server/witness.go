package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

// Witness is a witness that the registry asks to sign its checkpoints.
type Witness struct {
	Key string
	URL string // of its service, without add-checkpoint
}

// ParseWitness reads KEY=URL. A key has no "=".
func ParseWitness(text string) (Witness, error) {
	key, address, _ := strings.Cut(text, "=")
	fail := func(format string, args ...any) error {
		return diag.New(diag.Usage, "reading the witness %q: "+format, append([]any{text}, args...)...)
	}
	if err := log.CheckWitness(key); err != nil {
		return Witness{}, fail("want KEY=URL: %w", err)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "https" && (u.Scheme != "http" || !wire.IsLoopback(u.Host)) {
		return Witness{}, fail("want KEY=https://HOST, or http for this machine")
	}
	return Witness{key, strings.TrimSuffix(address, "/")}, nil
}

// Times of the collection of cosignatures.
const (
	askTimeout  = 3 * time.Second  // for one witness; a change waits for it
	askRest     = time.Minute      // after a failure, changes do not wait for the witness
	askAgain    = 30 * time.Second // between two looks for missing cosignatures
	askFresh    = 12 * time.Hour   // a cosignature of that age is made again
	maxCosigned = 4 << 10          // bytes of an answer

	maxWitnesses = 32 // a note with more than 100 signatures cannot be read
)

// asked is what the registry knows of a witness.
type asked struct {
	Witness

	until atomic.Int64 // nanoseconds since 1970: changes do not wait for it before

	mu   sync.Mutex
	size int64     // of the tree that it signed last, as far as is known
	tree log.Tree  // that line signs
	line string    // its cosignature
	at   time.Time // of the cosignature
	why  string    // the last failure, "" if it signed
}

// openWitnesses prepares the collection with the cosignatures that the checkpoint has.
func (s *Server) openWitnesses() error {
	if len(s.p.Witnesses) == 0 {
		return nil
	}
	if n := len(s.p.Witnesses); n > maxWitnesses {
		return diag.New(diag.Usage, "opening the registry: it has %d witnesses, at most %d are allowed", n, maxWitnesses)
	}
	checkpoint, err := s.writer.Own()
	if err != nil {
		return err
	}
	have := string(s.writer.Checkpoint())
	seen := map[string]bool{}
	_, have, _ = strings.Cut(have, "\n\n")
	for _, p := range s.p.Witnesses {
		if seen[p.Key] {
			return diag.New(diag.Usage, "opening the registry: the witness %s is named twice", p.Key)
		}
		seen[p.Key] = true
		w := &asked{Witness: p}
		line, at, err := s.pickLine(p.Key, checkpoint, have)
		if err == nil {
			w.tree = s.writer.Tree()
			w.line = line
			w.at = at
			w.size = w.tree.Size
		}
		s.asked = append(s.asked, w)
	}
	s.shown.Store(newCachedFile(nil, s.writer.Checkpoint()))
	return nil
}

// witnesses asks all witnesses at the same time, and returns the cosignatures of a tree,
// those that were made before included. A change does not ask those that failed a moment
// ago.
func (s *Server) witnesses(
	ctx context.Context,
	checkpoint []byte,
	tree log.Tree,
	change bool,
) []string {
	ctx, cancel := context.WithTimeout(ctx, s.askTime)
	defer cancel()
	lines := make([]string, len(s.asked))
	var all sync.WaitGroup
	for i, w := range s.asked {
		all.Go(func() {
			done := func() bool {
				return change && s.p.Now().UnixNano() <= w.until.Load()
			}
			if done() { // also while it is asked again
				return
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if !done() {
				s.ask(ctx, w, checkpoint, tree, s.p.Now())
			}
			if w.tree == tree {
				lines[i] = w.line
			}
		})
	}
	all.Wait()
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// ask asks one witness, unless it signed the tree a short time ago.
func (s *Server) ask(
	ctx context.Context,
	w *asked,
	checkpoint []byte,
	tree log.Tree,
	now time.Time,
) {
	if w.tree == tree && w.line != "" && now.Sub(w.at) < askFresh {
		return
	}
	line, at, err := s.cosignature(ctx, w, checkpoint, tree)
	if context.Cause(ctx) == context.Canceled { // the registry ends
		return
	}
	why := ""
	if err != nil {
		why = err.Error()
		w.until.Store(now.Add(askRest).UnixNano())
	} else {
		w.size = tree.Size
		w.tree = tree
		w.line = line
		w.at = at
		w.until.Store(0)
	}
	name := log.KeyName(w.Key)
	switch {
	case why == w.why:
	case why != "":
		s.p.Note(fmt.Sprintf("the witness %s does not sign: %s", name, why))
	default:
		s.p.Note(fmt.Sprintf("the witness %s signs again", name))
	}
	w.why = why
}

// errLonger is the refusal of a witness that signed more entries than the log has.
var errLonger = errors.New("it signed a longer log: this registry lost entries, as after an incomplete restore")

// cosignature returns the verified line with which a witness signs a tree. The witness names
// the size that it signed last if the request names a different one.
func (s *Server) cosignature(
	ctx context.Context,
	w *asked,
	checkpoint []byte,
	tree log.Tree,
) (line string, at time.Time, err error) {
	old := w.size
	for range 3 {
		status, kind, answer, err := s.addCheckpoint(ctx, w.URL, old, checkpoint, tree)
		switch {
		case err != nil:
			return "", at, err
		case status == http.StatusOK:
			return s.pickLine(w.Key, checkpoint, answer)
		case status != http.StatusConflict || kind != "text/x.tlog.size":
			return "", at, fmt.Errorf("it answers %d %s", status, http.StatusText(status))
		}
		if old, err = strconv.ParseInt(strings.TrimSuffix(answer, "\n"), 10, 64); err != nil ||
			old < 0 {
			return "", at, errors.New("the size that it names cannot be read")
		}
		if old > tree.Size {
			return "", at, errLonger
		}
	}
	return "", at, errors.New("it names another size each time")
}

// addCheckpoint is one request of C2SP tlog-witness.
func (s *Server) addCheckpoint(
	ctx context.Context,
	address string,
	old int64,
	checkpoint []byte,
	tree log.Tree,
) (status int, kind, answer string, err error) {
	r := log.NewReader(logFiles{s.base}.Read, tree)
	older, err := r.Prefix(ctx, old)
	if err != nil {
		return 0, "", "", err
	}
	var proof log.Proof
	if old < tree.Size { // the same tree needs none
		if proof, err = r.Consistency(ctx, older); err != nil {
			return 0, "", "", err
		}
	}
	body := fmt.Sprintf("old %d\n%s\n%s", old, proof, checkpoint)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/add-checkpoint", strings.NewReader(body))
	if err != nil {
		return 0, "", "", err
	}
	got, err := askClient.Do(q)
	if err != nil {
		return 0, "", "", err
	}
	defer got.Body.Close()
	b, err := io.ReadAll(io.LimitReader(got.Body, maxCosigned))
	kind, _, _ = mime.ParseMediaType(got.Header.Get("Content-Type"))
	return got.StatusCode, kind, string(b), err
}

// askClient follows no redirect: the operator named the address.
var askClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
	return http.ErrUseLastResponse
}}

// pickLine returns the line of an answer that is a cosignature of the witness, and its time.
func (s *Server) pickLine(
	key string,
	checkpoint []byte,
	answer string,
) (string, time.Time, error) {
	v := log.Verifier{
		Origin:    s.host + wire.LogPath,
		Key:       s.key,
		Witnesses: []string{key},
		Quorum:    1,
		Now:       s.p.Now,
	}
	var last error
	for line := range strings.Lines(answer) {
		c, err := v.Verify(append(slices.Clone(checkpoint), line...))
		if err == nil {
			return line, c.Time, nil
		}
		last = err
	}
	return "", time.Time{}, fmt.Errorf("its answer has no valid cosignature: %w", cmp.Or(last, errEmpty))
}

var errEmpty = errors.New("it is empty")

// cosign collects cosignatures for the checkpoint of a change. The caller holds the lock,
// which is released while witnesses are asked: reads continue, and see the state before.
func (s *Server) cosign(ctx context.Context) {
	if len(s.asked) == 0 {
		return
	}
	tree := s.writer.Tree()
	if checkpoint, err := s.writer.Own(); err == nil {
		s.mu.Unlock()
		lines := s.witnesses(ctx, checkpoint, tree, true)
		s.mu.Lock()
		_ = s.writer.Cosigned(ctx, lines...) // else the next look adds them
	}
	s.shown.Store(newCachedFile(nil, s.writer.Checkpoint()))
}

// cosignLoop adds cosignatures that are missing or old, until ctx ends.
func (s *Server) cosignLoop(ctx context.Context) {
	if len(s.asked) == 0 {
		return
	}
	t := time.NewTicker(askAgain)
	defer t.Stop()
	for {
		s.cosignMissing(ctx)
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// cosignMissing looks once for cosignatures that are missing or old, and adds them.
func (s *Server) cosignMissing(ctx context.Context) {
	s.mu.RLock()
	tree := s.writer.Tree()
	checkpoint, err := s.writer.Own()
	s.mu.RUnlock()
	if err == nil {
		lines := s.witnesses(ctx, checkpoint, tree, false)
		s.mu.Lock()
		if s.writer.Tree() == tree && s.writer.Broken() == nil {
			err = s.writer.Cosigned(ctx, lines...)
			s.shown.Store(newCachedFile(nil, s.writer.Checkpoint()))
		}
		s.mu.Unlock()
	}
	if err != nil {
		s.p.Note("adding cosignatures to the checkpoint: " + err.Error())
	}
}
