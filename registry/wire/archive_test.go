package wire

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"github.com/ryeos/rye/lock/treehash"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ryeos/rye/diag"
)

func sampleFiles() []File {
	return []File{
		{Path: "rye.yaml", Data: []byte("rye: 1\n")},
		{Path: ".ai/tools/a.sh", Executable: true, Data: []byte("#!/bin/sh\n")},
		{Path: ".ai/bundles/acme.io/tools/manifest.yaml", Data: []byte("bundle:\n")},
		{Path: ".ai/tools/" + strings.Repeat("long/", 60) + "a.sh", Data: nil},
		{Path: ".ai/knowledge/größe.md", Data: bytes.Repeat([]byte("x"), 3000)},
	}
}

func TestArchive(t *testing.T) {
	files := sampleFiles()
	b, err := Pack(files)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]File{}
	list, err := Unpack(context.Background(), bytes.NewReader(b), func(f File) error { got[f.Path] = f; return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if g := got[f.Path]; g.Executable != f.Executable || !bytes.Equal(g.Data, f.Data) {
			t.Errorf("%s: %+v", f.Path, g)
		}
	}
	if _, err := treehash.Of(list); err != nil || len(list) != len(files) {
		t.Error(list, err)
	}
	files[0], files[1] = files[1], files[0]
	if again, err := Pack(files); err != nil || !bytes.Equal(again, b) {
		t.Error("another order of the files gives another archive", err)
	}
	stop := errors.New("stop")
	if _, err := Unpack(context.Background(), bytes.NewReader(b), func(File) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// tarOf returns a gzip of a tar that write writes.
func tarOf(t *testing.T, write func(*tar.Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	write(w)
	_ = w.Close() // some of the attacks leave an entry incomplete
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// one writes a regular file after a change of its header.
func one(change func(*tar.Header)) func(*tar.Writer) {
	return several([]string{".ai/tools/a.sh"}, change)
}

func several(names []string, change func(*tar.Header)) func(*tar.Writer) {
	return func(w *tar.Writer) {
		for _, n := range names {
			h := &tar.Header{Typeflag: tar.TypeReg, Name: n, Size: 1, Mode: 0o644, ModTime: time.Unix(0, 0)}
			if change != nil {
				change(h)
			}
			if err := w.WriteHeader(h); err == nil && h.Size == 1 {
				_, _ = w.Write([]byte("x"))
			}
		}
	}
}

func unpack(b []byte) error {
	_, err := Unpack(context.Background(), bytes.NewReader(b), func(File) error { return nil })
	return err
}

// TestHostileArchives are the archives that registry.md names.
func TestHostileArchives(t *testing.T) {
	for name, write := range map[string]func(*tar.Writer){
		"symbolic link": one(func(h *tar.Header) { h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, "/etc/passwd", 0 }),
		"hard link":     one(func(h *tar.Header) { h.Typeflag, h.Linkname, h.Size = tar.TypeLink, ".ai/x", 0 }),
		"directory":     one(func(h *tar.Header) { h.Typeflag, h.Name, h.Size = tar.TypeDir, ".ai/tools/", 0 }),
		"device":        one(func(h *tar.Header) { h.Typeflag, h.Size, h.Devmajor = tar.TypeChar, 0, 1 }),
		"block device":  one(func(h *tar.Header) { h.Typeflag, h.Size = tar.TypeBlock, 0 }),
		"fifo":          one(func(h *tar.Header) { h.Typeflag, h.Size = tar.TypeFifo, 0 }),
		"setuid":        one(func(h *tar.Header) { h.Mode = 0o4755 }),
		"mode":          one(func(h *tar.Header) { h.Mode = 0o600 }),
		"owner":         one(func(h *tar.Header) { h.Uid = 1000 }),
		"owner by name": one(func(h *tar.Header) { h.Uname = "root" }),
		"time":          one(func(h *tar.Header) { h.ModTime = time.Unix(1, 0) }),
		"extended": one(func(h *tar.Header) {
			h.Format, h.PAXRecords = tar.FormatPAX, map[string]string{"SCHILY.xattr.user.x": "y"}
		}),
		"comment":    one(func(h *tar.Header) { h.Format, h.PAXRecords = tar.FormatPAX, map[string]string{"comment": "y"} }),
		"GNU format": one(func(h *tar.Header) { h.Format = tar.FormatGNU }),
		"global header": func(w *tar.Writer) {
			_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"path": ".ai/x"}})
			one(nil)(w)
		},
		"parent":           several([]string{"../x"}, nil),
		"parent below":     several([]string{".ai/tools/../../x"}, nil),
		"absolute":         several([]string{"/etc/passwd"}, nil),
		"dot":              several([]string{"./.ai/tools/a.sh"}, nil),
		"two slashes":      several([]string{".ai//tools/a.sh"}, nil),
		"backslash":        several([]string{`.ai/tools/..\..\x`}, nil),
		"drive":            several([]string{"C:/x"}, nil),
		"reserved name":    several([]string{".ai/tools/con.sh"}, nil),
		"outside":          several([]string{"README.md"}, nil),
		"trust documents":  several([]string{".ai/trust/key-x.toml"}, nil),
		"git":              several([]string{".ai/tools/.git/config"}, nil),
		"not UTF-8":        several([]string{".ai/tools/\xff.sh"}, nil),
		"invisible":        several([]string{".ai/tools/a\u200bb.sh"}, nil),
		"NUL":              several([]string{".ai/tools/a\x00b.sh"}, nil),
		"duplicate":        several([]string{".ai/tools/a.sh", ".ai/tools/a.sh"}, nil),
		"case":             several([]string{".ai/tools/A.sh", ".ai/tools/a.sh"}, nil),
		"case of a folder": several([]string{".ai/TOOLS/a.sh", ".ai/tools/b.sh"}, nil),
		"file and folder":  several([]string{".ai/tools/a", ".ai/tools/a/b"}, nil),
		"not sorted":       several([]string{".ai/tools/b.sh", ".ai/tools/a.sh"}, nil),
		"empty":            func(*tar.Writer) {},
		"cut":              func(w *tar.Writer) { one(func(h *tar.Header) { h.Size = 1000 })(w); _ = w.Flush() },
	} {
		b := tarOf(t, write)
		err := unpack(b)
		if err == nil {
			t.Errorf("%s was accepted", name)
		} else if code := diag.CodeOf(err); code.Class() == diag.ClassMachine || code.Class() == diag.ClassBug {
			t.Errorf("%s: the code of the error is %s: %v", name, code, err)
		}
	}
}

func TestArchiveEnds(t *testing.T) {
	good, err := Pack(sampleFiles())
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	pack := func(b []byte, change func(*gzip.Writer)) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		if change != nil {
			change(w)
		}
		if _, err := w.Write(b); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)-5] ^= 1
	for name, b := range map[string][]byte{
		"byte after gzip":      append(bytes.Clone(good), 0),
		"second gzip":          append(bytes.Clone(good), good...),
		"data after the tar":   pack(append(bytes.Clone(plain), "hidden"...), nil),
		"zeros after the tar":  pack(append(bytes.Clone(plain), make([]byte, 512)...), nil),
		"second tar":           pack(append(bytes.Clone(plain), plain...), nil),
		"no end of the tar":    pack(plain[:len(plain)-1024], nil),
		"half an end":          pack(plain[:len(plain)-512], nil),
		"wrong checksum":       flipped,
		"cut gzip":             good[:len(good)-1],
		"gzip with a name":     pack(plain, func(w *gzip.Writer) { w.Name = "x" }),
		"gzip with a time":     pack(plain, func(w *gzip.Writer) { w.ModTime = time.Unix(5, 0) }),
		"gzip with extra data": pack(plain, func(w *gzip.Writer) { w.Extra = []byte("x") }),
		"plain tar":            plain,
		"nothing":              nil,
		"padding of a file":    pack(padded(plain), nil),
	} {
		if err := unpack(b); diag.CodeOf(err) != diag.ValidationFailed {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := unpack(pack(plain, nil)); err != nil {
		t.Errorf("another compression of the same tar: %v", err)
	}
}

// padded writes into the padding of the first file.
func padded(plain []byte) []byte {
	b := bytes.Clone(plain)
	b[512+511] = 'x'
	return b
}

// TestBombs unpacks small archives of large contents. Memory stays that of one file.
func TestBombs(t *testing.T) {
	if os.Getenv("RYE_LONG") == "" {
		t.Skip("RYE_LONG is not set: it unpacks 512 MiB")
	}
	zeros := make([]byte, treehash.MaxFile)
	for name, write := range map[string]func(*tar.Writer){
		"many files of 64 MiB": func(w *tar.Writer) {
			for i := range 9 {
				_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf(".ai/tools/%d", i), Size: int64(len(zeros)), Mode: 0o644, ModTime: time.Unix(0, 0)})
				_, _ = w.Write(zeros)
			}
		},
		"one file over 64 MiB": func(w *tar.Writer) {
			_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: ".ai/tools/a", Size: int64(len(zeros)) + 1, Mode: 0o644, ModTime: time.Unix(0, 0)})
			_, _ = w.Write(zeros)
			_, _ = w.Write([]byte{0})
		},
		"too many files": func(w *tar.Writer) {
			for i := range MaxFiles + 1 {
				_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprintf(".ai/tools/%06d", i), Mode: 0o644, ModTime: time.Unix(0, 0)})
			}
		},
	} {
		if err := unpack(tarOf(t, write)); diag.CodeOf(err) != diag.TooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := io.MultiReader(bytes.NewReader(tarOf(t, one(nil))[:10]), io.LimitReader(zeroReader{}, MaxArchive+1))
	if _, err := Unpack(context.Background(), long, func(File) error { return nil }); err == nil {
		t.Error("an archive over the limit was accepted")
	}
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestPackRefuses(t *testing.T) {
	for name, files := range map[string][]File{
		"outside": {{Path: "README.md"}}, "case": {{Path: ".ai/tools/a"}, {Path: ".ai/tools/A"}}, "twice": {{Path: ".ai/tools/a"}, {Path: ".ai/tools/a"}}, "none": nil,
	} {
		if _, err := Pack(files); err == nil {
			t.Errorf("%s was packed", name)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	b, err := Pack(sampleFiles())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, b []byte) {
		var files []File
		list, err := Unpack(context.Background(), bytes.NewReader(b), func(x File) error { files = append(files, x); return nil })
		if err != nil {
			return
		}
		again, err := Pack(files)
		if err != nil {
			t.Fatal(err)
		}
		list2, err := Unpack(context.Background(), bytes.NewReader(again), func(File) error { return nil })
		if err != nil || !reflect.DeepEqual(list, list2) {
			t.Fatalf("%v: %v instead of %v", err, list2, list)
		}
	})
}
