// Package server is a registry: it accepts signed bundles, writes every change into a
// transparency log, and serves the result as static files.
//
// The log is the truth. What clients read below public/ and what the process has in
// memory is computed from the log and from the archives, and is written again after a
// crash. The package does not decide whether the items of a bundle are valid (its caller
// passes that judgement), and clients do not trust it.
package server

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/filelock"
	"github.com/ryeos/rye/internal/httpserve"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/rules"
	"github.com/ryeos/rye/registry/wire"
)

// The parts of the directory of a registry.
const (
	publicDir    = "public"    // the static files
	incomingDir  = "incoming"  // archives that are being received
	documentsDir = "documents" // key documents, by fingerprint
	foundDir     = "found"     // descriptions for the search, by id
	keyFile      = "keys/log"  // the secret of the log
	hostFile     = "host"
	configFile   = "config.json"
	lockFile     = "registry.lock"
	databaseFile = "registry.db"
)

// Params configure a registry.
type Params struct {
	Dir   string
	Host  string // of its ids; "" uses the recorded one
	Judge rules.Judge
	Now   func() time.Time
	Rand  io.Reader // nil: the machine's
	// Lookup and Fetch read what proves a namespace. Nil uses the network.
	Lookup func(ctx context.Context, name string) ([]string, error)
	Fetch  func(ctx context.Context, url string, limit int64) ([]byte, error)
	// Witnesses sign each checkpoint before clients see it, unless they do not answer.
	Witnesses []Witness
	Note      func(text string) // what the operator should know; nil: nothing is shown
}

// Server is an open registry. One process at a time has it open.
type Server struct {
	p      Params
	base   atomicfile.Base
	host   string
	key    string // of the log
	config Config
	lock   *filelock.Lock
	meta   *meta
	writer *log.Writer
	asked  []*asked
	shown  atomic.Pointer[cachedFile] // the checkpoint that is served, nil without witnesses: the file

	mu                              sync.RWMutex // for the model
	model                           *rules.State
	dirty                           error // why the files of the model are older than the log
	search                          *searchIndex
	stall                           time.Duration  // how long a body may make no progress
	total                           time.Duration  // how long a short body may take
	slotTime                        time.Duration  // how long a request waits while too many are in progress
	askTime                         time.Duration  // askTimeout, except in tests
	held                            map[string]int // archives that requests in progress need
	known, strangers, judges, pages chan struct{}  // what is in progress
	commits                         chan *commit
	stop                            chan struct{} // closed by Close
	done                            chan struct{} // closed when nothing is committed any more
	texted                          textCache
	catalog                         catalog
	cache                           *fileCache
}

// Open opens the registry in a directory, which must be initialised with Create, and
// writes what a crash left out.
func Open(ctx context.Context, p Params) (_ *Server, err error) {
	s := &Server{
		p:         p,
		base:      atomicfile.Private(p.Dir),
		commits:   make(chan *commit, 4096),
		stop:      make(chan struct{}),
		done:      make(chan struct{}),
		cache:     newFileCache(),
		texted:    textCache{texts: map[string]archiveTexts{}},
		held:      map[string]int{},
		stall:     stallTimeout,
		total:     bodyTimeout,
		slotTime:  stallTimeout,
		askTime:   askTimeout,
		known:     make(chan struct{}, maxKnown),
		strangers: make(chan struct{}, maxStrangers),
		judges:    make(chan struct{}, maxJudged()),
		pages:     make(chan struct{}, maxPages),
	}
	if s.p.Now == nil {
		s.p.Now = time.Now
	}
	s.p.Note = oneAtATime(p.Note)
	if err := s.readHost(); err != nil {
		return nil, err
	}
	if s.config, err = readConfig(p.Dir); err != nil {
		return nil, err
	}
	if err := s.takeLock(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = s.release()
		}
	}()
	if s.meta, err = openMeta(ctx, databasePath(p.Dir), s.p.Now); err != nil {
		return nil, err
	}
	if err := s.finishRotation(ctx); err != nil {
		return nil, err
	}
	signer, key, err := s.readKey()
	if err != nil {
		return nil, err
	}
	s.key = key
	if s.writer, err = log.Open(ctx, logFiles{s.base}, s.host+wire.LogPath, signer, key); err != nil {
		return nil, diag.Doing("opening the log of the registry", err)
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	if err := s.openWitnesses(); err != nil {
		return nil, err
	}
	go s.commitLoop(context.WithoutCancel(ctx))
	return s, nil
}

