package hidden

import (
	"bytes"
	"encoding/binary"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ryeos/rye/diag"
)

// Blob is one file of a set of files that a person reviews.
type Blob struct {
	Path       string // from the top of the set, with "/"
	Bytes      []byte
	Executable bool
}

// Blobs checks a file of a set for content that a reviewer cannot see or does not
// open: hidden characters, layout, bytecode, archives. A finding is an error if
// the file must be refused. has reports whether the set contains a path.
func Blobs(f Blob, has func(path string) bool) []diag.Finding {
	fs := f.packed(has)
	if len(fs) == 0 && f.text() {
		fs = append(scan(f.Bytes, f.code()), Layout(f.Bytes)...)
		if len(f.Bytes) > MaxText {
			fs = append(fs, diag.Warnf(
				diag.HiddenChars,
				0,
				0,
				"a text of %d bytes: reviewers rarely read it to its end",
				len(f.Bytes),
			))
		}
	}
	return diag.WithPath(fs, f.Path)
}

// text reports whether people or interpreters read the file as text. Code is text
// even if it is not valid UTF-8.
func (f Blob) text() bool {
	return f.runsAsText() ||
		utf8.Valid(f.Bytes) && bytes.IndexByte(f.Bytes, 0) < 0
}

func (f Blob) runsAsText() bool {
	return f.Executable ||
		slices.Contains(scripts(), strings.ToLower(path.Ext(f.Path))) ||
		bytes.HasPrefix(f.Bytes, []byte("#!"))
}

// code reports whether an interpreter or a compiler reads the file.
func (f Blob) code() bool {
	return f.runsAsText() ||
		slices.Contains(compiled(), strings.ToLower(path.Ext(f.Path)))
}

// compiled are the extensions of sources that compilers read.
func compiled() []string {
	return []string{".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".cs", ".go", ".java", ".kt", ".rs", ".scala", ".sol", ".swift", ".zig"}
}

// scripts are the extensions of files that interpreters read.
func scripts() []string {
	return []string{".py", ".sh", ".bash", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".rb", ".pl", ".ps1", ".lua", ".php"}
}

// packed returns a finding for a file whose content a reader cannot see.
func (f Blob) packed(has func(string) bool) []diag.Finding {
	ext := strings.ToLower(path.Ext(f.Path))
	switch {
	case sources(ext) != nil:
		return f.bytecode(ext, has)
	case pythonBytecode(f.Bytes):
		return refuse("it is python bytecode under another name, and python runs it")
	case archive(f.Bytes, ext) && f.runs(ext):
		return refuse("it is an archive that an interpreter runs, and reviewers do not see its content")
	case archive(f.Bytes, ext):
		return warn("it is an archive: reviewers do not see its content")
	case native(f.Bytes):
		return warn("it is a compiled program: reviewers cannot read it")
	}
	return nil
}

func refuse(why string) []diag.Finding {
	return []diag.Finding{diag.Errorf(diag.HiddenChars, 0, 0, "%s", why).
		WithReason("packed")}
}

func warn(why string) []diag.Finding {
	return []diag.Finding{diag.Warnf(diag.HiddenChars, 0, 0, "%s", why)}
}

// sources returns the extensions of the sources of bytecode with the extension
// ext, nil if ext is not one of bytecode.
func sources(ext string) []string {
	switch ext {
	case ".pyc", ".pyo":
		return []string{".py"}
	case ".class":
		return []string{".java", ".kt", ".scala"}
	case ".luac":
		return []string{".lua"}
	case ".elc":
		return []string{".el"}
	case ".beam":
		return []string{".erl", ".ex"}
	}
	return nil
}

// bytecode returns a finding for bytecode: an error if the set lacks its source,
// or if the interpreter uses it without checking the source.
func (f Blob) bytecode(ext string, has func(string) bool) []diag.Finding {
	dir, base := path.Split(strings.TrimSuffix(f.Path, path.Ext(f.Path)))
	if path.Base(dir) == "__pycache__" {
		dir = path.Dir(path.Clean(dir))
		base, _, _ = strings.Cut(base, ".") // of x.cpython-313
	}
	if !slices.ContainsFunc(sources(ext), func(src string) bool { return has(path.Join(dir, base+src)) }) {
		return refuse("it is bytecode without its source")
	}
	if pythonBytecode(f.Bytes) && binary.LittleEndian.Uint32(f.Bytes[4:])&3 == 1 {
		return refuse("it is bytecode that python runs without checking its source")
	}
	return warn("it is bytecode: reviewers cannot see whether it matches its source")
}

// pythonBytecode reports whether python runs b as bytecode under any file name: a
// magic number that ends in CR LF, then four bytes of flags.
func pythonBytecode(b []byte) bool {
	return len(b) >= 16 &&
		b[2] == '\r' &&
		b[3] == '\n' &&
		binary.LittleEndian.Uint32(b[4:]) < 4
}

// runs reports whether an interpreter runs the file. That includes a file below
// .ai/tools without the extension of an archive.
func (f Blob) runs(ext string) bool {
	return f.Executable || slices.Contains(append(scripts(), runnable()...), ext) ||
		strings.HasPrefix(f.Path, ".ai/tools/") && !slices.Contains(packs(), ext)
}

// runnable are the extensions of archives that interpreters run, packs the extensions of
// other archives.
func runnable() []string {
	return []string{".jar", ".pyz", ".whl", ".egg", ".phar"}
}

func packs() []string {
	return []string{".zip", ".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar", ".zst", ".cab", ".lzma", ".docx", ".xlsx", ".pptx", ".odt", ".ods", ".epub"}
}

// archive reports whether the file is an archive or compressed: by its first
// bytes, its extension, or the end of a zip file after other content.
func archive(b []byte, ext string) bool {
	for _, magic := range []string{"PK\x03\x04", "PK\x05\x06", "\x1f\x8b", "\xfd7zXZ\x00", "7z\xbc\xaf\x27\x1c", "Rar!\x1a\x07", "\x28\xb5\x2f\xfd", "!<arch>\n"} {
		if bytes.HasPrefix(b, []byte(magic)) {
			return true
		}
	}
	if len(b) > 262 && string(b[257:262]) == "ustar" ||
		len(b) > 10 && string(b[:3]) == "BZh" && string(b[4:10]) == "1AY&SY" ||
		zipEnd(b) {
		return true
	}
	return slices.Contains(append(runnable(), packs()...), ext)
}

// zipEnd reports whether b ends with the directory of a zip file and its comment.
// A program with such an end is a program for the operating system and a zip file
// for an interpreter.
func zipEnd(b []byte) bool {
	i := bytes.LastIndex(b, []byte("PK\x05\x06"))
	return i >= 0 &&
		len(b)-i >= 22 &&
		int(binary.LittleEndian.Uint16(b[i+20:])) == len(b)-i-22
}

// native reports whether b is a program for Linux, macOS, Windows or WebAssembly.
func native(b []byte) bool {
	for _, magic := range []string{"\x7fELF", "MZ\x90\x00", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe", "\x00asm"} {
		if bytes.HasPrefix(b, []byte(magic)) {
			return true
		}
	}
	return false
}

// Archive reports whether the file is an archive.
func (f Blob) Archive() bool {
	return archive(f.Bytes, strings.ToLower(path.Ext(f.Path)))
}

// Native reports whether the file is a compiled program.
func (f Blob) Native() bool {
	return native(f.Bytes)
}
