package server

import (
	"context"
	"net"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/registry/wire"
	"github.com/ryeos/rye/sign"
)

// proofTimeout is how long the proof of a namespace may take.
const proofTimeout = 15 * time.Second

// prove returns an error unless the method proves that the namespace names the key.
func (s *Server) prove(
	ctx context.Context,
	ns string,
	key sign.Fingerprint,
	b *wire.Binding,
	now time.Time,
) error {
	ctx, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	form := wire.NamespaceForm(ns)
	switch {
	case b.Method == wire.MethodDNS && form == wire.FormDNS:
		return s.proveDNS(ctx, ns, key)
	case b.Method == wire.MethodWellKnown && form == wire.FormDNS:
		return s.proveWellKnown(ctx, ns, key)
	case b.Method == wire.MethodOIDC && form == wire.FormOIDC:
		return s.proveOIDC(ctx, ns, b.Token, now)
	}
	if form == wire.FormPlain {
		return unproven("the namespace %s can be bound by the operator of the registry only", ns)
	}
	return unproven("the method %q does not prove a namespace like %s", b.Method, ns)
}

func unproven(format string, args ...any) error {
	return diag.New(diag.AuthFailed, "proving the namespace: "+format, args...)
}

func (s *Server) proveDNS(ctx context.Context, ns string, key sign.Fingerprint) error {
	lookup := s.p.Lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupTXT
	}
	name := wire.DNSPrefix + ns + "." // absolute: the resolver must not try it below the domain of this machine
	records, err := lookup(ctx, name)
	if err != nil {
		return unproven("looking up the TXT records of %s: %w", name, err)
	}
	for _, r := range records {
		if k, ok := wire.ParseTXT(r); ok && k == key {
			return nil
		}
	}
	return unproven("none of the %d TXT records of %s is %q", len(records), name, wire.TXTRecord(key))
}

func (s *Server) proveWellKnown(ctx context.Context, ns string, key sign.Fingerprint) error {
	fetch := s.p.Fetch
	if fetch == nil {
		fetch = fetchPublic
	}
	url := "https://" + ns + wire.WellKnownPath
	b, err := fetch(ctx, url, wire.MaxWellKnown)
	if err != nil {
		return unproven("reading %s: %w", url, err)
	}
	w, err := wire.ParseWellKnown(b)
	if err != nil {
		return unproven("reading %s: %w", url, err)
	}
	if !slices.Contains(w.Keys, wire.KeyText(key)) {
		return unproven("%s does not name the key %s", url, wire.KeyText(key))
	}
	return nil
}

// fetchPublic reads a document of a public host. It follows no redirect, so that a host
// cannot pass the proof to a different host.
func fetchPublic(ctx context.Context, url string, limit int64) ([]byte, error) {
	return fetchFrom(ctx, httpx.Params{}, url, limit)
}

// fetchLocal is fetchPublic, also for this machine.
func fetchLocal(ctx context.Context, url string, limit int64) ([]byte, error) {
	return fetchFrom(ctx, httpx.Params{AllowPrivate: []string{"127.0.0.1"}}, url, limit)
}

func fetchFrom(ctx context.Context, p httpx.Params, url string, limit int64) ([]byte, error) {
	c, err := httpx.New(p)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	r, err := c.Do(ctx, httpx.Request{Method: "GET", URL: url, MaxBytes: limit})
	switch {
	case err != nil:
		return nil, err
	case r.Status != 200:
		return nil, diag.New(diag.Network, "the status is %d", r.Status)
	case r.Truncated:
		return nil, diag.New(diag.TooLarge, "it is longer than %d bytes", limit)
	}
	return r.Body, nil
}
