// Package witness is a witness of transparency logs: it signs a checkpoint only if the log
// continues every checkpoint that it signed before. Clients that demand the signatures of
// witnesses see the same log as everybody else.
//
// It serves add-checkpoint of C2SP tlog-witness. It does not read the entries of a log and
// does not fetch anything.
package witness

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/registry/log"
)

// The files of a witness.
const (
	keyFile  = "witness.key" // name and seed
	lockFile = "witness.lock"
	stateDir = "logs" // the newest signed checkpoint of each log
)

// maxRequest is the longest request: a proof of 64 hashes and a checkpoint.
const maxRequest = log.MaxCheckpoint + 8<<10

// Witness signs checkpoints. One process at a time uses its directory.
type Witness struct {
	base atomicfile.Base
	lock *filelock.Lock
	name string
	key  ed25519.PrivateKey
	logs map[string]string // key of a log by its origin
	now  func() time.Time
	mu   sync.Mutex // compares and persists as one step
}

// Params configure a witness.
type Params struct {
	Dir  string
	Name string   // of a new witness; "" for one that exists
	Logs []string // keys of the logs; the origin of a log is NAME/log
	Now  func() time.Time
}

// lockWait is how long Open waits for a process that is about to end.
const lockWait = 200 * time.Millisecond

// Open opens the witness in a directory, and creates it if it has no key.
func Open(ctx context.Context, p Params) (*Witness, error) {
	w := &Witness{base: atomicfile.Private(p.Dir), logs: map[string]string{}, now: p.Now}
	if w.now == nil {
		w.now = time.Now
	}
	for _, key := range p.Logs {
		if err := log.CheckKey(key); err != nil {
			return nil, diag.New(diag.Usage, "reading the key of a log: %w", err)
		}
		w.logs[log.KeyName(key)+"/log"] = key
	}
	if err := w.readKey(p); err != nil {
		return nil, err
	}
	f, err := w.base.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if w.lock, err = filelock.AcquireWithin(ctx, f, lockWait); err != nil {
		return nil, diag.New(diag.Conflict, "opening the witness in %s: %w", p.Dir, err)
	}
	return w, nil
}

func (w *Witness) readKey(p Params) error {
	b, err := os.ReadFile(filepath.Join(p.Dir, keyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return w.create(p)
	}
	if err != nil {
		return diag.New(diag.FileSystemError, "reading the key of the witness: %w", err)
	}
	name, seed, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	raw, err := hex.DecodeString(seed)
	if err != nil || len(raw) != ed25519.SeedSize {
		return diag.New(diag.ConfigError, "reading the key of the witness in %s: it is damaged", p.Dir)
	}
	if p.Name != "" && p.Name != name {
		return diag.New(diag.Usage, "opening the witness in %s: its name is %s, not %s", p.Dir, name, p.Name)
	}
	w.name, w.key = name, ed25519.NewKeyFromSeed(raw)
	return nil
}

func (w *Witness) create(p Params) error {
	if p.Name == "" || strings.ContainsAny(p.Name, "+ \t\r\n") {
		return diag.New(diag.Usage, "creating the witness in %s: a name is needed, such as the host of the witness", p.Dir)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	w.name = p.Name
	w.key = key
	return w.base.Create(
		keyFile,
		[]byte(p.Name+"\n"+hex.EncodeToString(key.Seed())+"\n"),
		0o600,
	)
}

// Key returns the key of the witness, which clients pin.
func (w *Witness) Key() string {
	return log.WitnessKey(w.name, w.key.Public().(ed25519.PublicKey))
}

// Close ends the use of the directory.
func (w *Witness) Close() error {
	return w.lock.Release()
}

// refusal is an answer other than 200.
type refusal struct {
	status int
	kind   string
	text   string
}

func (r *refusal) Error() string {
	return r.text
}

func refused(status int, format string, args ...any) error {
	return &refusal{status, "text/plain; charset=utf-8", fmt.Sprintf(format, args...) + "\n"}
}

// Handler serves add-checkpoint.
func (w *Witness) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /add-checkpoint", func(rw http.ResponseWriter, h *http.Request) {
		b, err := io.ReadAll(io.LimitReader(h.Body, maxRequest+1))
		var out []byte
		if err == nil && len(b) > maxRequest {
			err = refused(http.StatusRequestEntityTooLarge, "the request is longer than %d bytes", maxRequest)
		}
		if err == nil {
			out, err = w.Add(b)
		}
		var no *refusal
		switch {
		case errors.As(err, &no):
			rw.Header().Set("Content-Type", no.kind)
			rw.WriteHeader(no.status)
			_, _ = io.WriteString(rw, no.text)
		case err != nil:
			rw.WriteHeader(http.StatusInternalServerError)
		default:
			rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = rw.Write(out)
		}
	})
	return mux
}

