// Package wire defines the formats that a registry and its clients exchange: ids and
// namespaces, the discovery document, index lines, archives, signed requests, receipts and
// search segments.
//
// It parses, checks and renders. It does not use the network or the disk, does not decide
// whether a key is trusted or bound to a namespace, and does not know the log.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/sign"
)

// Paths below the address of a registry.
const (
	DiscoveryPath   = "/.well-known/rye-registry.json"
	WellKnownPath   = "/.well-known/rye-namespace.json" // on the host of a namespace
	DNSPrefix       = "_rye."                           // of the TXT record of a namespace
	IndexPath       = "/index"
	ArchivePath     = "/archive"
	LogPath         = "/log"
	SearchPath      = "/search"
	NamespacesPath  = "/ns"
	RevocationsPath = "/revocations.json"
	APIPath         = "/api/v1"
)

// Limits of documents that a client reads.
const (
	MaxDiscovery   = 64 << 10
	MaxIndex       = 64 << 20 // bytes of the index of one bundle
	MaxLine        = 1 << 20  // bytes of one line of it
	MaxWellKnown   = 16 << 10
	MaxNamespace   = 4 << 20
	MaxRevocations = 16 << 20
)

// Discovery is the document that describes a registry.
type Discovery struct {
	V       int          `json:"v"`
	Host    string       `json:"host"`
	API     string       `json:"api"`
	Index   string       `json:"index"`
	Archive string       `json:"archive"`
	Log     DiscoveryLog `json:"log"`
	Search  string       `json:"search"`
	OIDC    []OIDC       `json:"oidc"`
	Limits  Limits       `json:"limits"`
}

// DiscoveryLog describes the log of a registry.
type DiscoveryLog struct {
	Origin string `json:"origin"`
	Path   string `json:"path"`
	Key    string `json:"key"`
}

// OIDC is an issuer of tokens that prove the owner of a namespace ALIAS~OWNER.
type OIDC struct {
	Alias      string `json:"alias"`
	Issuer     string `json:"issuer"`
	OwnerClaim string `json:"owner_claim"`
}

// Limits are what a registry accepts.
type Limits struct {
	ArchiveBytes   int64 `json:"archive_bytes"`
	Files          int   `json:"files"`
	PublishPerHour int   `json:"publish_per_hour"`
}

// NewDiscovery returns the document of a registry with the paths of this package.
func NewDiscovery(host, logKey string, oidc []OIDC, l Limits) *Discovery {
	if oidc == nil {
		oidc = []OIDC{}
	}
	return &Discovery{
		V:       1,
		Host:    host,
		API:     APIPath,
		Index:   IndexPath,
		Archive: ArchivePath,
		Search:  SearchPath,
		Log:     DiscoveryLog{Origin: host + LogPath, Path: LogPath, Key: logKey},
		OIDC:    oidc,
		Limits:  l,
	}
}

// Render returns the bytes of the document.
func (d *Discovery) Render() []byte {
	return marshal(d)
}

// ParseDiscovery reads the document that a host served. Fields of later versions are
// ignored; a document about another host is an error.
func ParseDiscovery(b []byte, host string) (*Discovery, error) {
	var d Discovery
	if err := unmarshal(b, &d, MaxDiscovery, false); err != nil {
		return nil, malformed("the description of a registry", err)
	}
	switch {
	case d.V != 1:
		return nil, diag.New(diag.VersionMismatch, "reading the description of registry %s: it has version %d, this program reads version 1", host, d.V)
	case d.Host != host:
		return nil, diag.New(diag.RegistryError, "reading the description of registry %s: it describes %q", host, d.Host)
	case d.Log.Origin != host+LogPath:
		return nil, diag.New(diag.RegistryError, "reading the description of registry %s: its log is %q", host, d.Log.Origin)
	}
	for _, p := range []string{d.API, d.Index, d.Archive, d.Log.Path, d.Search} {
		if !strings.HasPrefix(p, "/") ||
			strings.HasSuffix(p, "/") ||
			strings.Contains(p, "//") ||
			strings.Contains(p, "..") ||
			strings.ContainsAny(p, "?#%\\ ") {
			return nil, diag.New(diag.RegistryError, "reading the description of registry %s: %q is not a path", host, p)
		}
	}
	return &d, nil
}

