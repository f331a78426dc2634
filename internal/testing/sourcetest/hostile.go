package sourcetest

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // the names of git's objects
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/adler32"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Answer answers requests in place of git, or passes them to git.
type Answer = func(w http.ResponseWriter, r *http.Request, git http.Handler)

// Hostile returns the answers of remotes that want to exhaust their clients, by name.
// Each serves a repository well until it attacks.
func Hostile() map[string]Answer {
	return map[string]Answer{
		"refs":         EndlessRefs,
		"gzip":         gzipRefs,
		"headers":      hugeHeaders,
		"count":        packs(hugeCount),
		"zeros":        packs(zeroBomb),
		"delta":        packs(deltaBomb),
		"chain":        packs(deltaChain),
		"instructions": packs(deltaOfZeros),
		"commits":      packs(manyParents),
		"objects":      packs(manyObjects),
		"size":         packs(lyingSize),
		"progress":     packs(endlessProgress),
		"shallow":      endlessShallow,
		"line":         hugeLine,
	}
}

// until writes to a client until it disconnects, at most as long as no attack needs.
func until(w io.Writer, text []byte) {
	for sent := 0; sent < 3<<30; sent += len(text) {
		if _, err := w.Write(text); err != nil {
			return
		}
	}
}

func pkt(text string) string {
	return fmt.Sprintf("%04x%s", len(text)+4, text)
}

func isVersion2(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Git-Protocol"), "version=2")
}

// firstRef returns the first line of a list of refs, with the capabilities: a client refuses a list
// without them at once.
func firstRef() string {
	return pkt(strings.Repeat("1", 40) + " HEAD\x00shallow ofs-delta side-band-64k\n")
}

// EndlessRefs lists refs without end.
func EndlessRefs(w http.ResponseWriter, r *http.Request, git http.Handler) {
	if isVersion2(r) && r.Method == http.MethodGet {
		git.ServeHTTP(w, r)
		return
	}
	if isVersion2(r) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	} else {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		io.WriteString(w, pkt("# service=git-upload-pack\n")+"0000"+firstRef())
	}
	var b bytes.Buffer
	for i := range 1000 {
		b.WriteString(pkt(fmt.Sprintf("%040x refs/tags/v1.%d.0\n", i, i)))
	}
	until(w, b.Bytes())
}

// gzipRefs sends a list of refs of a few bytes that inflates to gigabytes.
func gzipRefs(w http.ResponseWriter, r *http.Request, git http.Handler) {
	if isVersion2(r) && r.Method == http.MethodGet {
		git.ServeHTTP(w, r)
		return
	}
	kind := "advertisement"
	head := pkt("# service=git-upload-pack\n") + "0000" + firstRef()
	if isVersion2(r) {
		kind = "result"
		head = ""
	}
	w.Header().Set("Content-Type", "application/x-git-upload-pack-"+kind)
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	io.WriteString(z, head)
	until(z, []byte(strings.Repeat(
		pkt(strings.Repeat("1", 40)+" refs/heads/"+strings.Repeat("a", 60_000)+"\n"),
		16,
	)))
}

func hugeHeaders(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	for i := range 2000 {
		w.Header().Set(
			"X-"+strconv.Itoa(i),
			strings.Repeat("a", 8<<10),
		)
	}
}

// hugeLine sends lines of the greatest length that are no refs.
func hugeLine(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
	io.WriteString(w, pkt("# service=git-upload-pack\n")+"0000fff0")
	until(w, bytes.Repeat([]byte("a"), 1<<20))
}

// fetching passes everything to git but the request for a pack. It returns the text of
// that request.
func fetching(w http.ResponseWriter, r *http.Request, git http.Handler) (text string, is bool) {
	if r.Method == http.MethodGet {
		git.ServeHTTP(w, r)
		return "", false
	}
	in := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		in, _ = gzip.NewReader(r.Body)
	}
	b, _ := io.ReadAll(in)
	if strings.Contains(string(b), "command=ls-refs") {
		r.Header.Del("Content-Encoding")
		r.Body = io.NopCloser(bytes.NewReader(b))
		r.ContentLength = int64(len(b))
		git.ServeHTTP(w, r)
		return "", false
	}
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	return string(b), true
}

