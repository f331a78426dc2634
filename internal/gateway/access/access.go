// Package access knows who may use the gateway: keys with a role, the projects and the capabilities of
// each, and codes that sign a browser of this computer in once.
//
// It serves nothing and has no sessions. A key is kept as its digest only.
package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/policy"
)

// Dir is the directory of the gateway below the state directory of the user. Sandboxed programs do not
// see it.
const Dir = "gateway"

// Role is what the owner of a key may do.
type Role string

// The roles: each may do what the one before may.
const (
	Viewer   Role = "viewer"   // reads
	Operator Role = "operator" // starts, answers and ends threads
	Admin    Role = "admin"    // also kills, and approves calls of every risk
)

// Roles returns the roles, from the narrowest on.
func Roles() []string {
	return []string{
		string(Viewer),
		string(Operator),
		string(Admin),
	}
}

// Includes reports whether the role may do what another role may.
func (r Role) Includes(other Role) bool {
	list := Roles()
	// A role of a later version is not known, and may do nothing.
	at := slices.Index(list, string(r))
	return at >= 0 && at >= slices.Index(list, string(other))
}

// operatorTier is the highest risk of a call that an operator approves.
const operatorTier = policy.T3

// Approves returns an error if the role may not answer a question with a decision. A refusal narrows,
// so every role that may answer may refuse.
func (r Role) Approves(tier policy.Tier, decision string) error {
	switch {
	case decision == "deny" && r.Includes(Operator):
		return nil
	case !r.Includes(Operator),
		tier > operatorTier && !r.Includes(Admin):
		return diag.New(diag.PermissionDenied, "approving a call of the risk %s: the key has the role %s", tier, r).
			WithReason("gateway_role")
	case decision == "prefix" && !r.Includes(Admin):
		return diag.New(diag.PermissionDenied, "approving also later commands: the key has the role %s", r).
			WithReason("gateway_role")
	}
	return nil
}

// Key is a key without its secret.
type Key struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Role     Role       `json:"role"`
	Digest   string     `json:"digest"`   // hex SHA-256 of the secret
	Projects []string   `json:"projects"` // absolute directories; empty: every project that the gateway serves
	Caps     []string   `json:"capabilities"`
	Created  time.Time  `json:"created"`
	Expires  *time.Time `json:"expires,omitempty"`
	Revoked  *time.Time `json:"revoked,omitempty"`
}

// Local is the owner of this computer, who signed a browser in with rye gateway open.
func Local() *Key {
	return &Key{
		ID:   "local",
		Name: "local",
		Role: Admin,
	}
}

// By returns the name of the key in logs.
func (k *Key) By() string {
	return "gateway:" + k.Name
}

// Held returns the grants of threads of the key. The policy of the project narrows it.
func (k *Key) Held() policy.Held {
	caps := policy.Set{}
	for _, c := range k.Caps {
		caps = append(caps, policy.Cap(c))
	}
	if len(k.Caps) == 0 {
		caps = policy.Set{"rye.*"}
	}
	return policy.Held{{Caps: caps, Source: k.By()}}
}

// Sees returns the projects of a gateway that the key may see.
func (k *Key) Sees(served []string) []string {
	// A gateway that serves more projects later has them for such a key too.
	if len(k.Projects) == 0 {
		return served
	}
	return slices.DeleteFunc(slices.Clone(served), func(dir string) bool {
		return !slices.Contains(k.Projects, dir)
	})
}

// valid returns an error if the key cannot be used at a time.
func (k *Key) valid(now time.Time) error {
	switch {
	case k.Revoked != nil:
		return diag.New(diag.AuthFailed, "reading the key: it was revoked")
	case k.Expires != nil && !now.Before(*k.Expires):
		return diag.New(diag.AuthFailed, "reading the key: it expired on %s", k.Expires.Format(time.DateOnly))
	}
	return nil
}

// Store has the keys of a user account.
type Store struct {
	base atomicfile.Base
	now  func() time.Time
}

// The files of the store.
const (
	keysFile = "keys.json"
	lockFile = "keys.lock"
	codesDir = "codes"
)

// Open returns the keys in the state directory of the user. It does not access the disk.
func Open(state string, now func() time.Time) *Store {
	return &Store{
		base: atomicfile.Private(state).Below(Dir),
		now:  now,
	}
}

// document is the file of the keys.
type document struct {
	Keys []Key `json:"keys"`
}

// maxKeys is the size of the largest file, in bytes.
const maxKeys = 4 << 20

// Keys returns all keys, the oldest first.
func (s *Store) Keys() ([]Key, error) {
	b, _, err := openat.Read(s.base.Path(""), keysFile, maxKeys)
	if errors.Is(err, fs.ErrNotExist) {
		return []Key{}, nil
	}
	if err != nil {
		return nil, diag.Doing("reading the keys of the gateway", err)
	}
	var d document
	if err := jsonx.Decode(b, &d); err != nil {
		return nil, diag.New(diag.ConfigError, "reading the keys of the gateway in %s: %w", s.base.Path(keysFile), err)
	}
	return d.Keys, nil
}

// change replaces the keys by what edit returns.
func (s *Store) change(
	ctx context.Context,
	edit func([]Key) ([]Key, error),
) error {
	if err := s.base.MkdirAll("."); err != nil {
		return err
	}
	lock, err := s.base.Lock(ctx, lockFile)
	if err != nil {
		return diag.Doing("changing the keys of the gateway", err)
	}
	defer func() { _ = lock.Release() }()
	keys, err := s.Keys()
	if err != nil {
		return err
	}
	if keys, err = edit(keys); err != nil {
		return err
	}
	b, err := jsonx.MarshalIndent(document{Keys: keys})
	if err != nil {
		return diag.New(diag.Internal, "writing the keys of the gateway: %w", err)
	}
	b = append(b, '\n')
	return s.base.Write(keysFile, b, 0o600)
}

