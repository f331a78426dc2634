package httpx

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"

	"github.com/ryeos/rye/diag"
)

// errIdle ends a stream that says nothing.
var errIdle = errors.New("it said nothing for too long")

// fault turns what net/http says into a typed error that shows no URL beyond
// what doing tells.
func fault(ctx context.Context, doing string, err error) error {
	var typed *diag.Error
	if errors.As(err, &typed) {
		return typed
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	var refused *Refused
	if errors.As(err, &refused) {
		return refusal(doing, refused)
	}
	if e := ended(ctx, doing, err); e != nil {
		return e
	}
	e := diag.New(diag.Network, "%s: %w", doing, err)
	e.Retryable = true
	var dns *net.DNSError
	if errors.As(err, &dns) {
		e.Retryable = dns.IsTemporary || dns.IsTimeout
		return e.WithHint("check the name of the host and the network")
	}
	if untrusted(err) {
		e.Retryable = false
		return e.WithHint("the server's certificate does not hold; nothing was sent")
	}
	return e
}

// ended tells errors that only say that time is up, or that nobody waits.
func ended(ctx context.Context, doing string, err error) *diag.Error {
	var slow net.Error
	switch {
	case errors.Is(context.Cause(ctx), errIdle):
		err = errIdle
	case errors.Is(ctx.Err(), context.Canceled):
		return diag.New(diag.Cancelled, "%s: cancelled", doing)
	case ctx.Err() != nil:
		err = errors.New("no answer in time")
	case errors.As(err, &slow) && slow.Timeout():
	default:
		return nil
	}
	e := diag.New(diag.Timeout, "%s: %w", doing, err)
	e.Retryable = true
	return e
}

func untrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verify) || errors.As(err, &authority) || errors.As(err, &name) || errors.As(err, &invalid)
}

// refusal is the error of a guard that said no.
func refusal(doing string, err error) error {
	e := diag.New(diag.PolicyDenied, "%s: %w", doing, err).
		WithHint("only public addresses are reached; a signed item may declare others under allow_private")
	var r *Refused
	if errors.As(err, &r) {
		e.WithDetail("address", r.Addr.String())
	}
	return e
}