// WellKnown is the document on the host of a namespace that names its keys.
type WellKnown struct {
	V    int      `json:"v"`
	Keys []string `json:"keys"`
}

// ParseWellKnown reads such a document.
func ParseWellKnown(b []byte) (*WellKnown, error) {
	var w WellKnown
	if err := unmarshal(b, &w, MaxWellKnown, false); err != nil {
		return nil, malformed("the keys of a namespace", err)
	}
	if w.V != 1 {
		return nil, diag.New(diag.VersionMismatch, "reading the keys of a namespace: the document has version %d, this program reads version 1", w.V)
	}
	return &w, nil
}

// TXTRecord returns the DNS record that names a key of a namespace.
func TXTRecord(key sign.Fingerprint) string {
	return "rye=1; k=" + KeyText(key)
}

// ParseTXT returns the key in a TXT record. ok is false for a record of another program.
func ParseTXT(record string) (key sign.Fingerprint, ok bool) {
	version, rest, _ := strings.Cut(record, ";")
	if strings.TrimSpace(version) != "rye=1" {
		return key, false
	}
	k, found := strings.CutPrefix(strings.TrimSpace(rest), "k=")
	key, err := ParseKey(k)
	return key, found && err == nil
}

// KeyText renders a key as the documents of a registry name it.
func KeyText(key sign.Fingerprint) string {
	return "ed25519:" + key.String()
}

// ParseKey is the inverse of KeyText.
func ParseKey(s string) (sign.Fingerprint, error) {
	hex, ok := strings.CutPrefix(s, "ed25519:")
	if !ok {
		return sign.Fingerprint{}, diag.New(diag.ParsingError, "reading key %q: it does not begin with ed25519:", s)
	}
	return sign.ParseFingerprint(hex)
}

// marshal renders a document: compact JSON in the order of the fields. Its values cannot
// fail.
func marshal(v any) []byte {
	b, err := jsonx.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("wire: %T cannot be rendered: %v", v, err))
	}
	return append(b, '\n')
}

// unmarshal reads a document strictly. With exact, it must have the bytes that marshal
// writes.
func unmarshal(b []byte, v any, limit int, exact bool) error {
	if len(b) > limit {
		return diag.New(diag.TooLarge, "it is longer than %d bytes", limit)
	}
	value, fs := jsonx.ParseValue(b) // positions are not kept: they would be most of the work
	if len(fs) > 0 {
		return diag.FromFindings("parsing JSON", fs)
	}
	if _, ok := value.(map[string]any); !ok {
		return errors.New("it is not an object")
	}
	if err := json.Unmarshal(b, v); err != nil {
		return err
	}
	if exact && !bytes.Equal(marshal(v), b) {
		return fmt.Errorf("it is not in the canonical form")
	}
	return nil
}

func malformed(what string, err error) error {
	return diag.New(diag.RegistryError, "reading %s: %w", what, err)
}

// timeLayout is the one spelling of a time.
const timeLayout = "2006-01-02T15:04:05Z"

// TimeText renders a time in whole seconds.
func TimeText(t time.Time) string {
	return t.UTC().Format(timeLayout)
}

// ParseTime is the inverse of TimeText.
func ParseTime(s string) (time.Time, error) {
	t, err := time.Parse(timeLayout, s)
	if err == nil && TimeText(t) != s {
		err = fmt.Errorf("%q is not a time", s)
	}
	return t, err
}

func sortedUnique(list []string) bool {
	return slices.IsSorted(list) && len(slices.Compact(slices.Clone(list))) == len(list)
}
