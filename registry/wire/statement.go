package wire

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/sign"
)

// StatementHeader is the header of a write request that has its statement.
const StatementHeader = "Rye-Statement"

// Limits of statements.
const (
	MaxStatement = 8 << 10 // bytes of the header's value
	MaxReason    = 500     // bytes
	MaxSkew      = 5 * time.Minute
	NonceAge     = 15 * time.Minute // how long a registry remembers a nonce; more than twice MaxSkew
)

// Actions of statements, and where each is sent below the API.
const (
	ActionPublish   = "publish"
	ActionYank      = "yank"
	ActionUnyank    = "unyank"
	ActionUnlist    = "unlist"
	ActionRelist    = "relist"
	ActionDelete    = "delete"
	ActionBind      = "bind"
	ActionKeyAdd    = "key-add"
	ActionKeyRemove = "key-remove"
	ActionRevoke    = "revoke"
)

// Endpoint returns the path of the request for an action below the API, "" for an unknown
// one.
func Endpoint(action string) string {
	switch action {
	case ActionPublish:
		return "/publish"
	case ActionYank, ActionUnyank, ActionUnlist, ActionRelist, ActionDelete:
		return "/state"
	case ActionBind:
		return "/binding"
	case ActionKeyAdd, ActionKeyRemove:
		return "/keys"
	case ActionRevoke:
		return "/revocation"
	}
	return ""
}

// Statement is what a person signs to change a registry. Its values are one word each,
// except the reason.
type Statement struct {
	Registry string // the host
	Action   string
	ID       string // NS/NAME[/vN]; the namespace for bind, key-add, key-remove and revoke
	Version  string // "" for other actions than publish and those about the state of a version
	Body     string // sha256: of the body of the request, "" without a body
	Sum      string // of the tree, only of publish
	Reason   string // may be ""
	Time     time.Time
	Nonce    string // 32 hexadecimal digits
	Key      sign.Fingerprint
}

const statementHead = "rye.dev/publish/v1\n"

// statementField is one line of a statement.
type statementField struct {
	name string
	at   func(*Statement) *string
}

func statementFields() []statementField {
	return []statementField{
		{"registry", func(s *Statement) *string {
			return &s.Registry
		}},
		{"action", func(s *Statement) *string {
			return &s.Action
		}},
		{"id", func(s *Statement) *string {
			return &s.ID
		}},
		{"version", func(s *Statement) *string {
			return &s.Version
		}},
		{"archive", func(s *Statement) *string {
			return &s.Body
		}},
		{"sum", func(s *Statement) *string {
			return &s.Sum
		}},
		{"reason", func(s *Statement) *string {
			return &s.Reason
		}},
	}
}

// NewNonce returns a random nonce.
func NewNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return hex.EncodeToString(b[:])
}

// Text returns the text of the statement, without a signature.
func (s *Statement) Text() string {
	var b strings.Builder
	b.WriteString(statementHead)
	for _, f := range statementFields() {
		v := *f.at(s)
		if v == "" {
			v = "-"
		}
		b.WriteString(f.name + " " + v + "\n")
	}
	fmt.Fprintf(&b, "time %s\nnonce %s\nkey %s\n", TimeText(s.Time), s.Nonce, s.Key)
	return b.String()
}

// digestOf identifies bytes in log entries and indexes.
func digestOf(signed []byte) string {
	return item.DigestOf(signed).String()
}

// subject binds the signature of a statement to its registry, in addition to the text.
func (s *Statement) subject() sign.Subject {
	return sign.Subject{Use: sign.UsePublish, Kind: "statement", ID: s.Registry}
}

// Sign completes the statement with the key of the signer, and returns the value of the
// header: base64 of the text and of the signature line over it. Time and Nonce are set if
// they are zero.
func (s *Statement) Sign(
	ctx context.Context,
	signer sign.Signer,
	now time.Time,
) (header string, err error) {
	s.Key = sign.FingerprintOf(signer.Public())
	if s.Time.IsZero() {
		s.Time = now
	}
	s.Time = s.Time.UTC().Truncate(time.Second)
	if s.Nonce == "" {
		s.Nonce = NewNonce()
	}
	if why := s.wrong(); why != "" {
		return "", diag.New(diag.Usage, "signing a statement for %s: %s", s.Registry, why)
	}
	text := []byte(s.Text())
	line, _, err := sign.SignDetached(
		ctx,
		text,
		nil,
		s.subject(),
		signer,
		s.Time,
	)
	if err != nil {
		return "", err
	}
	header = base64.StdEncoding.EncodeToString(append(text, line...))
	if len(header) > MaxStatement {
		return "", diag.New(diag.TooLarge, "signing a statement for %s: it has %d bytes, at most %d are allowed", s.Registry, len(header), MaxStatement)
	}
	return header, nil
}

