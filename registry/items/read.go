package items

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/search"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/registry/client"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
	"github.com/ryeos/rye/trust"
)

// RegistryHit is a bundle that a search in a registry found. Texts of publishers are
// escaped.
type RegistryHit struct {
	ID          string           `json:"id"` // for projects
	Version     string           `json:"version"`
	Description string           `json:"description,omitempty"`
	Items       []string         `json:"items"`
	Caps        []string         `json:"caps"`
	Signers     []RegistrySigner `json:"signers"`
	First       string           `json:"first_published"`
	State       string           `json:"state,omitempty"`
	Score       float64          `json:"score"`
}

// RegistrySigner is a signer of a release, by the user's trust documents.
type RegistrySigner struct {
	Key   string         `json:"key"`
	Trust trust.KeyState `json:"trust"`
	Owner string         `json:"owner,omitempty"`
}

// RegistryHits is one page of the bundles that a search in registries found.
type RegistryHits struct {
	Hits  []RegistryHit `json:"hits"`
	Total int           `json:"total"`
	Note  string        `json:"note,omitempty"`
}

// SearchRegistry searches one registry, or all that the user pinned if the host is "". The
// query does not leave this computer. No hit is verified: signers are what the registry
// names.
func SearchRegistry(ctx context.Context, p *project.Project, host, query string, limit int) (*RegistryHits, error) {
	all, notes, err := registryBundles(ctx, p, searchedRegistries(p, host))
	if err != nil {
		return nil, err
	}
	var list []search.Described
	for _, f := range all {
		list = append(list, search.Described{Ref: item.Ref{Kind: "bundle", ID: f.ID}, Description: f.Description, Body: f.Words(), Signers: namedSigners(f.Found)})
	}
	a, err := search.NewCatalog(list).Search(search.Query{Text: query, Limit: limit})
	if err != nil {
		return nil, err
	}
	out := &RegistryHits{Hits: []RegistryHit{}, Total: a.Total, Note: joinNotes(append(notes, a.Note)...)}
	for _, x := range a.Found {
		out.Hits = append(out.Hits, registryHit(p, all[x.Number], x.Score))
	}
	return out, nil
}

// foundBundle is a bundle that a registry lists.
type foundBundle struct {
	host string
	wire.Found
}

// joinNotes joins the notes that are not empty.
func joinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "; ")
}

// searchedRegistries returns the host; if it is "", the default registry, else all that the
// user pinned.
func searchedRegistries(p *project.Project, host string) []string {
	if host == "" {
		host = p.DefaultRegistry()
	}
	if host == "" {
		return p.Trust.Registries()
	}
	return []string{host}
}

// registryBundles returns the bundles that registries list. If some of several registries
// cannot be searched, or a bundle is left out, the notes state why.
func registryBundles(ctx context.Context, p *project.Project, hosts []string) (list []foundBundle, notes []string, err error) {
	if len(hosts) == 0 {
		return nil, nil, diag.New(diag.Usage, "searching registries: you pinned none").WithReason("registry_none")
	}
	all := p.Registries()
	for _, name := range hosts {
		found, wrong, err := listedBundles(ctx, all, name)
		if wrong > 0 {
			notes = append(notes, fmt.Sprintf("registry %s describes %d bundles with values that are not in their form: they were left out", name, wrong))
		}
		switch {
		case err != nil && (len(hosts) == 1 || ctx.Err() != nil):
			return nil, nil, err
		case err != nil:
			notes = append(notes, "registry "+name+" was not searched: "+diag.Typed(err).Message)
		}
		list = append(list, found...)
	}
	return list, notes, nil
}

// listedBundles returns the bundles of a registry, and the number of those whose description
// has something else than its form, which might be a text for a model.
func listedBundles(ctx context.Context, all *project.Registries, host string) (out []foundBundle, wrong int, err error) {
	h, err := all.Host(ctx, host)
	if err != nil {
		return nil, 0, err
	}
	list, err := h.Bundles(ctx)
	for _, f := range list {
		if f.Check() != nil {
			wrong++
			continue
		}
		out = append(out, foundBundle{host, f})
	}
	return out, wrong, err
}

// namedSigners returns the keys that a registry names as the signers of a bundle.
func namedSigners(f wire.Found) (out []sign.Fingerprint) {
	for _, s := range f.Signers {
		if fp, err := wire.ParseKey(s); err == nil {
			out = append(out, fp)
		}
	}
	return out
}