// packs answers the request for a pack with what a function writes.
func packs(write func(w *Pack)) Answer {
	return func(w http.ResponseWriter, r *http.Request, git http.Handler) {
		text, is := fetching(w, r, git)
		if !is {
			return
		}
		p := &Pack{w: w, sum: sha1.New(), bands: true} //nolint:gosec // as git does
		if isVersion2(r) {
			io.WriteString(w, pkt("packfile\n"))
		} else {
			if strings.Contains(text, "deepen ") {
				io.WriteString(w, "0000")
			}
			io.WriteString(w, pkt("NAK\n"))
			p.bands = strings.Contains(text, "side-band-64k")
		}
		if i := strings.Index(text, "want "); i > 0 {
			p.Want = text[i+5:][:40]
		}
		write(p)
		if p.bands {
			io.WriteString(w, "0000")
		}
	}
}

func endlessShallow(w http.ResponseWriter, r *http.Request, git http.Handler) {
	if _, is := fetching(w, r, git); !is {
		return
	}
	head := ""
	if isVersion2(r) {
		head = pkt("shallow-info\n")
	}
	io.WriteString(w, head)
	var b bytes.Buffer
	for i := range 1000 {
		b.WriteString(pkt(fmt.Sprintf("shallow %040x\n", i)))
	}
	until(w, b.Bytes())
}

// Pack writes a pack, object by object, which need not be one.
type Pack struct {
	Want  string // the object that was requested
	w     io.Writer
	sum   interface{ Sum([]byte) []byte }
	off   int64
	fault error
	bands bool
	z     *zlib.Writer
}

// NewPack returns a pack without the lines of the protocol.
func NewPack(w io.Writer) *Pack {
	return &Pack{w: w, sum: sha1.New()}
} //nolint:gosec // as git does

// Raw writes bytes.
func (p *Pack) Raw(b []byte) {
	if h, ok := p.sum.(io.Writer); ok {
		h.Write(b)
	}
	p.off += int64(len(b))
	p.send(1, b)
}

func (p *Pack) send(band byte, b []byte) {
	for len(b) > 0 && p.fault == nil {
		n := min(len(b), 65000)
		if p.bands {
			_, p.fault = io.WriteString(p.w, pkt(string(band)+string(b[:n])))
		} else {
			_, p.fault = p.w.Write(b[:n])
		}
		b = b[n:]
	}
}

// Start writes the header of a pack.
func (p *Pack) Start(objects uint32) {
	p.Raw(binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), objects))
}

// End writes the checksum.
func (p *Pack) End() {
	p.Raw(p.sum.Sum(nil))
}

// Kinds of objects.
const (
	TypeCommit = 1
	TypeTree   = 2
	TypeBlob   = 3
	TypeOffset = 6
	TypeRef    = 7
)

// Head writes the header of an object and returns its offset.
func (p *Pack) Head(kind byte, size int64) int64 {
	at := p.off
	c := kind<<4 | byte(size&15)
	var b []byte
	for size >>= 4; size > 0; size >>= 7 {
		b = append(b, c|0x80)
		c = byte(size & 0x7f)
	}
	p.Raw(append(b, c))
	return at
}

// Back writes the distance to the base of a delta at an offset.
func (p *Pack) Back(n int64) {
	b := []byte{byte(n & 0x7f)}
	for n >>= 7; n > 0; n >>= 7 {
		n--
		b = append([]byte{byte(n&0x7f) | 0x80}, b...)
	}
	p.Raw(b)
}

// Object writes an object and returns its offset.
func (p *Pack) Object(kind byte, data []byte) int64 {
	at := p.Head(kind, int64(len(data)))
	p.Raw(p.deflate(data))
	return at
}

// Delta writes a delta of the object at an offset.
func (p *Pack) Delta(base int64, data []byte) int64 {
	at := p.Head(TypeOffset, int64(len(data)))
	p.Back(at - base)
	p.Raw(p.deflate(data))
	return at
}

func (p *Pack) deflate(data []byte) []byte {
	var b bytes.Buffer
	if p.z == nil {
		p.z = zlib.NewWriter(nil)
	}
	p.z.Reset(&b)
	p.z.Write(data)
	p.z.Close()
	return b.Bytes()
}

// Zeros writes the deflated form of very many zeros, MiB by MiB, without the work.
func (p *Pack) Zeros(mib int, first []byte) {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(first)
	z.Flush()
	p.Raw(b.Bytes())
	b.Reset()
	chunk := make([]byte, 1<<20)
	z.Write(chunk)
	z.Flush()
	p.Raw(b.Bytes())
	b.Reset()
	z.Write(chunk) // this one and all that follow are equal
	z.Flush()
	repeated := bytes.Clone(b.Bytes())
	p.Raw(bytes.Repeat(repeated, mib-1))
	// The last block, and the sum over the bytes: zeros add the first half to the second.
	sum := adler32.Checksum(first)
	low := uint64(sum & 0xffff)
	high := uint64(sum >> 16)
	high = (high + low*(uint64(mib)<<20)) % 65521
	p.Raw(binary.BigEndian.AppendUint32(
		[]byte{3, 0},
		uint32(high<<16|low),
	))
}

