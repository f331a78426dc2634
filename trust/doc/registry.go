package doc

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/sign"
)

// KindRegistry is the kind of the document that pins the log key of a registry. In the
// user's directory one of the user's own keys signs it. With Replaces it is a rotation:
// the key before signs it, and the registry publishes it.
const KindRegistry = "registry"

// Limits of registry documents.
const (
	maxAddresses = 8
	maxWitnesses = 16
	maxLogKey    = 256
)

// Registry pins the log key of a registry.
type Registry struct {
	Header
	RegistryParams
}

// RegistryParams is the content of a registry document.
type RegistryParams struct {
	Host      string
	LogKey    string   // NAME+HASH+KEY
	Replaces  string   // the log key before, which signs this document; "" for a pin
	Addresses []string // URLs in the order of use; none means https://HOST
	Witnesses []string // keys, NAME+HASH+KEY
	Quorum    int      // witnesses that must have signed a checkpoint
}

// RegistryFile returns the only name of a registry document about a host. A port follows
// "+": some systems have no ":" in names.
func RegistryFile(host string) string {
	return KindRegistry + "-" + strings.Replace(host, ":", "+", 1) + ".toml"
}

// About returns the zero fingerprint.
func (d *Registry) About() sign.Fingerprint {
	return sign.Fingerprint{}
}

// Name returns the name for the host.
func (d *Registry) Name() string {
	return RegistryFile(d.Host)
}

func (d *Registry) embedded() ed25519.PublicKey {
	if d.Replaces == "" {
		return nil // an own key signs it
	}
	return LogPublic(d.Replaces)
}

// LogPublic returns the public key in the text form of a log key, nil if it has none.
func LogPublic(key string) ed25519.PublicKey {
	name, rest, _ := strings.Cut(key, "+")
	hash, text, ok := strings.Cut(rest, "+")
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if !ok ||
		err != nil ||
		name == "" ||
		len(hash) != 8 ||
		len(raw) != 1+ed25519.PublicKeySize {
		return nil
	}
	return raw[1:]
}

func (d *Registry) read(f *fields) {
	host, ok := f.str("host", true)
	if ok && !validHost(host) {
		f.Reject("host", "must be the name of a host in lower case")
		host = ""
	}
	d.Host = host
	d.LogKey = f.logKey("log-key", true)
	d.Replaces = f.logKey("replaces", false)
	if d.Replaces != "" && d.Replaces == d.LogKey {
		f.Reject("replaces", "is the key itself")
	}
	d.Addresses = f.list("addresses", maxAddresses, checkAddress)
	w := f.sub("witnesses")
	d.Witnesses = w.list("keys", maxWitnesses, checkLogKey)
	if w.Has("quorum") {
		d.Quorum = w.integer("quorum", 0, max(0, len(d.Witnesses)))
	}
	w.finish()
}

func (f *fields) logKey(key string, required bool) string {
	s, ok := f.str(key, required)
	if why := checkLogKey(s); ok && why != "" {
		f.Reject(key, "%s", why)
	}
	return s
}

// checkLogKey returns why a text is not the key of a log or of a witness, or "".
func checkLogKey(s string) string {
	pub := LogPublic(s)
	if pub == nil ||
		len(s) > maxLogKey ||
		strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "must be a key of the form NAME+HASH+KEY"
	}
	if err := sign.CheckKey(pub); err != nil {
		return "may not be used: " + err.Error()
	}
	return ""
}

// checkAddress returns why a text is not the address of a registry, or "".
func checkAddress(s string) string {
	u, err := url.Parse(s)
	if err != nil ||
		u.Scheme != "https" && u.Scheme != "http" ||
		u.Host == "" ||
		u.User != nil ||
		u.RawQuery != "" ||
		u.Fragment != "" ||
		strings.HasSuffix(s, "/") {
		return "must be an http or https URL without credentials, query and final slash"
	}
	return ""
}

// validHost reports whether s is the host of a registry, with a port unless it is the
// usual one.
func validHost(s string) bool {
	host, port, has := strings.Cut(s, ":")
	n, err := strconv.Atoi(port)
	if has && (err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port) ||
		len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return true
}

// NewRegistry returns the file name and the bytes of a registry document. The signer of
// a rotation is the log key before.
func NewRegistry(
	ctx context.Context,
	p RegistryParams,
	signer sign.Signer,
	now time.Time,
) (name string, b []byte, err error) {
	var w writer
	w.head(KindRegistry)
	w.str("host", p.Host)
	w.str("log-key", p.LogKey)
	if p.Replaces != "" {
		w.str("replaces", p.Replaces)
	}
	w.list("addresses", p.Addresses)
	if len(p.Witnesses) > 0 {
		w.b.WriteString("\n[witnesses]\n")
		w.list("keys", p.Witnesses)
		w.line("quorum", strconv.Itoa(p.Quorum))
	}
	return w.sign(ctx, KindRegistry, strings.TrimSuffix(RegistryFile(p.Host), ".toml"), signer, now)
}
