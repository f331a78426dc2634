package models

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/internal/httpfill"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/threads/provider"
)

// hostname returns the host of an address without scheme and port.
func (a *Address) hostname() string {
	u, err := url.Parse(a.Host)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// isPrivate reports whether an address was refused because it is not public.
func isPrivate(err error) bool {
	var typed *diag.Error
	return errors.As(err, &typed) && typed.Reason == "private_address"
}

// Unreachable returns an error of a connection in words that say what to do.
func Unreachable(a *Address, err error) error {
	// The causes are found by their types where there are some, else by the texts of
	// net/http, which has no types for them.
	text := err.Error()
	fail := func(code diag.Code, reason, format string, args ...any) error {
		args = append([]any{a.Host}, args...)
		e := diag.New(code, "asking %s: "+format, args...)
		return e.WithReason(reason).WithDetail("host", a.Host)
	}
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED),
		strings.Contains(text, "actively refused"),
		strings.Contains(text, "Connection refused"): // Windows, Wine
		return fail(diag.Network, "service_refused", "no server accepts connections at this address: it is not running, or has a different port")
	case errors.As(err, &dns) && dns.IsNotFound:
		return fail(diag.Network, "service_host", "no host has the name %s", dns.Name)
	case strings.Contains(text, "server gave HTTP response to HTTPS client"), strings.Contains(text, "first record does not look like a TLS handshake"):
		return fail(diag.Network, "service_http", "the server speaks http, not https: write http:// in the address")
	case strings.Contains(text, "malformed HTTP response"), strings.Contains(text, "malformed HTTP status"),
		strings.Contains(text, "readLoopPeekFail"): // it sent something before it was asked
		return fail(diag.Network, "service_https", "what the server sends is not HTTP: it may speak https (write https://), or a different program uses the port")
	case errors.As(err, &name):
		return fail(diag.Network, "service_certificate", "its certificate is for a different name than %s: %s", a.hostname(), name.Error())
	case errors.As(err, &unknown):
		return fail(diag.Network, "service_certificate", "this machine does not know the authority that signed its certificate: add the authority to the certificates of the system, or name a file with it in SSL_CERT_FILE")
	case errors.As(err, &certificate):
		return fail(diag.Network, "service_certificate", "its certificate is not valid: %s", certificate.Err.Error())
	case diag.CodeOf(err) == diag.Timeout:
		return fail(diag.Timeout, "service_timeout", "it did not answer in time: the address may be behind a firewall, or the server is still loading a model")
	}
	return err
}

// refusal is the error for a service that wants a key, or a different key. Services repeat
// the key that they refuse.
func refusal(a *Address, key string, res *httpx.Response) error {
	secret := &httpfill.Redactor{}
	secret.Add(key)
	said := secret.Text(saidBy(res.Body))
	if said != "" {
		said = ": " + said
	}
	if key != "" {
		return diag.New(diag.AuthFailed, "asking %s: it refuses the key (status %d)%s", a.Host, res.Status, said).
			WithReason("service_key_refused").
			WithDetail("host", a.Host)
	}
	return diag.New(diag.AuthRequired, "asking %s: it wants a key (status %d)%s", a.Host, res.Status, said).
		WithReason("service_key_missing").
		WithDetail("host", a.Host)
}

// saidBy returns the text of an error of a service, "" if it has none.
func saidBy(body []byte) string {
	text := provider.ErrorText(body)
	if isPage(body) || !json.Valid(body) {
		return ""
	}
	return cuttext.Short(text, 300)
}