func registryHit(p *project.Project, x foundBundle, score float64) RegistryHit {
	out := RegistryHit{ID: "registry:" + x.host + "/" + x.ID, Version: x.Version, Description: client.Printable(x.Description), Items: []string{},
		Caps: []string{}, Signers: []RegistrySigner{}, First: client.Printable(x.First), Score: score}
	if x.State != wire.StateOK {
		out.State = client.Printable(x.State)
	}
	for _, i := range x.Items {
		out.Items = append(out.Items, client.Printable(i.Ref))
	}
	for _, c := range x.Caps {
		out.Caps = append(out.Caps, client.Printable(c))
	}
	for _, s := range x.Signers {
		out.Signers = append(out.Signers, registrySigner(p, s))
	}
	return out
}

func registrySigner(p *project.Project, key string) RegistrySigner {
	out := RegistrySigner{Key: client.Printable(key), Trust: trust.StateNotTrusted}
	fp, err := wire.ParseKey(key)
	if err != nil || fp == (sign.Fingerprint{}) {
		return out
	}
	if k, ok := p.Trust.Key(fp); ok {
		out.Trust, out.Owner = k.State, k.Owner
	}
	return out
}

// MonitorRegistry returns the log entries about a namespace since the last call, and as
// findings those among them that none of the keys demanded, and the entries whose
// signed statement is not that of a key of the namespace.
func MonitorRegistry(ctx context.Context, p *project.Project, host, ns string, keys []string) (all []client.Seen, found []diag.Finding, err error) {
	for i, k := range keys {
		if !strings.HasPrefix(k, "ed25519:") {
			keys[i] = "ed25519:" + k
		}
		if _, err := wire.ParseKey(keys[i]); err != nil {
			return nil, nil, diag.New(diag.Usage, "reading flag --key: %w", err)
		}
	}
	h, err := p.Registries().Host(ctx, host)
	if err != nil {
		return nil, nil, err
	}
	if all, err = h.Monitor(ctx, ns); err != nil {
		return nil, nil, err
	}
	if len(keys) > 0 {
		for _, s := range client.Foreign(all, keys) {
			found = append(found, diag.Errorf(diag.SourceMoved, 0, 0, "none of the keys demanded %s", client.Printable(s.Describe(s.Index))).WithReason("registry_publisher"))
		}
	}
	for _, s := range client.Unproven(all) {
		found = append(found, diag.Errorf(diag.LogProof, 0, 0, "%s: its signed statement is not proven: %s", client.Printable(s.Describe(s.Index)), s.Unproven))
	}
	return all, found, nil
}

// VerifyRegistry verifies all static files of a registry in a directory or at an address.
// Key is the log key, "" for the pinned one, or without a pin the one that the files name.
func VerifyRegistry(ctx context.Context, p *project.Project, where, key string) (*client.TreeReport, error) {
	read := directoryReader(p.Env.Path(where))
	if strings.Contains(where, "://") {
		c, err := httpx.New(httpx.Params{Proxy: p.Proxy(where), AllowPrivate: hostOf(where), Now: p.Env.Now})
		if err != nil {
			return nil, err
		}
		defer c.Close()
		read = addressReader(c, strings.TrimSuffix(where, "/"))
	}
	host, named, err := client.DiscoverTree(ctx, read)
	if err != nil {
		return nil, err
	}
	if key == "" {
		key = named
		if pin, err := p.Registries().Pin(host); err == nil && pin != nil {
			key = pin.Key
		}
	}
	return client.VerifyTree(ctx, read, host, key)
}

func hostOf(address string) []string {
	_, rest, _ := strings.Cut(address, "://")
	name, _, _ := strings.Cut(rest, "/")
	name, _, _ = strings.Cut(name, ":")
	return []string{name}
}

func directoryReader(dir string) func(context.Context, string, int64) ([]byte, error) {
	return func(_ context.Context, p string, limit int64) ([]byte, error) {
		at := filepath.Join(dir, filepath.FromSlash(p))
		b, err := openat.ReadRegular(at, limit)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &os.PathError{Op: "open", Path: at, Err: fs.ErrNotExist}
		}
		return b, err
	}
}

func addressReader(c *httpx.Client, address string) func(context.Context, string, int64) ([]byte, error) {
	return func(ctx context.Context, p string, limit int64) ([]byte, error) {
		res, err := c.Do(ctx, httpx.Request{Method: "GET", URL: address + p, MaxBytes: limit, Retry: httpx.Retry{Attempts: 3}})
		switch {
		case err != nil:
			return nil, err
		case res.Status == 404 || res.Status == 410:
			return nil, &os.PathError{Op: "get", Path: address + p, Err: fs.ErrNotExist}
		case !res.OK():
			return nil, diag.New(diag.RegistryError, "reading %s: status %d", httpx.Shown(address+p), res.Status)
		case res.Truncated:
			return nil, diag.New(diag.TooLarge, "reading %s: it is longer than %d bytes", httpx.Shown(address+p), limit)
		}
		return res.Body, nil
	}
}