// wrong returns why a statement cannot be used, "" if it can.
func (s *Statement) wrong() string {
	about := s.about()
	switch {
	case CheckHost(s.Registry) != nil:
		return fmt.Sprintf("%q is not the host of a registry", s.Registry)
	case about == "":
		return fmt.Sprintf("the action %q is unknown", s.Action)
	case about == "namespace" && CheckNamespace(s.ID) != nil:
		return fmt.Sprintf("%q is not a namespace", s.ID)
	case about == "namespace" && (s.Version != "" || s.Sum != ""):
		return s.Action + " has no version and no sum"
	case (s.Action == ActionPublish) != (s.Sum != ""):
		return "a sum belongs to publish alone"
	case s.Sum != "" && !isSum(s.Sum):
		return "the sum is not the sum of a tree"
	case s.Body != "" && !isDigest(s.Body):
		return "archive is not the digest of a body"
	case (about == "version" && s.Action != ActionPublish) != (s.Body == ""):
		return "a body belongs to every action but those about a state"
	case !isReason(s.Reason):
		return fmt.Sprintf("the reason is not one line of at most %d bytes without control characters", MaxReason)
	case len(s.Nonce) != 32 || strings.Trim(s.Nonce, "0123456789abcdef") != "":
		return "the nonce is not 32 hexadecimal digits"
	}
	if about == "version" {
		id, err := ParseID(s.ID)
		if err == nil {
			err = id.CheckVersion(s.Version)
		}
		if err != nil {
			return err.Error()
		}
	}
	return ""
}

// about names the object that an action changes, "" if the action is unknown.
func (s *Statement) about() string {
	switch Endpoint(s.Action) {
	case "":
		return ""
	case "/publish", "/state":
		return "version"
	}
	return "namespace"
}

func isReason(s string) bool {
	return s == "" || s != "-" && len(s) <= MaxReason && utf8.ValidString(s) && strings.TrimSpace(s) == s && !strings.ContainsFunc(
		s,
		func(r rune) bool {
			return r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029
		},
	)
}

// CheckReason returns an error unless s can be the reason of a change.
func CheckReason(s string) error {
	if !isReason(s) {
		return diag.New(diag.Usage, "reading the reason %q: it is not one line of at most %d bytes without control characters", cut(s), MaxReason)
	}
	return nil
}

// Signed is a statement as it was received.
type Signed struct {
	Statement
	Digest string // sha256: of text and signature line
	text   []byte
	line   []byte
}

// ParseHeader reads the value of the header. It verifies the form, not the signature.
func ParseHeader(value string) (*Signed, error) {
	if value == "" {
		return nil, diag.New(diag.AuthFailed, "reading the statement: the request has no header %s", StatementHeader)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(value)
	if err != nil || len(value) > MaxStatement || strings.ContainsAny(value, "\r\n") {
		return nil, statementError("it is not base64 of at most %d bytes", MaxStatement)
	}
	return parseSigned(raw)
}

// parseSigned reads the text of a statement with its signature line.
func parseSigned(raw []byte) (*Signed, error) {
	body := strings.TrimSuffix(string(raw), "\n")
	cutAt := strings.LastIndexByte(body, '\n') + 1
	out := &Signed{Digest: digestOf(raw), text: raw[:cutAt], line: raw[cutAt:]}
	if len(body) == len(raw) || cutAt == 0 {
		return nil, statementError("it has no signature line")
	}
	if err := out.parse(string(out.text)); err != nil {
		return nil, err
	}
	return out, nil
}

func statementError(format string, args ...any) error {
	return diag.New(diag.AuthFailed, "reading the statement: %s", fmt.Sprintf(format, args...))
}

// parse accepts exactly the text that Text writes.
func (s *Statement) parse(text string) error {
	values := map[string]string{}
	for line := range strings.Lines(strings.TrimPrefix(text, statementHead)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		values[name] = value
	}
	for _, f := range statementFields() {
		if v := values[f.name]; v != "-" {
			*f.at(s) = v
		}
	}
	s.Nonce = values["nonce"]
	t, err := ParseTime(values["time"])
	if err != nil {
		return statementError("its time is not valid")
	}
	s.Time = t
	if s.Key, err = sign.ParseFingerprint(values["key"]); err != nil {
		return statementError("its key is not a fingerprint")
	}
	if s.Text() != text {
		return statementError("it does not have exactly the lines of %s", strings.TrimSpace(statementHead))
	}
	if why := s.wrong(); why != "" {
		return statementError("%s", why)
	}
	return nil
}

// Verify returns an error unless public made the signature over the statement.
func (s *Signed) Verify(public ed25519.PublicKey) error {
	line, err := sign.VerifyDetached(
		s.text,
		s.line,
		s.subject(),
		sign.OnlyKey(public),
	)
	if err != nil {
		return diag.New(diag.AuthFailed, "verifying the statement: %w", err)
	}
	if line.Key != s.Key || !line.Time.Equal(s.Time) {
		return diag.New(diag.AuthFailed, "verifying the statement: its signature line has another key or time")
	}
	return nil
}

// Check returns an error unless the statement is for this registry, about now, and its
// action is sent to this endpoint.
func (s *Signed) Check(host, endpoint string, now time.Time) error {
	switch {
	case s.Registry != host:
		return diag.New(diag.AuthFailed, "verifying the statement: it is for the registry %s, not for %s", s.Registry, host)
	case Endpoint(s.Action) != endpoint:
		return diag.New(diag.AuthFailed, "verifying the statement: the action %s does not belong to this request", s.Action)
	case s.Time.Before(now.Add(-MaxSkew)) || s.Time.After(now.Add(MaxSkew)):
		return diag.New(diag.AuthFailed, "verifying the statement: its time %s is more than %d minutes from %s, the time of the registry",
			TimeText(s.Time), int(MaxSkew.Minutes()), TimeText(now)).WithReason("statement_time")
	}
	return nil
}