// Explain returns the failure of a call in words that say what the service did and what
// to do. found may be nil.
func Explain(it *Item, found *Found, err error) error {
	var f *provider.Failure
	if !errors.As(err, &f) {
		var typed *diag.Error
		if errors.As(err, &typed) && typed.Code == diag.Network ||
			errors.Is(err, syscall.ECONNREFUSED) {
			return Unreachable(addressOf(it), err)
		}
		return err
	}
	address := addressOf(it)
	fail := func(code diag.Code, reason, format string, args ...any) error {
		e := diag.New(code, "calling %s: "+format, append([]any{it.URL}, args...)...).
			WithReason(reason)
		e.
			WithDetail("url", it.URL).
			WithDetail("dialect", it.Dialect).
			WithDetail("model", it.Model.ID)
		if f.StatusCode != 0 {
			e.WithDetail("status_code", int64(f.StatusCode))
		}
		return e
	}
	said := f.Message
	if meaning := it.Rules.means(f.StatusCode, said); meaning != "" {
		return fail(diag.ProviderError, "service_failed", "%s (%s)", meaning, answer(f.StatusCode, said))
	}
	if it.Rules.noModel.MatchString(said) {
		return fail(
			diag.ProviderError,
			"service_model",
			"it does not have the model %q%s (%s)",
			it.Model.ID,
			listNames(found),
			answer(f.StatusCode, said),
		)
	}
	switch status := f.StatusCode; {
	case status == 0 && (f.Err.Code == diag.Network || f.Err.Code == diag.Timeout):
		return Unreachable(address, f.Err)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		if it.Key == "" {
			return fail(diag.AuthRequired, "service_key_missing", "it wants a key (%s)", answer(status, said))
		}
		return fail(diag.AuthFailed, "service_key_refused", "it refuses the key %s (%s)", it.Key, answer(status, said))
	case status >= 300 && status < 400:
		return fail(diag.ProviderError, "service_path", "it redirects this address, and calls of models follow no redirect: write the address that it leads to (%s)%s", answer(status, said), askedAt(found))
	case isPage([]byte(said)):
		return fail(diag.ProviderError, "service_page", "it answers with a web page, and not with JSON: the address belongs to a web site, or to a proxy that wants a login")
	case missingPath(status):
		return fail(diag.ProviderError, "service_path", "the service has nothing at this path (%s)%s", answer(status, said), askedAt(found))
	case f.Reason == "stream_incomplete" && f.OutputBytes == 0 && strings.Contains(said, "the first"):
		return fail(diag.ProviderError, "service_dialect", "it answers with nothing, or not in the dialect %s: %s", it.Dialect, said)
	case f.Reason == "stream_incomplete" || f.Err.Code == diag.ParsingError:
		return fail(diag.ProviderError, "service_dialect", "what it sends is not a complete answer in the dialect %s: %s", it.Dialect, said)
	}
	return fail(f.Err.Code, "service_failed", "%s", answer(f.StatusCode, said))
}

// OtherDialect returns the dialect in which a service shows itself, if that is not the one
// that the wish names; else "".
func OtherDialect(ctx context.Context, rules *Rules, w Wish, key string) string {
	named := w.Dialect
	w.Dialect = ""
	f, err := Ask(ctx, rules, w, key)
	if err != nil ||
		named == "" ||
		!f.Certain ||
		f.Dialect == named ||
		f.Dialect == provider.Chat && named == provider.Responses {
		return ""
	}
	return f.Dialect
}

// missingPath reports whether a status means that a server has no such endpoint.
func missingPath(status int) bool {
	return status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
}

func answer(status int, said string) string {
	if status == 0 {
		return said
	}
	return fmt.Sprintf("status %d: %s", status, cuttext.Short(said, 300))
}

// addressOf returns the address of an item for messages.
func addressOf(it *Item) *Address {
	a, err := ParseAddress(strings.ReplaceAll(it.URL, "{model}", "model"))
	if err != nil {
		return &Address{Host: it.URL}
	}
	return a
}

// maxNames is the number of models that a message names.
const maxNames = 20

// listNames returns the names of the models of a service for a message.
func listNames(found *Found) string {
	if found == nil || len(found.Models) == 0 {
		return ""
	}
	names := found.Names()
	more := ""
	if len(names) > maxNames {
		more = fmt.Sprintf(" and %d more", len(names)-maxNames)
		names = names[:maxNames]
	}
	return "; it has " + strings.Join(names, ", ") + more
}

// askedAt returns the addresses that had no list, for a message.
func askedAt(found *Found) string {
	if found == nil || len(found.Asked) == 0 {
		return ""
	}
	return "; asked without an answer that helps: " + strings.Join(found.Asked, ", ")
}
