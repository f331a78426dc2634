// Package client reads registries and verifies what they serve: checkpoints of the log
// against the pinned key, the newest checkpoint that this account saw and the checkpoints of locks;
// index lines against their log entries; archives against their digests. It also sends
// signed requests.
//
// State of a registry is in a directory of the account: the newest checkpoint, verified
// tiles, indexes with their ETags, and evidence about a registry that showed two
// histories. The package does not judge signatures of bundles, does not install, and asks
// no user.
//
// Revocations are read when versions are resolved, of the namespaces whose index is read. A
// locked install asks for archives only.
package client

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/trust/doc"
)

// Pin is what a user decided about a registry.
type Pin struct {
	Host      string
	Key       string   // of the log: NAME+HASH+KEY
	Addresses []string // URLs in the order of use; none means https://HOST
	Witnesses []string
	Quorum    int
	From      string // the file of the pin
	// Private permits addresses that are not public: a person of this machine named them,
	// and not a file of a project.
	Private bool
}

// PinOf returns the pin in a trust document.
func PinOf(d *doc.Registry) *Pin {
	return &Pin{
		Host:      d.Host,
		Key:       d.LogKey,
		Addresses: d.Addresses,
		Witnesses: d.Witnesses,
		Quorum:    d.Quorum,
		From:      d.Path,
		Private:   true,
	}
}

// Known is a state of a log that something of this account records.
type Known struct {
	Host, Key string
	Tree      log.Tree
	From      string // what records it, for example rye.lock
}

// Params configures a Client.
type Params struct {
	State   string                          // the directory for the state of all registries
	Pin     func(host string) (*Pin, error) // nil without an error: the host is not pinned
	Known   func(host string) []Known       // states that the log must contain; nil means none
	Offline bool
	Proxy   string
	Now     func() time.Time
	Sleep   func(ctx context.Context, d time.Duration) error // nil waits, or ends with ctx
}

// Client reads registries. It contacts each host once for a checkpoint. It is safe for
// concurrent use.
type Client struct {
	p     Params
	mu    sync.Mutex
	hosts map[string]*opening
}

type opening struct {
	once sync.Once
	host *Host
	err  error
}

// New returns a client.
func New(p Params) *Client {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Sleep == nil {
		p.Sleep = wait
	}
	if p.Known == nil {
		p.Known = func(string) []Known { return nil }
	}
	return &Client{p: p, hosts: map[string]*opening{}}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Host is a registry as of one verified checkpoint.
type Host struct {
	Name string
	Pin  *Pin // with the newest key, if it was rotated

	c      *Client
	remote *remote
	dir    atomicfile.Base
	chain  []string // the pinned key, then those that replaced it

	mu      sync.Mutex
	current *log.Checkpoint
	reader  *log.Reader
	tiles   *tileCache
	notes   []string

	namespaces map[string]bool // of which an index was read
	heads      *heads
}

// Host returns a registry with a checkpoint that was verified and compared with every
// known state of its log. A host that showed two histories is refused.
func (c *Client) Host(ctx context.Context, host string) (*Host, error) {
	c.mu.Lock()
	o := c.hosts[host]
	if o == nil {
		o = &opening{}
		c.hosts[host] = o
	}
	c.mu.Unlock()
	o.once.Do(func() {
		o.host, o.err = c.open(ctx, host)
	})
	if o.err != nil { // the next call may succeed
		c.mu.Lock()
		if c.hosts[host] == o {
			delete(c.hosts, host)
		}
		c.mu.Unlock()
	}
	return o.host, o.err
}

// Opened returns a host that Host returned before, or nil.
func (c *Client) Opened(host string) *Host {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.hosts[host]; o != nil {
		return o.host
	}
	return nil
}

// Hosts returns the hosts that Host returned before, by name.
func (c *Client) Hosts() []*Host {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*Host
	for _, name := range slices.Sorted(maps.Keys(c.hosts)) {
		if h := c.hosts[name].host; h != nil {
			out = append(out, h)
		}
	}
	return out
}

// Bare returns a registry without a checkpoint, for data that is verified by a digest. It
// needs no pin.
func (c *Client) Bare(host string) (*Host, error) {
	if err := wire.CheckHost(host); err != nil {
		return nil, err
	}
	pin, err := c.p.Pin(host)
	if err != nil {
		return nil, err
	}
	if pin == nil {
		pin = &Pin{Host: host}
	}
	h := &Host{
		Name:       host,
		Pin:        pin,
		c:          c,
		dir:        c.dirOf(host),
		namespaces: map[string]bool{},
	}
	if err := h.stopped(); err != nil {
		return nil, err
	}
	h.remote, err = c.remote(pin)
	return h, err
}

func (c *Client) dirOf(host string) atomicfile.Base {
	return atomicfile.Private(filepath.Join(c.p.State, DirName(host)))
}

// DirName returns the name of the directory of a host. A port follows "+".
func DirName(host string) string {
	return strings.Replace(host, ":", "+", 1)
}

// unpinned is the error for a registry that the user did not pin.
func unpinned(host string) error {
	return diag.New(diag.KeyUnknown, "opening registry %s: its log key is not pinned on this computer", host).
		WithReason("registry_unpinned").WithDetail("host", host)
}

func (c *Client) open(ctx context.Context, host string) (*Host, error) {
	h, err := c.Bare(host)
	if err != nil {
		return nil, err
	}
	if h.Pin.Key == "" {
		return nil, unpinned(host)
	}
	if err := log.CheckKey(h.Pin.Key); err != nil {
		return nil, diag.New(diag.KeyUnknown, "opening registry %s: %w", host, err)
	}
	pin := *h.Pin
	h.Pin = &pin
	h.chain = []string{pin.Key}
	h.tiles = newTileCache(h)
	h.followSaved()
	if err := h.refresh(ctx); err != nil {
		return nil, err
	}
	for _, k := range c.p.Known(host) {
		if err := h.Check(ctx, k); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// Checkpoint returns the checkpoint that h reads.
func (h *Host) Checkpoint() *log.Checkpoint {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current
}

// Log returns the reader of the checkpoint.
func (h *Host) Log() *log.Reader {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reader
}

// Notes returns warnings about the registry for a user.
func (h *Host) Notes() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string{}, h.notes...)
}

func (h *Host) origin() string {
	return h.Name + wire.LogPath
}

// verifier verifies checkpoints with one key of the chain. The age of cosignatures is
// judged apart, so that an old checkpoint is STALE and not unsigned.
func (h *Host) verifier(key string) log.Verifier {
	return log.Verifier{
		Origin:    h.origin(),
		Key:       key,
		Witnesses: h.Pin.Witnesses,
		Quorum:    h.Pin.Quorum,
		MaxAge:    100 * 365 * 24 * time.Hour,
		Now:       h.c.p.Now,
	}
}
