package wire

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/item"
)

// Limits of search segments.
const (
	SegmentBundles  = 4096     // bundles of a complete segment
	MaxSegment      = 32 << 20 // bytes, compressed
	maxSegmentPlain = 256 << 20
	maxHitItems     = 500 // items of one bundle that are searchable
	maxSegments     = 64  // of one list: more than a registry of 250,000 bundles has
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
}

// Path returns the path of the segment, relative to the registry's search.
func (s Segment) Path() string { return "/" + trimSHA(s.Digest) + ".seg" }

func trimSHA(d string) string { return d[min(len(d), len("sha256:")):] }

// ArchiveFile returns the path of an archive, relative to the registry's archives.
func ArchiveFile(digest string) string {
	hex := trimSHA(digest)
	return "/sha256/" + hex[:min(2, len(hex))] + "/" + hex + ".tgz"
}

// Found describes the newest listed version of a bundle for a search. Its texts are those
// of publishers: escape them before printing.
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
// description: those of its items, and what they ask for.
func (f *Found) Words() []string {
	out := append(slices.Clone(f.Caps), f.Kinds...)
	for _, x := range f.Items {
		out = append(append(out, x.Ref, x.Description), x.Tags...)
	}
	return out
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
	for _, s := range m.Segments {
		if !isDigest(s.Digest) {
			return nil, malformed("the list of search segments", fmt.Errorf("%q is not a digest", s.Digest))
		}
		if s.Size < 1 || s.Size > MaxSegment || s.Bundles < 0 || s.Bundles > SegmentBundles {
			return nil, malformed("the list of search segments", fmt.Errorf("%s has %d bytes and %d bundles, at most %d and %d are allowed", s.Digest, s.Size, s.Bundles, MaxSegment, SegmentBundles))
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
		if len(f.Items) > maxHitItems {
			f.Items = f.Items[:maxHitItems]
		}
		if _, err := z.Write(marshal(&f)); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// unzip returns what a gzip file contains, at most limit bytes.
func unzip(b []byte, limit int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(z, limit+1))
	if err == nil && int64(len(plain)) > limit {
		err = fmt.Errorf("it unpacks to more than %d bytes", limit)
	}
	return plain, err
}

// ParseSegment reads the file of a segment, which must have the digest of the manifest.
func ParseSegment(b []byte, s Segment) ([]Found, error) {
	if len(b) > MaxSegment {
		return nil, diag.New(diag.TooLarge, "reading a search segment: it is longer than %d bytes", MaxSegment)
	}
	if int64(len(b)) != s.Size || item.DigestOf(b).String() != s.Digest {
		return nil, diag.New(diag.HashMismatch, "reading a search segment: it is not the file %s", s.Digest)
	}
	plain, err := unzip(b, maxSegmentPlain)
	if err != nil {
		return nil, malformed("a search segment", err)
	}
	var out []Found
	for line := range bytes.Lines(plain) {
		var f Found
		if err := unmarshal(line, &f, MaxLine, false); err != nil {
			return nil, malformed("a search segment", err)
		}
		if _, err := ParseID(f.ID); err != nil {
			return nil, malformed("a search segment", err)
		}
		out = append(out, f)
	}
	if len(out) != s.Bundles {
		return nil, malformed("a search segment", fmt.Errorf("it has %d bundles, the list names %d", len(out), s.Bundles))
	}
	return out, nil
}
