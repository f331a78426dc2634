package wire

import (
	"fmt"
	"slices"
	"time"

	"github.com/ryeos/rye/diag"
)

// Ways to prove that a namespace belongs to a key.
const (
	MethodDNS       = "dns"
	MethodWellKnown = "well-known"
	MethodOIDC      = "oidc"
	MethodOperator  = "operator" // only by the operator of the registry
)

// MaxRequest is the longest body of a request other than publish.
const MaxRequest = 256 << 10

// Binding is the body of bind: the key of the statement proves the namespace.
// The log names fingerprints only.
type Binding struct {
	V        int    `json:"v"`
	Method   string `json:"method"`
	Document string `json:"document"` // the text of the key document
	Token    string `json:"token"`    // the ID token of oidc
}

// KeyChange is the body of key-add and key-remove.
type KeyChange struct {
	V        int    `json:"v"`
	Key      string `json:"key"`
	Document string `json:"document"` // the text of the key document, of key-add
}

// RevocationRequest is the body of revoke: a revocation of a key or of a release.
type RevocationRequest struct {
	V        int    `json:"v"`
	Document string `json:"document"` // the text of the trust document
}

// Report is the body of a report to the operator. It needs no statement.
type Report struct {
	V       int    `json:"v"`
	ID      string `json:"id"`
	Version string `json:"version"`
	Text    string `json:"text"`
}

// RenderBody returns the bytes of a body of this file.
func RenderBody(v any) []byte {
	return marshal(v)
}

// ParseBody reads a body of this file.
func ParseBody[T Binding | KeyChange | RevocationRequest | Report](b []byte) (*T, error) {
	var v T
	if err := unmarshal(b, &v, MaxRequest, true); err != nil {
		return nil, diag.New(diag.ValidationFailed, "reading the body of the request: %w", err)
	}
	return &v, nil
}

// Receipt is the answer to a change: the line as it is in the index, the checkpoint that
// covers it, and the proof.
type Receipt struct {
	V          int    `json:"v"`
	Line       *Line  `json:"line,omitempty"` // of publish and of changes of a state
	Index      int64  `json:"index"`          // the number of the log entry
	Entry      string `json:"entry"`          // its text
	Checkpoint string `json:"checkpoint"`     // the signed note
	Proof      string `json:"proof"`          // that the tree of the checkpoint includes the entry
}

// MaxReceipt is the longest receipt.
const MaxReceipt = 2 << 20

// Render returns the bytes of the receipt.
func (r *Receipt) Render() []byte {
	return marshal(r)
}

// ParseReceipt reads a receipt. Nothing in it is verified.
func ParseReceipt(b []byte) (*Receipt, error) {
	var r Receipt
	if err := unmarshal(b, &r, MaxReceipt, false); err != nil {
		return nil, malformed("the receipt", err)
	}
	if r.V != 1 {
		return nil, malformed("the receipt", fmt.Errorf("it has version %d, this program reads version 1", r.V))
	}
	return &r, nil
}

// retryAfter is the detail of an error with the time after which a request may be repeated.
const retryAfter = "retry_after_ms"

// RenderFailure returns the answer for an error: the one envelope. A positive wait is the
// time after which the request may be repeated.
func RenderFailure(err error, wait time.Duration) []byte {
	e := diag.Typed(err)
	f := diag.NewFailure(e)
	f.Message = diag.Redact(e.Error())
	if wait > 0 {
		f.Retryable = true
		if f.Details == nil {
			f.Details = map[string]any{}
		}
		f.Details[retryAfter] = wait.Milliseconds()
	}
	return marshal(diag.Envelope{Error: f})
}

// failureCodes are the codes of an answer that clients believe. Codes such as
// LOG_EQUIVOCATION are what a client found and proved, never the word of a server or mirror.
func failureCodes() []diag.Code {
	return []diag.Code{diag.RegistryError, diag.AuthFailed, diag.ValidationFailed, diag.LimitExceeded, diag.VersionNotFound}
}

// ParseFailure returns the error in an answer; one with a code that clients do not believe
// is REGISTRY_ERROR. A server that is not trusted wrote its texts: escape them before
// printing. ok is false for another document.
func ParseFailure(b []byte) (err *diag.Error, ok bool) {
	var f struct {
		Error *struct {
			Code      diag.Code `json:"code"`
			Message   string    `json:"message"`
			Retryable bool      `json:"retryable"`
			Details   struct {
				Findings   []diag.Finding `json:"findings"`
				RetryAfter int64          `json:"retry_after_ms"`
			} `json:"details"`
		} `json:"error"`
	}
	if unmarshal(b, &f, MaxReceipt, false) != nil ||
		f.Error == nil ||
		f.Error.Code == "" {
		return nil, false
	}
	if slices.Contains(failureCodes(), f.Error.Code) {
		err = diag.New(f.Error.Code, "%s", f.Error.Message)
	} else {
		err = diag.New(diag.RegistryError, "%s: %s", f.Error.Code, f.Error.Message)
	}
	err.Retryable = f.Error.Retryable
	err.Findings = f.Error.Details.Findings
	if f.Error.Details.RetryAfter > 0 {
		err = err.WithDetail(retryAfter, f.Error.Details.RetryAfter)
	}
	return err, true
}
