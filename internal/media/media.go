// Package media recognises images, PDF files and sounds by their content, and prepares
// images for models: their dimensions are checked before anything is decoded, and the
// result is a new file without metadata that is small enough for every service.
//
// It opens no file, starts no process and knows no message of a model. ForModel decodes
// untrusted files: call it in a process of its own.
package media

import (
	"bytes"
	"regexp"

	"github.com/ryeos/rye/diag"
)

// The media types that Recognise returns.
const (
	PNG  = "image/png"
	JPEG = "image/jpeg"
	GIF  = "image/gif"
	WebP = "image/webp"
	PDF  = "application/pdf"
	WAV  = "audio/wav"
	MP3  = "audio/mpeg"
	OGG  = "audio/ogg"
	FLAC = "audio/flac"
)

// The limits of a file before it is prepared.
const (
	MaxImageBytes = 20 << 20
	MaxFileBytes  = 10 << 20 // of a PDF file or a sound
	MaxPixels     = 40_000_000
	// maxMemory is the memory that decoding an image may need, in bytes. Images with 16 bits a
	// channel and progressive JPEG files need more for each pixel than others.
	maxMemory = 200 << 20
)

// MemoryLimit is the limit of the memory of a process that prepares files, in bytes: from it on
// the garbage of a decoder is collected at once.
const MemoryLimit = 240 << 20

// HeadBytes are the bytes at the beginning of a file that Recognise needs.
const HeadBytes = 16

// Info is what the header of a file states.
type Info struct {
	Type          string // media type
	Width, Height int    // of an image, before its orientation is applied
	Pages         int    // of a PDF file, as far as they can be counted; at least 1
	Bytes         int
}

// Prepared is a file as a model gets it. Images are PNG or JPEG.
type Prepared struct {
	Info
	Data []byte
	From Info // the file before
}

// IsImage reports whether a media type is one of the images that ForModel decodes.
func IsImage(mediaType string) bool {
	switch mediaType {
	case PNG, JPEG, GIF, WebP:
		return true
	}
	return false
}

// Recognise returns the media type of a file by its first bytes, "" for others. The name of
// the file and the type that its sender states do not matter. A text that begins with the
// name of a format, such as "ID3 tags", is a text: the bytes after it are not characters.
func Recognise(head []byte) string {
	begins := func(s string) bool {
		return bytes.HasPrefix(head, []byte(s))
	}
	riff := func(form string) bool {
		return begins("RIFF") && len(head) >= 12 && string(head[8:12]) == form
	}
	switch {
	case begins("\x89PNG\r\n\x1a\n"):
		return PNG
	case begins("\xff\xd8\xff"):
		return JPEG
	case (begins("GIF87a") || begins("GIF89a")) && !isASCII(head[6:]):
		return GIF
	case riff("WEBP"):
		return WebP
	case begins("%PDF-"):
		return PDF
	case riff("WAVE"):
		return WAV
	case begins("ID3") && len(head) > 9 && head[3] < ' ',
		len(head) > 1 && head[0] == 0xff && (head[1] == 0xfb || head[1] == 0xf3 || head[1] == 0xf2):
		return MP3
	case begins("OggS\x00"):
		return OGG
	case begins("fLaC") && len(head) > 4 && head[4]&0x7f == 0: // its first block is STREAMINFO
		return FLAC
	}
	return ""
}

// isASCII reports whether bytes are at least four printable characters. The dimensions of an image in
// its header are not: that would be more than 8,000 pixels.
func isASCII(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	for _, c := range b[:4] {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// Extension returns the extension of the name of a file of a media type, with the dot.
func Extension(mediaType string) string {
	switch mediaType {
	case PNG:
		return ".png"
	case JPEG:
		return ".jpg"
	case GIF:
		return ".gif"
	case WebP:
		return ".webp"
	case PDF:
		return ".pdf"
	case WAV:
		return ".wav"
	case MP3:
		return ".mp3"
	case OGG:
		return ".ogg"
	case FLAC:
		return ".flac"
	}
	return ".bin"
}

// Check reads the header of a file and applies the limits. It decodes nothing. name is the
// name of the file in errors.
// The bound is on memory, computed from the header: images with 16 bits a sample and progressive
// JPEG files need a multiple of others with the same pixels.
func Check(name string, data []byte) (Info, error) {
	info := Info{Type: Recognise(data), Bytes: len(data)}
	switch {
	case len(data) == 0:
		return info, diag.New(diag.ValidationFailed, "reading %q: the file is empty", name)
	case info.Type == "":
		return info, diag.New(diag.ValidationFailed, "reading %q: it is not a PNG, JPEG, GIF, WebP, PDF or audio file", name)
	}
	limit := MaxFileBytes
	if IsImage(info.Type) {
		limit = MaxImageBytes
	}
	if len(data) > limit {
		return info, diag.New(diag.TooLarge, "reading %q: %d bytes, more than %d", name, len(data), limit)
	}
	if !IsImage(info.Type) {
		if info.Type == PDF {
			info.Pages = pages(data)
		}
		return info, nil
	}
	h, err := readHeader(info.Type, data)
	if err != nil {
		return info, undecodable(name, info.Type, err)
	}
	info.Width = h.width
	info.Height = h.height
	switch {
	case h.width <= 0 || h.height <= 0:
		return info, diag.New(diag.ValidationFailed, "reading %q: the image is %d x %d pixels", name, h.width, h.height)
	case int64(h.width)*int64(h.height) > MaxPixels:
		return info, diag.New(
			diag.TooLarge,
			"reading %q: the image is %d x %d pixels, more than %d million",
			name,
			h.width,
			h.height,
			MaxPixels/1_000_000,
		).
			WithDetail("width", h.width).WithDetail("height", h.height)
	case h.memory > maxMemory:
		return info, diag.New(
			diag.TooLarge,
			"reading %q: decoding the image of %d x %d pixels needs %d MiB, more than %d",
			name,
			h.width,
			h.height,
			h.memory>>20,
			maxMemory>>20,
		).
			WithDetail("width", h.width).WithDetail("height", h.height)
	}
	return info, nil
}

func undecodable(name, mediaType string, err error) error {
	return diag.New(diag.ParsingError, "reading %q: the %s file cannot be decoded: %w", name, mediaType, err)
}

// pages counts the pages of a PDF file. Those in compressed objects are not seen: for a
// file without any other, the size gives a number.
func pages(data []byte) int {
	page := regexp.MustCompile(`/Type\s*/Page[^s]`)
	n := len(page.FindAllIndex(data, -1))
	if n == 0 {
		n = len(data) / bytesOfPage
	}
	return max(n, 1)
}

// bytesOfPage is the size of a page of a PDF file whose pages cannot be counted.
const bytesOfPage = 50_000
