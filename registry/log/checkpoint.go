package log

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/ryeos/rye/sign"
)

// Types of signatures of a note: of the log itself, and of witnesses.
const (
	typeEd25519     = 0x01
	typeCosignature = 0x04
)

// Checkpoint is a verified checkpoint of a log.
type Checkpoint struct {
	Tree      Tree
	Origin    string
	Note      []byte    // as it was served, with all signatures
	Witnesses []string  // names of the witnesses whose cosignatures were verified and are recent
	Time      time.Time // when the quorum last signed: the quorum-th newest cosignature; zero if too few signed
}

// Verifier verifies checkpoints of one log. The zero value accepts none.
type Verifier struct {
	Origin    string   // first line of the note
	Key       string   // of the log: NAME+HASH+KEY
	Witnesses []string // keys of witnesses
	Quorum    int      // different witnesses that must have signed
	MaxAge    time.Duration
	Now       func() time.Time
}

// DefaultMaxAge is the age up to which a cosignature is part of a quorum if Verifier has no
// other.
const DefaultMaxAge = 7 * 24 * time.Hour

// maxAhead is how far the clock of a witness may be ahead.
const maxAhead = 5 * time.Minute

// Errors of checkpoints that callers distinguish.
var (
	ErrOrigin    = errors.New("it is a checkpoint of another log")
	ErrUnsigned  = errors.New("the key of the log has not signed it")
	ErrSignature = errors.New("a signature of a known key is wrong")
	ErrQuorum    = errors.New("too few witnesses have signed it")
	ErrNote      = errors.New("it is not a signed note with the size and root of a tree")
)

// witness verifies cosignature/v1 of one key.
type witness struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func (w *witness) Name() string {
	return w.name
}
func (w *witness) KeyHash() uint32 {
	return w.hash
}

// Verify implements note.Verifier.
func (w *witness) Verify(msg, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	t := binary.BigEndian.Uint64(sig)
	return t <= 1<<62 &&
		ed25519.Verify(w.key, cosigned(msg, t), sig[8:])
}

// cosigned returns the text that a witness signs.
func cosigned(msg []byte, t uint64) []byte {
	return append([]byte("cosignature/v1\ntime "+strconv.FormatUint(t, 10)+"\n"), msg...)
}

// parseKey returns the parts of NAME+HASH+KEY for a type of signature.
func parseKey(key string, kind byte) (*witness, error) {
	name, rest, _ := strings.Cut(key, "+")
	hash, b64, ok := strings.Cut(rest, "+")
	raw, err := base64.StdEncoding.DecodeString(b64)
	if !ok ||
		err != nil ||
		len(raw) != 1+ed25519.PublicKeySize ||
		raw[0] != kind ||
		name == "" ||
		strings.ContainsAny(name, " \t\r\n") {
		return nil, fmt.Errorf("reading key %q: it is not NAME+HASH+KEY of type %d", key, kind)
	}
	w := &witness{name: name, hash: keyHash(name, raw), key: raw[1:]}
	if hash != fmt.Sprintf("%08x", w.hash) {
		return nil, fmt.Errorf("reading key %q: its hash is %08x", key, w.hash)
	}
	// Under a weak key any text has a signature that verifies: it proves nothing of its owner.
	if err := sign.CheckKey(w.key); err != nil {
		return nil, fmt.Errorf("reading key %q: %w", key, err)
	}
	return w, nil
}

// keyHash is the identity of a key in signature lines, as C2SP signed-note defines it.
func keyHash(name string, typed []byte) uint32 {
	h := sha256.New()
	_, _ = io.WriteString(h, name+"\n") // a hash does not fail
	_, _ = h.Write(typed)
	return binary.BigEndian.Uint32(h.Sum(nil))
}

// CheckKey returns an error unless key is the key of a log.
func CheckKey(key string) error { _, err := parseKey(key, typeEd25519); return err }

// CheckWitness returns an error unless key is the key of a witness.
func CheckWitness(key string) error { _, err := parseKey(key, typeCosignature); return err }

// KeyName returns the name in a key.
func KeyName(key string) string { name, _, _ := strings.Cut(key, "+"); return name }

// Verify returns the checkpoint of a note. Signatures of unknown keys are ignored; a wrong
// signature of a known key refuses the note, as ErrSignature.
func (v Verifier) Verify(msg []byte) (*Checkpoint, error) {
	if len(msg) > MaxCheckpoint {
		return nil, ErrNote
	}
	if err := CheckKey(v.Key); err != nil {
		return nil, fmt.Errorf("reading key %q of the log: %w", v.Key, err)
	}
	verifier, err := note.NewVerifier(v.Key)
	if err != nil {
		return nil, fmt.Errorf("reading key %q of the log: %w", v.Key, err)
	}
	all := []note.Verifier{verifier}
	byID := map[string]*witness{}
	for _, key := range v.Witnesses {
		w, err := parseKey(key, typeCosignature)
		if err != nil {
			return nil, err
		}
		// A log that signs as its own witness proves nothing.
		id := witnessID(w.name, w.hash)
		if byID[id] == nil && !isOwnKey(w, v.Key) {
			byID[id], all = w, append(all, w)
		}
	}
	n, err := note.Open(msg, note.VerifierList(all...))
	if err != nil {
		return nil, noteError(err)
	}
	origin, tree, err := parseBody(n.Text)
	if err != nil {
		return nil, err
	}
	if origin != v.Origin {
		return nil, fmt.Errorf("%w: %q instead of %q", ErrOrigin, origin, v.Origin)
	}
	c := &Checkpoint{Tree: tree, Origin: origin, Note: msg}
	return c, v.count(c, n, byID, verifier)
}

