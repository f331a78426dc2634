package wire

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"github.com/ryeos/rye/lock/treehash"
	"hash"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ryeos/rye/bundle"
	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/item"
)

// Limits of an archive.
const (
	MaxArchive  = 64 << 20  // bytes, compressed
	MaxUnpacked = 512 << 20 // bytes of all files
	MaxFiles    = 20_000
)

// maxTar is the longest tar: the files, and for each of them at most a header, an extended
// header with a long path, and padding.
const maxTar = MaxUnpacked + MaxFiles*(5*512) + 20*512

// File is one file of an archive.
type File struct {
	Path       string
	Executable bool
	Data       []byte
}

// Pack returns the archive of files: a POSIX tar in gzip, sorted by path. The same files
// give the same bytes with one version of rye; the hash of its tree identifies a bundle,
// not the hash of the archive.
func Pack(files []File) ([]byte, error) {
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, func(a, b File) int {
		return strings.Compare(a.Path, b.Path)
	})
	list := make([]treehash.File, len(sorted))
	for i, f := range sorted {
		list[i] = f.tree()
	}
	if err := checkFiles(list); err != nil {
		return nil, diag.Doing("packing the archive", err)
	}
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(z)
	for _, f := range sorted {
		if err := writeTar(t, f); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.Path, err)
		}
	}
	err = errors.Join(t.Close(), z.Close())
	if err != nil {
		return nil, err
	}
	if out.Len() > MaxArchive {
		return nil, diag.New(diag.TooLarge, "packing the archive: it has %d bytes, at most %d are allowed", out.Len(), MaxArchive)
	}
	return out.Bytes(), nil
}

func (f File) tree() treehash.File {
	mode := treehash.Regular
	if f.Executable {
		mode = treehash.Executable
	}
	return treehash.File{
		Path:   f.Path,
		Mode:   mode,
		Size:   int64(len(f.Data)),
		Digest: item.DigestOf(f.Data),
	}
}

// writeTar writes a file in the one form that Unpack accepts.
func writeTar(t *tar.Writer, f File) error {
	h := &tar.Header{
		Typeflag: tar.TypeReg,
		Name:     f.Path,
		Size:     int64(len(f.Data)),
		Mode:     0o644,
		ModTime:  time.Unix(0, 0),
	}
	if f.Executable {
		h.Mode = 0o755
	}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := t.Write(f.Data)
	return err
}

// checkFiles applies the rules for the files of a bundle.
func checkFiles(list []treehash.File) error {
	var fs []diag.Finding
	for _, f := range list {
		if err := checkPath(f.Path); err != nil {
			fs = append(fs, diag.Finding{
				Severity: diag.SeverityError,
				Code:     diag.PathEscape,
				Path:     f.Path,
				Message:  err.Error(),
			})
		}
	}
	if len(fs) == 0 {
		fs = treehash.Check(list)
	}
	if len(list) == 0 {
		return diag.New(diag.ValidationFailed, "it has no files")
	}
	return diag.FromFindings("reading its files", fs)
}

// checkPath returns an error unless p can be a file of a bundle: one that its manifest
// may list, a manifest, or a co-signature of one.
func checkPath(p string) error {
	dir, name, _ := cutLast(p)
	id, ok := strings.CutPrefix(dir, ".ai/bundles/")
	if ok && strings.HasPrefix(name, "manifest.yaml") && bundle.CheckID(id) == nil {
		p = ".ai/" + id + "/" + name // the rules for other files apply, too
	}
	return bundle.CheckPath(p)
}

func cutLast(p string) (dir, name string, ok bool) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "", p, false
	}
	return p[:i], p[i+1:], true
}

// Unpack reads an archive from a server or a user that is not trusted. It calls each for
// every file, in order, and returns the tree, whose hash is treehash.Of. Files that each
// received are valid only if Unpack returns no error: the end of the archive may be wrong.
func Unpack(
	ctx context.Context,
	r io.Reader,
	each func(File) error,
) ([]treehash.File, error) {
	u := &unpacking{
		ctx:       ctx,
		each:      each,
		raw:       sha256.New(),
		canonical: sha256.New(),
	}
	if err := u.run(r); err != nil {
		var typed *diag.Error
		if errors.As(err, &typed) || errors.Is(err, context.Canceled) {
			return nil, diag.Doing("unpacking the archive", err)
		}
		return nil, diag.New(diag.ValidationFailed, "unpacking the archive: %w", err)
	}
	return u.list, nil
}