// oneAtATime returns a function for several goroutines that passes texts on.
func oneAtATime(note func(string)) func(string) {
	if note == nil {
		return func(string) {}
	}
	var mu sync.Mutex
	return func(text string) {
		mu.Lock()
		defer mu.Unlock()
		note(text)
	}
}

// lockWait is how long takeLock waits for a process that is about to end.
const lockWait = 200 * time.Millisecond

// takeLock holds the lock of the directory until the process ends.
func (s *Server) takeLock(ctx context.Context) error {
	f, err := s.base.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	lock, err := filelock.AcquireWithin(ctx, f, lockWait)
	if err != nil {
		var held *filelock.Held
		if errors.As(err, &held) {
			return diag.New(diag.Conflict, "opening the registry in %s: %w", s.p.Dir, filelock.ErrHeld).
				WithReason("registry_held").
				WithDetail("dir", s.p.Dir)
		}
		return diag.New(diag.FileSystemError, "opening the registry in %s: %w", s.p.Dir, err)
	}
	s.lock = lock
	return nil
}

func (s *Server) readHost() error {
	b, err := os.ReadFile(filepath.Join(s.p.Dir, hostFile))
	if err != nil {
		return diag.New(diag.ConfigError, "opening the registry in %s: it is not a registry: %w", s.p.Dir, err).
			WithReason("no_registry").
			WithDetail("dir", s.p.Dir)
	}
	s.host = string(trimLine(b))
	if s.p.Host != "" && s.p.Host != s.host {
		return diag.New(diag.ConfigError, "opening the registry in %s: its host is %s, not %s; ids of published bundles name it", s.p.Dir, s.host, s.p.Host)
	}
	return wire.CheckHost(s.host)
}

// Create initialises the directory of a new registry: its host and the key of its log. It
// is an error if the directory is a registry already.
func Create(p Params) error {
	if err := wire.CheckHost(p.Host); err != nil {
		return err
	}
	base := atomicfile.Private(p.Dir)
	secret, key, err := log.GenerateKey(randomOf(p.Rand), p.Host)
	if err != nil {
		return err
	}
	for _, d := range []string{publicDir, incomingDir, documentsDir, foundDir} {
		if err := base.MkdirAll(d); err != nil {
			return err
		}
	}
	err = base.Create(keyFile, []byte(secret+"\n"+key+"\n"), 0o600)
	if err != nil {
		return diag.Doing("creating the registry", err)
	}
	return base.Create(hostFile, []byte(p.Host+"\n"), 0o644) // last: it makes the directory a registry
}

// IsRegistry reports whether Create has initialised a directory.
func IsRegistry(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, hostFile))
	return err == nil
}

func (s *Server) readKey() (*log.Signer, string, error) {
	b, err := os.ReadFile(filepath.Join(s.p.Dir, filepath.FromSlash(keyFile)))
	if err != nil {
		return nil, "", diag.New(diag.FileSystemError, "reading the key of the log: %w", err)
	}
	secret, key, ok := cutLine(b)
	if !ok {
		return nil, "", diag.New(diag.ConfigError, "reading the key of the log in %s: it is damaged", s.p.Dir)
	}
	signer, err := log.NewSigner(secret)
	return signer, key, err
}

// Host returns the host of the registry's ids.
func (s *Server) Host() string {
	return s.host
}

// Key returns the key of the log, which clients pin.
func (s *Server) Key() string {
	return s.key
}

// Size returns the number of log entries.
func (s *Server) Size() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.writer.Tree().Size
}

// Close ends the registry after the commits that have begun.
func (s *Server) Close() error {
	close(s.stop)
	<-s.done
	return s.release()
}

func (s *Server) release() error {
	var err error
	if s.meta != nil {
		err = s.meta.close()
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Release())
	}
	return err
}

// Limits of connections.
const (
	headerTimeout = 10 * time.Second
	stallTimeout  = 60 * time.Second // of a body without progress
	bodyTimeout   = 30 * time.Second // of a short body in all
	maxHeader     = 16 << 10
	closeTimeout  = 10 * time.Second
)

// limits returns the limits of connections.
func limits() httpserve.Limits {
	return httpserve.Limits{
		Header: headerTimeout,
		Idle:   2 * time.Minute,
		Bytes:  maxHeader,
		Close:  closeTimeout,
	}
}

// Serve serves HTTP on a listener until ctx ends. It also does what commands of the
// operator ask for.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	go s.serveQueue(ctx)
	var asking sync.WaitGroup
	asking.Go(func() { s.cosignLoop(ctx) })
	defer asking.Wait() // after Close, another process may write the checkpoint
	defer cancel()
	return httpserve.Serve(ctx, l, s.Handler(), limits())
}
