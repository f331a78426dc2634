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

// errIdle ends a stream that sends nothing for Request.Idle.
var errIdle = errors.New("it sent nothing for too long")

// fault types an error of net/http. The result has no URL except the one in
// doing: URLs can contain credentials.
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
	}
	if untrusted(err) {
		e = diag.New(diag.Network, "%s: the certificate of the server is not valid: %w", doing, err)
	}
	return e
}

// ended returns the error of a request that was cancelled or ran out of time, or
// nil.
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

// untrusted reports whether the server's certificate was refused.
func untrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &verify) ||
		errors.As(err, &authority) ||
		errors.As(err, &name) ||
		errors.As(err, &invalid)
}

// refusal returns the error for an address that the guard refuses.
func refusal(doing string, err error) error {
	e := diag.New(diag.PolicyDenied, "%s: %w", doing, err)
	var r *Refused
	if errors.As(err, &r) {
		e.WithDetail("address", r.Addr.String())
		if !r.metadata {
			e.WithReason("private_address")
		}
	}
	return e
}