type unpacking struct {
	ctx            context.Context
	each           func(File) error
	list           []treehash.File
	total          int64
	raw, canonical hash.Hash // of the tar as it is, and as writeTar writes it
}

func (u *unpacking) run(r io.Reader) error {
	compressed := &bounded{r: r, left: MaxArchive, most: "it is larger than 64 MiB"}
	in := bufio.NewReader(compressed)
	z, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("it is not in the format gzip: %w", compressed.cause(err))
	}
	z.Multistream(false)
	if z.Name != "" ||
		z.Comment != "" ||
		len(z.Extra) > 0 ||
		!z.ModTime.IsZero() {
		return errors.New("its gzip header has a name, a comment, a time or extra data")
	}
	plain := &bounded{r: z, left: maxTar, most: "its content is larger than 512 MiB"}
	tee := io.TeeReader(plain, u.raw)
	canonical := tar.NewWriter(u.canonical)
	err = u.files(tar.NewReader(tee), canonical)
	if err != nil {
		return compressed.cause(plain.cause(err))
	}
	if _, err := io.Copy(io.Discard, tee); err != nil { // also verifies gzip's checksum
		return compressed.cause(plain.cause(err))
	}
	if err := canonical.Close(); err != nil {
		return err
	}
	if !bytes.Equal(u.raw.Sum(nil), u.canonical.Sum(nil)) {
		return errors.New("it is not the tar that rye writes for these files: it has other headers or trailing data")
	}
	_, err = in.ReadByte()
	if !errors.Is(err, io.EOF) {
		return errors.New("data follows the end of the archive")
	}
	return checkFiles(u.list)
}

func (u *unpacking) files(t *tar.Reader, canonical *tar.Writer) error {
	for {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("it is not a tar: %w", err)
		}
		if err := u.check(h); err != nil {
			return fmt.Errorf("entry %d, %q: %w", len(u.list)+1, cut(h.Name), err)
		}
		data := make([]byte, h.Size)
		if _, err := io.ReadFull(t, data); err != nil {
			return fmt.Errorf("entry %d, %q: %w", len(u.list)+1, cut(h.Name), err)
		}
		f := File{Path: h.Name, Executable: h.Mode == 0o755, Data: data}
		if err := writeTar(canonical, f); err != nil {
			return err
		}
		u.list = append(u.list, f.tree())
		if err := u.each(f); err != nil {
			return err
		}
	}
}

// check applies the rules that do not need the other files, before the data is read. Paths
// are complete here, so that each never receives one that leaves its directory.
func (u *unpacking) check(h *tar.Header) error {
	u.total += h.Size
	switch {
	case h.Typeflag != tar.TypeReg:
		return diag.New(diag.NotRegular, "it is not a regular file (type %q)", h.Typeflag)
	case !utf8.ValidString(h.Name):
		return diag.New(diag.Encoding, "its path is not UTF-8")
	case h.Mode != 0o644 && h.Mode != 0o755:
		return diag.New(diag.NotRegular, "its mode is %o, not 644 or 755", h.Mode)
	case h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || !h.ModTime.Equal(time.Unix(0, 0)):
		return errors.New("it has an owner or a time")
	case h.Size < 0 || h.Size > treehash.MaxFile:
		return diag.New(diag.TooLarge, "it has %d bytes, at most %d are allowed", h.Size, treehash.MaxFile)
	case u.total > MaxUnpacked:
		return diag.New(diag.TooLarge, "the files have more than %d bytes", MaxUnpacked)
	case len(u.list) == MaxFiles:
		return diag.New(diag.TooLarge, "there are more than %d files", MaxFiles)
	}
	n := len(u.list)
	if n > 0 && u.list[n-1].Path >= h.Name {
		return diag.New(diag.PathEscape, "it repeats, or is not sorted after, %q", cut(u.list[n-1].Path))
	}
	return checkPath(h.Name)
}

func cut(s string) string {
	return cuttext.Short(s, 200)
}

// bounded is a reader that fails after a number of bytes. Readers above it hide the
// reason, so it keeps it.
type bounded struct {
	r    io.Reader
	left int64
	most string
	full bool
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left == 0 {
		var one [1]byte
		n, err := b.r.Read(one[:])
		if n > 0 {
			b.full = true
			return 0, io.ErrUnexpectedEOF
		}
		return 0, err
	}
	n, err := b.r.Read(
		p[:min(int64(len(p)), b.left)],
	)
	b.left -= int64(n)
	return n, err
}

func (b *bounded) cause(err error) error {
	if err != nil && b.full {
		return diag.New(diag.TooLarge, "%s", b.most)
	}
	return err
}