// DeltaHead renders the sizes at the beginning of a delta.
func DeltaHead(base, result int64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(base)), uint64(result))
}

// Copy renders the instruction of a delta that copies n bytes of the base.
func Copy(n int) []byte {
	return []byte{0xf0, byte(n), byte(n >> 8), byte(n >> 16)}
}

// ObjectName returns the name of an object.
func ObjectName(kind string, data []byte) string {
	sum := sha1.Sum(append(
		fmt.Appendf(nil, "%s %d\x00", kind, len(data)),
		data...,
	)) //nolint:gosec // as git does
	return hex.EncodeToString(sum[:])
}

// hugeCount states more objects than its 32 bytes can contain.
func hugeCount(p *Pack) {
	p.Start(0xffffffff)
	p.End()
}

// zeroBomb has one blob of zeros, which inflates to a thousand times its size.
func zeroBomb(p *Pack) {
	p.Start(1)
	p.Head(TypeBlob, 320<<20)
	p.Zeros(320, nil)
	p.End()
}

// deltaBomb multiplies a blob by deltas, each 16 times the one before.
func deltaBomb(p *Pack) {
	p.Start(6)
	size := int64(64 << 10)
	at := p.Object(TypeBlob, make([]byte, size))
	for range 5 {
		d := DeltaHead(size, size*16)
		for range 16 {
			d = append(d, copyOf(size)...)
		}
		at = p.Delta(at, d)
		size *= 16
	}
	p.End()
}

// copyOf renders instructions that copy n bytes of the base.
func copyOf(n int64) (out []byte) {
	for ; n > 0xffff00; n -= 0xffff00 {
		out = append(out, Copy(0xffff00)...)
	}
	return append(out, Copy(int(n))...)
}

// deltaChain is one object of 60 MiB with deltas, each of the one before.
func deltaChain(p *Pack) {
	const n, size = 2, 60 << 20
	p.Start(n + 1)
	at := p.Head(TypeBlob, size)
	p.Zeros(size>>20, nil)
	d := append(DeltaHead(size, size), copyOf(size)...)
	for range n {
		at = p.Delta(at, d)
	}
	p.End()
}

// deltaOfZeros is a delta with 320 MiB of instructions.
func deltaOfZeros(p *Pack) {
	p.Start(2)
	at := p.Object(TypeBlob, []byte("x"))
	here := p.Head(
		TypeOffset,
		int64(len(DeltaHead(1, 1<<20)))+(320<<20),
	)
	p.Back(here - at)
	p.Zeros(320, DeltaHead(1, 1<<20))
	p.End()
}

// manyParents has commits that name the same parent very often: they compress well.
func manyParents(p *Pack) {
	const n = 100
	p.Start(n)
	line := "parent " + strings.Repeat("ab", 20) + "\n"
	text := p.deflate([]byte(
		"tree " + strings.Repeat("cd", 20) + "\n" + strings.Repeat(line, 21_000) + "\nx",
	))
	for range n {
		p.Head(TypeCommit, int64(len("tree ")+41+21_000*len(line)+2))
		p.Raw(text)
	}
	p.End()
}

// manyObjects has as many of the smallest objects as a header may state.
func manyObjects(p *Pack) {
	const n = 20 << 20
	p.Start(n)
	one := append([]byte{TypeBlob << 4}, p.deflate(nil)...)
	for range n / (1 << 16) {
		p.Raw(bytes.Repeat(one, 1<<16))
		if p.fault != nil {
			return
		}
	}
	p.End()
}

// lyingSize states gigabytes for an object of one byte.
func lyingSize(p *Pack) {
	p.Start(1)
	p.Head(TypeTree, 1<<40)
	p.Raw(p.deflate([]byte("x")))
	p.End()
}

// endlessProgress sends much progress and no pack.
func endlessProgress(p *Pack) {
	if !p.bands {
		return
	}
	for range 100 << 20 / 65000 {
		if p.send(2, bytes.Repeat([]byte("."), 65000)); p.fault != nil {
			return
		}
	}
}
