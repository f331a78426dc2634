package wire

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Limits of search segments. RenderSegment writes at most so much of a bundle.
const (
	SegmentBundles  = 4096     // bundles of a complete segment
	MaxSegment      = 32 << 20 // bytes, compressed
	maxSegmentPlain = 64 << 20 // bytes of the lines of all segments of a list
	maxFoundLine    = 64<<10 + 1
	maxHitItems     = 500 // items of one bundle that are searchable
	maxHitTags      = 50  // of one item
	maxHitWords     = 500 // capabilities, and hosts
	maxCap          = 256 // bytes of one
	maxHitSigners   = 50
	maxHitKinds     = 50
	maxSegments     = 64 // of one list: more than a registry of 250,000 bundles has
)

// SearchManifest lists the segments. A bundle that several of them contain is described by
// the last one.
type SearchManifest struct {
	V        int       `json:"v"`
	Segments []Segment `json:"segments"`
}

// Segment names one segment: /search/HEX.seg.
type Segment struct {
	Digest  string `json:"digest"` // sha256: of the file
	Size    int64  `json:"size"`
	Bundles int    `json:"bundles"`

	// rest are the bytes that the segments of one list may still unpack to. Nil: the segment
	// is read alone.
	rest *atomic.Int64
}

// Path returns the path of the segment, relative to the registry's search.
func (s Segment) Path() string {
	return "/" + trimSHA(s.Digest) + ".seg"
}

func trimSHA(d string) string {
	return d[min(len(d), len("sha256:")):]
}

// ArchiveFile returns the path of an archive, relative to the registry's archives.
func ArchiveFile(digest string) string {
	hex := trimSHA(digest)
	return "/sha256/" + hex[:min(2, len(hex))] + "/" + hex + ".tgz"
}

// Found describes the newest listed version of a bundle for a search. Publishers wrote
// its texts: escape them before printing.
type Found struct {
	ID          string      `json:"id"`
	Version     string      `json:"version"`
	Description string      `json:"description"`
	Kinds       []string    `json:"kinds"`
	Items       []FoundItem `json:"items"`
	Caps        []string    `json:"caps"`
	Hosts       []string    `json:"hosts"`
	Signers     []string    `json:"signers"`
	First       string      `json:"first"` // when its first version was published
	Published   string      `json:"published"`
	State       string      `json:"state"`
	Versions    int         `json:"versions"`
}

// Words returns the texts that a search finds the bundle by, in addition to its id and its
// description: the texts of its items, and the permissions that they ask for.
func (f *Found) Words() []string {
	out := append(slices.Clone(f.Caps), f.Kinds...)
	for _, x := range f.Items {
		out = append(append(out, x.Ref, x.Description), x.Tags...)
	}
	return out
}

// Check returns an error unless every field that is shown for a publisher who is not trusted
// has its form. Only descriptions and tags are free texts.
func (f *Found) Check() error {
	id, err := ParseID(f.ID)
	if err == nil {
		err = id.CheckVersion(f.Version)
	}
	if err == nil {
		_, err = ParseTime(f.First)
	}
	if err == nil {
		_, err = ParseTime(f.Published)
	}
	switch {
	case err != nil:
		return err
	case !knownState(f.State):
		return fmt.Errorf("the state %q is unknown", f.State)
	}
	for _, s := range f.Signers {
		if _, err := ParseKey(s); err != nil {
			return err
		}
	}
	for _, s := range f.Kinds {
		if err := item.CheckKind(item.Kind(s)); err != nil {
			return err
		}
	}
	for _, s := range f.Caps {
		if err := CheckCap(s); err != nil {
			return err
		}
	}
	for _, x := range f.Items {
		if _, err := item.ParseRef(x.Ref, ""); err != nil {
			return err
		}
	}
	return nil
}

var (
	calledForm = form(`^rye(\.[a-zA-Z0-9_*?!\[\]-]{1,64})+$`)
	accessForm = form(`^(risk|net|read|write|exec):[a-zA-Z0-9._*?!\[\]{}%/\\:~@+,=$-]+$`)
)

// CheckCap returns an error unless s is a capability as the index and the search name it: a
// pattern of calls, or the access that a tool states. It has no space and no character that
// is not ASCII.
func CheckCap(s string) error {
	if len(s) > maxCap ||
		!calledForm().MatchString(s) && !accessForm().MatchString(s) {
		return diag.New(diag.RegistryError, "reading capability %.80q: it is not one", s)
	}
	return nil
}

