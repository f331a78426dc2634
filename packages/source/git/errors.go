package git

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/packages/source"
)

// Reasons why a transport failed and the other one may succeed.
var (
	errMissing     = errors.New("the remote did not send an object that it listed")
	errNotOffered  = errors.New("the remote sends only objects of its branches and tags")
	errUnsupported = errors.New("this transport cannot read the repository")
	errAuth        = errors.New("the remote requires credentials")
)

// network is the error for a wrong response, or none.
func network(ctx context.Context, doing, url string, err error) error {
	if ctx.Err() != nil {
		return stopped(ctx, doing, url)
	}
	var e *diag.Error
	if errors.As(err, &e) {
		return err
	}
	out := diag.New(diag.Network, "%s %s: %w", doing, url, err)
	out.Retryable = !errors.Is(err, errMissing) && !errors.Is(err, errNotOffered)
	return out
}

// stopped is the error for a ctx that ended: it was cancelled, or reached the limit.
func stopped(ctx context.Context, doing, url string) error {
	if errors.Is(context.Cause(ctx), source.ErrTooLong) {
		e := diag.New(diag.Network, "%s %s: %w", doing, url, source.ErrTooLong)
		e.Retryable = true
		return e
	}
	return diag.New(diag.Cancelled, "%s %s: %w", doing, url, context.Cause(ctx))
}

// unresolved is the error for a host that has no address. It is not repeated: the
// answer would be the same a moment later.
func unresolved(doing, url string, err error) error {
	return diag.New(diag.Network, "%s %s: %w", doing, url, err).WithReason("unknown_host")
}

// unauthorised is the error for a remote that requires credentials. text is what the
// remote wrote, in parentheses, or "".
func unauthorised(url string, refused bool, text string) error {
	e := &diag.Error{Code: diag.AuthRequired, Err: errAuth,
		Message: fmt.Sprintf("asking %s: it does not exist, or may not be read without credentials%s", url, text)}
	if refused {
		e.Code = diag.AuthFailed
		e.Message = fmt.Sprintf("asking %s: the credentials that git has are not accepted%s", url, text)
	}
	return e.WithReason("git_credentials").WithDetail("url", url)
}

func notFound(url, text string) error {
	return diag.New(diag.SourceNotFound, "asking %s: there is no repository%s", url, text)
}

func moved(url, home string) error {
	if home == "" {
		return diag.New(diag.SourceMoved, "asking %s: it redirects to an address that cannot be read", url).WithDetail("url", url)
	}
	return diag.New(diag.SourceMoved, "asking %s: it redirects to %s, which was not contacted", url, home).
		WithReason("redirect").
		WithDetail("url", url).
		WithDetail("moved_to", home).
		WithDetail("to", strings.TrimPrefix(home, "https://"))
}

// tooLarge is the error for a transfer beyond its limit.
func tooLarge(url string, limit int64) error {
	return overLimit(url, fmt.Errorf("it sends more than %d bytes", limit))
}

// tooManyRefs is the error for a list of refs beyond its limit.
func tooManyRefs(url, what string) error {
	return overLimit(url, fmt.Errorf("its list of refs has %s", what))
}

// overLimit is the error for a remote that sends more than rye reads.
func overLimit(url string, err error) error {
	return diag.New(diag.LimitExceeded, "fetching %s: %w", url, err).
		WithReason("remote").
		WithDetail("url", url)
}

// noGit is the error for a remote that needs the git command, which is missing.
func noGit(url, why string, cause error) error {
	code := diag.CodeOf(cause)
	if code == "" || code == diag.Network {
		code = diag.ExecutionFailed
	}
	e := &diag.Error{Code: code, Err: cause,
		Message: fmt.Sprintf("asking %s: %s, for which the git command is needed, and there is none", url, why)}
	return e.WithReason("no_git")
}

// missing is the error for an object that a repository does not have.
func missing(oid string) error {
	return diag.New(diag.Network, "reading object %s: %w", oid, errMissing)
}

// broken is the error for a damaged repository of the cache.
func broken(oid string, err error) error {
	return diag.New(diag.HashMismatch, "reading object %s: %w", oid, err)
}

func objectTooLarge(oid string, size, limit int64) error {
	return diag.New(diag.TooLarge, "reading object %s: it has %d bytes, at most %d are allowed", oid, size, limit)
}

// errLine is wrapped by the error for a response that is not of git's protocol.
var errLine = errors.New("its response is not one of git")

// remoteError is the error that a remote itself reported.
type remoteError struct{ text string }

func (e *remoteError) Error() string {
	return "it reports " + strconv.Quote(e.text)
}

// clip returns a text of a remote that may be part of an error.
func clip(text string) string {
	return strings.TrimSpace(cuttext.Start(text, 500))
}