// request is a parsed body of add-checkpoint.
type request struct {
	old   int64
	proof log.Proof
	note  []byte
}

// parse reads "old N", the lines of the proof, an empty line and the checkpoint.
func parse(b []byte) (*request, error) {
	head, note, ok := bytes.Cut(b, []byte("\n\n"))
	first, rest, _ := strings.Cut(string(head)+"\n", "\n")
	size, found := strings.CutPrefix(first, "old ")
	old, err := strconv.ParseInt(size, 10, 64)
	if !ok ||
		!found ||
		err != nil ||
		old < 0 ||
		strconv.FormatInt(old, 10) != size {
		return nil, refused(http.StatusBadRequest, "the request does not begin with old SIZE, a proof and an empty line")
	}
	proof, err := log.ParseProof(rest)
	if err != nil {
		return nil, refused(http.StatusBadRequest, "the proof cannot be read: %v", err)
	}
	return &request{old, proof, note}, nil
}

// Add returns the signature line for a checkpoint that continues the one signed before.
func (w *Witness) Add(b []byte) ([]byte, error) {
	r, err := parse(b)
	if err != nil {
		return nil, err
	}
	origin, _, _ := strings.Cut(string(r.note), "\n")
	key, known := w.logs[origin]
	if !known {
		return nil, refused(http.StatusNotFound, "the log is not known here")
	}
	c, err := log.Verifier{Origin: origin, Key: key}.Verify(r.note)
	if err != nil {
		return nil, refused(http.StatusForbidden, "%v", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	last, err := w.last(origin, key)
	if err != nil {
		return nil, err
	}
	switch {
	case r.old > c.Tree.Size:
		return nil, refused(http.StatusBadRequest, "the old size is larger than the new one")
	case r.old != last.Size:
		return nil, &refusal{http.StatusConflict, "text/x.tlog.size", strconv.FormatInt(last.Size, 10) + "\n"}
	case r.old == c.Tree.Size && last.Root != c.Tree.Root:
		return nil, &refusal{http.StatusConflict, "text/x.tlog.size", strconv.FormatInt(last.Size, 10) + "\n"}
	case last.Size > 0 && last.Size < c.Tree.Size && log.CheckConsistency(r.proof, c.Tree, last) != nil,
		(last.Size == 0 || last.Size == c.Tree.Size) && len(r.proof) > 0:
		return nil, refused(http.StatusUnprocessableEntity, "the proof does not show that the log continues the one of %d entries", last.Size)
	}
	// Persisted first: a signature that was given away must not be forgotten.
	err = w.base.Write(stateFile(origin), r.note, 0o600)
	if err != nil {
		return nil, err
	}
	signed, err := log.Cosign(r.note, w.name, w.key, w.now())
	if err != nil {
		return nil, err
	}
	return signed[len(r.note):], nil
}

func stateFile(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return stateDir + "/" + base64.RawURLEncoding.EncodeToString(sum[:]) + ".note"
}

// last returns the tree of the newest checkpoint that was signed. A state that cannot be
// read signs nothing.
func (w *Witness) last(origin, key string) (log.Tree, error) {
	b, err := os.ReadFile(w.base.Path(stateFile(origin)))
	if errors.Is(err, fs.ErrNotExist) {
		return log.EmptyTree(), nil
	}
	if err != nil {
		return log.Tree{}, err
	}
	c, err := log.Verifier{Origin: origin, Key: key}.Verify(b)
	if err != nil {
		return log.Tree{}, err
	}
	return c.Tree, nil
}
