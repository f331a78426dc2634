package wire

import (
	"crypto/ed25519"
	"fmt"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/sign"
)

// StatementsPath is the directory of the signed statements that the log names by their
// digests.
// They are public: without the text, a monitor could not distinguish a yank by the publisher
// from one by the operator.
const StatementsPath = "/statements"

// StatementPath is where a registry serves the signed statement with a digest.
func StatementPath(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return StatementsPath + "/" + hex[:min(2, len(hex))] + "/" + hex
}

// Entry returns the log entry that a statement demands, as far as the statement names it.
func (s *Statement) Entry() *log.Entry {
	key := KeyText(s.Key)
	switch s.Action {
	case ActionPublish:
		return &log.Entry{
			Type:      log.Release,
			ID:        s.ID,
			Version:   s.Version,
			Archive:   s.Body,
			Sum:       s.Sum,
			Publisher: key,
		}
	case ActionBind:
		return &log.Entry{Type: log.Binding, Namespace: s.ID}
	case ActionKeyAdd:
		return &log.Entry{
			Type:      log.Key,
			Namespace: s.ID,
			Action:    "add",
			Publisher: key,
		}
	case ActionKeyRemove:
		return &log.Entry{
			Type:      log.Key,
			Namespace: s.ID,
			Action:    "remove",
			Publisher: key,
		}
	case ActionRevoke:
		return &log.Entry{Type: log.Revocation, Namespace: s.ID, Publisher: key}
	}
	state := map[string]string{
		ActionYank:   StateYanked,
		ActionUnyank: StateOK,
		ActionUnlist: StateUnlisted,
		ActionRelist: StateOK,
		ActionDelete: StateDeleted,
	}[s.Action]
	return &log.Entry{
		Type:      log.State,
		ID:        s.ID,
		Version:   s.Version,
		State:     state,
		Publisher: key,
	}
}

// Differs returns why an entry is not the change that a statement demands, "" if it is. The
// log contains many entries: that it contains this one proves only that something was
// changed.
func (s *Signed) Differs(e *log.Entry) string {
	want := s.Entry()
	fields := []struct{ name, got, want string }{
		{"statement", e.Statement, s.Digest}, {"type", e.Type, want.Type}, {"id", e.ID, want.ID}, {"namespace", e.Namespace, want.Namespace},
		{"version", e.Version, want.Version}, {"state", e.State, want.State}, {"action", e.Action, want.Action},
		{"archive", e.Archive, want.Archive}, {"sum", e.Sum, want.Sum}, {"publisher", e.Publisher, want.Publisher},
	}
	if e.Type == log.Binding { // it binds the key of the statement
		fields = append(fields, struct{ name, got, want string }{"key", e.Key, KeyText(s.Key)})
	}
	if e.Type == log.State {
		fields = append(fields, struct{ name, got, want string }{"reason", e.Reason, s.Reason})
	}
	for _, f := range fields {
		if f.got != f.want {
			return fmt.Sprintf("the %s of the log entry is %q, not %q", f.name, f.got, f.want)
		}
	}
	switch skew := e.Time.Sub(s.Time).Abs(); {
	case skew > MaxSkew+time.Second: // both times are whole seconds
		return fmt.Sprintf("the log entry has the time %s, the statement has %s", TimeText(e.Time), TimeText(s.Time))
	case s.Action == ActionKeyRemove && s.Body != digestOf(RenderBody(KeyChange{V: 1, Key: e.Key})):
		return fmt.Sprintf("the statement does not name the key %s of the log entry", e.Key)
	}
	return ""
}

// Revokes reports whether the statement demands that the registry stores a revocation with
// this text.
func (s *Statement) Revokes(text []byte) bool {
	return s.Body == digestOf(RenderBody(RevocationRequest{V: 1, Document: string(text)}))
}

// Raw returns the text of the statement with its signature line. Its digest is Digest.
func (s *Signed) Raw() []byte {
	return append(append([]byte{}, s.text...), s.line...)
}

// CheckStatement returns an error unless raw is the signed statement that caused an entry of
// the log of a host. Public returns the public key with a fingerprint, and revocation the
// text of the revocation that an entry names. The key that key-add adds is not compared: its
// statement names it by a key document, which may have been renewed since.
func CheckStatement(
	raw []byte,
	e *log.Entry,
	host string,
	public func(sign.Fingerprint) (ed25519.PublicKey, error),
	revocation func() ([]byte, error),
) error {
	s, err := parseSigned(raw)
	if err != nil {
		return err
	}
	switch why := s.Differs(e); {
	case why != "":
		return diag.New(diag.LogProof, "comparing the statement with its log entry: %s", why)
	case s.Registry != host:
		return diag.New(diag.LogProof, "comparing the statement with its log entry: it is for the registry %s", s.Registry)
	}
	if e.Type == log.Revocation {
		text, err := revocation()
		if err != nil {
			return err
		}
		if digestOf(text) != e.Digest || !s.Revokes(text) {
			return diag.New(diag.LogProof, "comparing the statement with its log entry: it is not about the revocation %s", e.Digest)
		}
	}
	key, err := public(s.Key)
	if err != nil {
		return err
	}
	return s.Verify(key)
}

// NamespaceOf returns the namespace that an entry is about, "" for none.
func NamespaceOf(e *log.Entry) string {
	if e.ID != "" {
		ns, _, _ := strings.Cut(e.ID, "/")
		return ns
	}
	return e.Namespace
}