// The form of a key: rgk_ID_SECRET.
const (
	prefix   = "rgk_"
	idLength = 8
)

// keyAlphabet has the characters of a key after its prefix.
const keyAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// LooksLikeKey reports whether a text contains a key, which must not be in a URL.
func LooksLikeKey(text string) bool {
	_, rest, found := strings.Cut(text, prefix)
	if !found || len(rest) <= idLength {
		return false
	}
	return rest[idLength] == '_'
}

// Create makes a key and returns its text, which is shown once.
func (s *Store) Create(
	ctx context.Context,
	k Key,
) (text string, made *Key, err error) {
	secret := make([]byte, sha256.Size)
	_, _ = rand.Read(secret) // it never fails
	id := rand.Text()[:idLength]
	k.ID = strings.ToLower(id)
	k.Created = s.second()
	encoded := base64.RawURLEncoding.EncodeToString(secret)
	text = prefix + k.ID + "_" + encoded
	k.Digest = digest(text)
	k.Projects = append([]string{}, k.Projects...)
	k.Caps = append([]string{}, k.Caps...)
	err = s.change(ctx, func(keys []Key) ([]Key, error) {
		// Logs name a caller by the name of the key.
		for i := range keys {
			same := keys[i].Name == k.Name
			if same && keys[i].Revoked == nil {
				return nil, diag.New(diag.Conflict, "making a key for the gateway: there is one with the name %q: %s", k.Name, keys[i].ID)
			}
		}
		return append(keys, k), nil
	})
	return text, &k, err
}

// second returns the time as the file has it.
func (s *Store) second() time.Time {
	return s.now().UTC().Truncate(time.Second)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Find returns the key with a text. The time does not depend on how much of a secret is right, because
// digests are compared.
func (s *Store) Find(text string) (*Key, error) {
	want := digest(text)
	return s.find(func(k *Key) bool {
		return k.Digest == want
	})
}

// ByID returns a key for a session that began with it.
func (s *Store) ByID(id string) (*Key, error) {
	return s.find(func(k *Key) bool {
		return k.ID == id
	})
}

func (s *Store) find(is func(*Key) bool) (*Key, error) {
	keys, err := s.Keys()
	if err != nil {
		return nil, err
	}
	for i := range keys {
		if is(&keys[i]) {
			k := &keys[i]
			return k, k.valid(s.now())
		}
	}
	return nil, diag.New(diag.AuthFailed, "reading the key: it is not a key of this gateway")
}

// Revoke ends a key, by its id.
func (s *Store) Revoke(
	ctx context.Context,
	id string,
) (*Key, error) {
	var out *Key
	err := s.change(ctx, func(keys []Key) ([]Key, error) {
		for i := range keys {
			k := &keys[i]
			if k.ID != id {
				continue
			}
			if k.Revoked == nil {
				now := s.second()
				k.Revoked = &now
			}
			out = k
			return keys, nil
		}
		return nil, diag.New(diag.ItemNotFound, "revoking a key of the gateway: there is no key %q", id).
			WithReason("gateway_key")
	})
	return out, err
}

// RevokeText ends a key that became known, by its text. A text that is not a key changes nothing.
func (s *Store) RevokeText(
	ctx context.Context,
	text string,
) error {
	_, rest, _ := strings.Cut(text, prefix)
	if len(rest) <= idLength {
		return nil
	}
	secret := strings.TrimLeft(rest, keyAlphabet)
	length := len(rest) - len(secret)
	k, err := s.Find(prefix + rest[:length])
	if err != nil {
		return nil // it is not valid anyway
	}
	_, err = s.Revoke(ctx, k.ID)
	return err
}

// codeLife is how long a code can be used.
const codeLife = time.Minute

// NewCode makes a code that signs a browser in once. The gateway finds it by its digest in the directory
// that only this user can read.
func (s *Store) NewCode() (string, error) {
	if err := s.base.MkdirAll(codesDir); err != nil {
		return "", err
	}
	code := rand.Text()
	at := s.now().UTC().Format(time.RFC3339)
	name := codesDir + "/" + digest(code)
	err := s.base.Create(name, []byte(at), 0o600)
	return code, err
}

// UseCode reports whether a code is valid, and ends it.
func (s *Store) UseCode(code string) bool {
	name := codesDir + "/" + digest(code)
	b, _, err := openat.Read(s.base.Path(""), name, 100)
	if err != nil {
		return false
	}
	// Of two requests with one code, the one that moves the file away is served.
	used := name + ".used"
	if s.base.Rename(name, used) != nil {
		return false
	}
	_ = s.base.Remove(used)
	at, err := time.Parse(time.RFC3339, string(b))
	if err != nil {
		return false
	}
	age := s.now().Sub(at)
	return age >= -time.Second && age < codeLife
}

// RemoveOldCodes removes codes that were not used in time.
func (s *Store) RemoveOldCodes() {
	entries, err := os.ReadDir(s.base.Path(codesDir))
	if err != nil {
		return // there is none
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // it was used meanwhile
		}
		age := s.now().Sub(info.ModTime())
		if age > codeLife {
			_ = s.base.Remove(codesDir + "/" + e.Name())
		}
	}
}