// isOwnKey reports whether a witness has the key of a log, whatever their names.
func isOwnKey(w *witness, key string) bool {
	l, err := parseKey(key, typeEd25519)
	return err == nil && bytes.Equal(w.key, l.key)
}

func witnessID(name string, hash uint32) string {
	return fmt.Sprintf("%s+%08x", name, hash)
}

func noteError(err error) error {
	var unverified *note.UnverifiedNoteError
	var invalid *note.InvalidSignatureError
	switch {
	case errors.As(err, &unverified):
		return ErrUnsigned
	case errors.As(err, &invalid):
		return fmt.Errorf("%w: %s+%08x", ErrSignature, invalid.Name, invalid.Hash)
	}
	return fmt.Errorf("%w: %w", ErrNote, err)
}

// count notes which witnesses signed. Two names of one key are one witness.
func (v Verifier) count(
	c *Checkpoint,
	n *note.Note,
	byID map[string]*witness,
	verifier note.Verifier,
) error {
	signed := false
	times := map[string]time.Time{}
	for _, s := range n.Sigs {
		if s.Name == verifier.Name() && s.Hash == verifier.KeyHash() {
			signed = true
			continue
		}
		w := byID[witnessID(s.Name, s.Hash)]
		at, recent := v.recent(s.Base64)
		if w == nil || !recent {
			continue
		}
		was, repeated := times[string(w.key)]
		if !repeated {
			c.Witnesses = append(c.Witnesses, w.name)
		}
		if !repeated || at.After(was) {
			times[string(w.key)] = at
		}
	}
	// One witness that signs alone must not make the state look new.
	sorted := slices.SortedFunc(maps.Values(times), func(a, b time.Time) int {
		return b.Compare(a)
	})
	if n := max(v.Quorum, 1); len(sorted) >= n {
		c.Time = sorted[n-1]
	}
	if !signed {
		return ErrUnsigned
	}
	if len(c.Witnesses) < v.Quorum {
		return fmt.Errorf("%w: %d of %d", ErrQuorum, len(c.Witnesses), v.Quorum)
	}
	return nil
}

// recent returns the time of a verified cosignature, and whether it is part of a quorum.
func (v Verifier) recent(b64 string) (time.Time, bool) {
	raw, err := base64.StdEncoding.DecodeString(b64)
	if err != nil || len(raw) < 12 {
		return time.Time{}, false
	}
	now := time.Now()
	age := v.MaxAge
	if v.Now != nil {
		now = v.Now()
	}
	if age == 0 {
		age = DefaultMaxAge
	}
	at := time.Unix(
		int64(binary.BigEndian.Uint64(raw[4:])&(1<<62-1)),
		0,
	).UTC()
	return at, !at.Before(now.Add(-age)) &&
		!at.After(now.Add(maxAhead))
}

// parseBody returns the origin and tree of the text of a note. It accepts extension lines
// and no other spelling of the numbers.
func parseBody(text string) (string, Tree, error) {
	f := strings.SplitN(text, "\n", 4)
	if len(f) != 4 || f[0] == "" {
		return "", Tree{}, ErrNote
	}
	tree, err := ParseTree(f[1] + " " + f[2])
	if err != nil {
		return "", Tree{}, fmt.Errorf("%w: %w", ErrNote, err)
	}
	for line := range strings.Lines(f[3]) {
		if line == "\n" {
			return "", Tree{}, ErrNote
		}
	}
	return f[0], tree, nil
}

// Signer signs checkpoints. Its text form is a secret.
type Signer struct{ s note.Signer }

// GenerateKey returns a new key of a log with the text of its secret. The name is the
// log's host.
func GenerateKey(rand io.Reader, name string) (secret, key string, err error) {
	return note.GenerateKey(rand, name)
}

// NewSigner returns the signer with a secret of GenerateKey.
func NewSigner(secret string) (*Signer, error) {
	s, err := note.NewSigner(strings.TrimSpace(secret))
	if err != nil {
		return nil, fmt.Errorf("reading the secret of a log: %w", err)
	}
	return &Signer{s}, nil
}

// Sign returns the signed checkpoint of a tree.
func (s *Signer) Sign(origin string, t Tree) ([]byte, error) {
	if s == nil || origin == "" || strings.ContainsAny(origin, "\n\r") {
		return nil, fmt.Errorf("signing a checkpoint: %q is not an origin", origin)
	}
	text := origin + "\n" + strings.Replace(t.String(), " ", "\n", 1) + "\n"
	return note.Sign(&note.Note{Text: text}, s.s)
}

// WitnessKey returns the key of a witness in the form that a trust document has.
func WitnessKey(name string, key ed25519.PublicKey) string {
	typed := append([]byte{typeCosignature}, key...)
	return fmt.Sprintf("%s+%08x+%s", name, keyHash(name, typed), base64.StdEncoding.EncodeToString(typed))
}

// Cosign returns a note with the cosignature of a witness added. It does not verify the
// note: a witness does that first, with a Verifier and a consistency proof.
func Cosign(
	msg []byte,
	name string,
	key ed25519.PrivateKey,
	at time.Time,
) ([]byte, error) {
	text, _, ok := strings.Cut(string(msg), "\n\n")
	if !ok || at.Unix() < 0 {
		return nil, ErrNote
	}
	t := uint64(at.Unix())
	typed := append([]byte{typeCosignature}, key.Public().(ed25519.PublicKey)...)
	raw := binary.BigEndian.AppendUint32(nil, keyHash(name, typed))
	raw = binary.BigEndian.AppendUint64(raw, t)
	raw = append(raw, ed25519.Sign(key, cosigned([]byte(text+"\n"), t))...)
	line := "— " + name + " " + base64.StdEncoding.EncodeToString(raw) + "\n"
	return append(append([]byte{}, msg...), line...), nil
}
