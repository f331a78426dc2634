package items

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/deps"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/registry/client"
	"github.com/ryeos/rye/registry/wire"
)

// MonitorRegistry returns the log entries about a namespace since the last call, and as
// findings those among them that none of the keys demanded, and the entries whose
// signed statement was not made by a key of the namespace.
func MonitorRegistry(
	ctx context.Context,
	p *project.Project,
	host, ns string,
	keys []string,
) (all []client.Seen, found []diag.Finding, err error) {
	for i, k := range keys {
		if !strings.HasPrefix(k, "ed25519:") {
			keys[i] = "ed25519:" + k
		}
		if _, err := wire.ParseKey(keys[i]); err != nil {
			return nil, nil, diag.New(diag.Usage, "reading flag --key: %w", err)
		}
	}
	h, err := deps.RegistriesOf(p).Host(ctx, host)
	if err != nil {
		return nil, nil, err
	}
	if all, err = h.Monitor(ctx, ns); err != nil {
		return nil, nil, err
	}
	if len(keys) > 0 {
		for _, s := range client.Foreign(all, keys) {
			found = append(found, diag.Errorf(
				diag.SourceMoved,
				0,
				0,
				"none of the keys demanded %s",
				client.Printable(s.Describe(s.Index)),
			).
				WithReason("registry_publisher"))
		}
	}
	for _, s := range client.Unproven(all) {
		found = append(found, diag.Errorf(
			diag.LogProof,
			0,
			0,
			"%s: its signed statement is not proven: %s",
			client.Printable(s.Describe(s.Index)),
			s.Unproven,
		))
	}
	return all, found, nil
}

// VerifyRegistry verifies all static files of a registry in a directory or at an address.
// Key is the log key, "" for the pinned one, or without a pin the one that the files name.
func VerifyRegistry(ctx context.Context, p *project.Project, where, key string) (*client.TreeReport, error) {
	read := directoryReader(p.Env.Path(where))
	if strings.Contains(where, "://") {
		c, err := httpx.New(httpx.Params{Proxy: deps.Proxy(p, where), AllowPrivate: hostOf(where), Now: p.Env.Now})
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
		pin, err := deps.RegistriesOf(p).Pin(host)
		if err == nil && pin != nil {
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
		res, err := c.Do(ctx, httpx.Request{
			Method:   "GET",
			URL:      address + p,
			MaxBytes: limit,
			Retry:    httpx.Retry{Attempts: 3},
		})
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