// FoundItem is an item of a bundle.
type FoundItem struct {
	Ref         string   `json:"ref"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
}

// Render returns the bytes of the manifest.
func (m *SearchManifest) Render() []byte {
	c := *m
	if c.Segments == nil {
		c.Segments = []Segment{}
	}
	return marshal(&c)
}

// ParseSearchManifest reads the list of segments.
func ParseSearchManifest(b []byte) (*SearchManifest, error) {
	var m SearchManifest
	if err := unmarshal(b, &m, MaxNamespace, false); err != nil {
		return nil, malformed("the list of search segments", err)
	}
	if m.V != 1 {
		return nil, malformed("the list of search segments", fmt.Errorf("it has version %d, this program reads version 1", m.V))
	}
	if len(m.Segments) > maxSegments {
		return nil, malformed("the list of search segments", fmt.Errorf("it has %d segments, at most %d are allowed", len(m.Segments), maxSegments))
	}
	rest := plainLimit()
	for i, s := range m.Segments {
		m.Segments[i].rest = rest
		if !isDigest(s.Digest) {
			return nil, malformed("the list of search segments", fmt.Errorf("%q is not a digest", s.Digest))
		}
		if s.Size < 1 ||
			s.Size > MaxSegment ||
			s.Bundles < 0 ||
			s.Bundles > SegmentBundles {
			return nil, malformed("the list of search segments", fmt.Errorf(
				"%s has %d bytes and %d bundles, at most %d and %d are allowed",
				s.Digest,
				s.Size,
				s.Bundles,
				MaxSegment,
				SegmentBundles,
			))
		}
	}
	return &m, nil
}

// RenderSegment returns the file of a segment: one line of JSON for each bundle, in gzip.
func RenderSegment(list []Found) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		_, err := z.Write(marshal(f.cut()))
		if err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// lists calls do for every list of texts of a bundle, with the most that a segment has.
func (f *Found) lists(do func(list *[]string, most int)) {
	do(&f.Kinds, maxHitKinds)
	do(&f.Caps, maxHitWords)
	do(&f.Hosts, maxHitWords)
	do(&f.Signers, maxHitSigners)
	for i := range f.Items {
		do(&f.Items[i].Tags, maxHitTags)
	}
}

// cut returns the bundle with lists that clients accept.
func (f Found) cut() *Found {
	f.Items = slices.Clone(f.Items[:min(len(f.Items), maxHitItems)])
	f.lists(func(list *[]string, most int) {
		*list = (*list)[:min(len(*list), most)]
	})
	return &f
}

// tooLong reports whether the bundle has a list that cut would shorten.
func (f *Found) tooLong() bool {
	found := len(f.Items) > maxHitItems
	f.lists(func(list *[]string, most int) {
		found = found || len(*list) > most
	})
	return found
}

func plainLimit() *atomic.Int64 {
	var n atomic.Int64
	n.Store(maxSegmentPlain)
	return &n
}

// eachLine calls do for every line of a gzip file. The line is valid during the call. The
// lines must not be longer than maxFoundLine, and together not longer than the rest.
func eachLine(b []byte, rest *atomic.Int64, do func(line []byte) error) error {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return err
	}
	r := bufio.NewReaderSize(z, maxFoundLine)
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("a line is longer than %d bytes", maxFoundLine)
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case len(line) == 0:
			return nil
		case rest.Add(-int64(len(line))) < 0:
			return diag.New(diag.TooLarge, "the segments of the registry unpack to more than %d bytes", maxSegmentPlain)
		}
		if err := do(line); err != nil {
			return err
		}
	}
}

// ParseSegment reads the file of a segment, which must have the digest of the manifest.
func ParseSegment(b []byte, s Segment) ([]Found, error) {
	if len(b) > MaxSegment {
		return nil, diag.New(diag.TooLarge, "reading a search segment: it is longer than %d bytes", MaxSegment)
	}
	if int64(len(b)) != s.Size ||
		item.DigestOf(b).String() != s.Digest {
		return nil, diag.New(diag.HashMismatch, "reading a search segment: it is not the file %s", s.Digest)
	}
	if s.rest == nil {
		s.rest = plainLimit()
	}
	var out []Found
	if err := eachLine(b, s.rest, func(line []byte) error {
		if len(out) == s.Bundles {
			return fmt.Errorf("it has more bundles than the list names, which are %d", s.Bundles)
		}
		f, err := parseFound(line)
		out = append(out, f)
		return err
	}); err != nil {
		return nil, malformed("a search segment", err)
	}
	if len(out) != s.Bundles {
		return nil, malformed("a search segment", fmt.Errorf("it has %d bundles, the list names %d", len(out), s.Bundles))
	}
	return out, nil
}

func parseFound(line []byte) (f Found, err error) {
	if err := unmarshal(line, &f, maxFoundLine, false); err != nil {
		return f, err
	}
	if _, err := ParseID(f.ID); err != nil {
		return f, err
	}
	if f.tooLong() {
		return f, fmt.Errorf("the description of %s has a list that is too long", f.ID)
	}
	return f, nil
}
