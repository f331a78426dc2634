package media

import (
	"encoding/binary"
	"errors"
)

// header is what the first bytes of an image state.
type header struct {
	width, height int
	memory        int64 // that its decoder needs, in bytes
}

var errShort = errors.New("it ends within its header")

// readHeader reads the dimensions of an image without decoding it.
func readHeader(mediaType string, data []byte) (header, error) {
	switch mediaType {
	case PNG:
		return pngHeader(data)
	case JPEG:
		return jpegHeader(data)
	case GIF:
		return gifHeader(data)
	}
	return webpHeader(data)
}

func pngHeader(data []byte) (header, error) {
	const length = 8 + 8 + 13 // signature, head of the chunk, IHDR
	if len(data) < length {
		return header{}, errShort
	}
	if string(data[12:16]) != "IHDR" {
		return header{}, errors.New("its first chunk is not IHDR")
	}
	width := binary.BigEndian.Uint32(data[16:])
	height := binary.BigEndian.Uint32(data[20:])
	if width > 1<<31-1 || height > 1<<31-1 {
		return header{}, errors.New("its dimensions are not valid")
	}
	depth := data[24]
	colour := data[25]
	interlaced := data[28] != 0
	pixel := int64(4) // as the decoder stores colours
	if colour == 0 || colour == 3 {
		pixel = 1
	}
	if depth == 16 {
		pixel *= 2
	}
	h := header{width: int(width), height: int(height), memory: area(int(width), int(height)) * pixel}
	if interlaced {
		h.memory += h.memory / 2 // the last pass has half of the rows
	}
	return h, nil
}

// area does not overflow for the dimensions of any format.
func area(width, height int) int64 {
	const most = 1 << 40
	n := int64(width) * int64(height)
	if n < 0 || n > most {
		return most
	}
	return n
}

// jpegHeader reads the segments up to the one that begins the frame.
func jpegHeader(data []byte) (header, error) {
	for at := 2; at+4 <= len(data); {
		if data[at] != 0xff {
			return header{}, errors.New("a segment does not begin with a marker")
		}
		marker := data[at+1]
		if marker == 0xff { // padding
			at++
			continue
		}
		if marker == 0x01 || marker >= 0xd0 && marker <= 0xd8 { // without a length
			at += 2
			continue
		}
		length := int(binary.BigEndian.Uint16(data[at+2:]))
		if length < 2 {
			return header{}, errors.New("a segment has no length")
		}
		isFrame := marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
		if isFrame {
			return jpegFrame(
				marker,
				data[min(at+4, len(data)):min(at+2+length, len(data))],
			)
		}
		if marker == 0xda || marker == 0xd9 {
			return header{}, errors.New("it has no frame")
		}
		at += 2 + length
	}
	return header{}, errShort
}

func jpegFrame(marker byte, frame []byte) (header, error) {
	if len(frame) < 6 {
		return header{}, errShort
	}
	h := header{height: int(binary.BigEndian.Uint16(frame[1:])), width: int(binary.BigEndian.Uint16(frame[3:]))}
	components := int(frame[5])
	if components < 1 || components > 4 || len(frame) < 6+3*components {
		return header{}, errors.New("its components are not valid")
	}
	most := 1
	sampled := 0
	for i := range components {
		factor := frame[7+3*i]
		product := int(factor>>4) * int(factor&15)
		most = max(
			most,
			int(frame[7]>>4)*int(frame[7]&15),
			product,
		)
		sampled += product
	}
	samples := area(h.width, h.height) * int64(sampled) / int64(most)
	h.memory = samples
	const coefficient = 4 // bytes
	if marker == 0xc2 {   // progressive: all coefficients are kept
		h.memory += samples * coefficient
	}
	if components == 4 {
		h.memory += area(h.width, h.height) * 4 // the image with its black
	}
	return h, nil
}

func gifHeader(data []byte) (header, error) {
	if len(data) < 10 {
		return header{}, errShort
	}
	h := header{width: int(binary.LittleEndian.Uint16(data[6:])), height: int(binary.LittleEndian.Uint16(data[8:]))}
	h.memory = area(h.width, h.height)
	return h, nil
}

// chunk is one part of a WebP file.
type chunk struct {
	id   string
	data []byte
}

// chunks divides the parts of a WebP file.
func chunks(data []byte) ([]chunk, error) {
	var out []chunk
	for len(data) >= 8 {
		length := int64(binary.LittleEndian.Uint32(data[4:]))
		if length > int64(len(data)-8) {
			return out, errors.New("a chunk is longer than the file")
		}
		out = append(out, chunk{string(data[:4]), data[8 : 8+length]})
		next := 8 + length + length%2
		data = data[min(next, int64(len(data))):]
	}
	return out, nil
}

// webpChunks returns the chunks of a WebP file. What follows the length that the file
// states is not a part of it.
func webpChunks(data []byte) ([]chunk, error) {
	if len(data) < 12 {
		return nil, errShort
	}
	length := int64(binary.LittleEndian.Uint32(data[4:])) + 8
	if length > int64(len(data)) {
		return nil, errShort
	}
	return chunks(data[12:max(length, 12)])
}

// webpHeader reads the dimensions of the canvas.
func webpHeader(data []byte) (header, error) {
	parts, err := webpChunks(data)
	if err != nil {
		return header{}, err
	}
	if len(parts) == 0 {
		return header{}, errShort
	}
	h := header{}
	first := parts[0]
	switch {
	case first.id == "VP8X" && len(first.data) >= 10:
		h.width = 1 + int(uint24(first.data[4:]))
		h.height = 1 + int(uint24(first.data[7:]))
	case first.id == "VP8 " && len(first.data) >= 10:
		h.width = int(binary.LittleEndian.Uint16(first.data[6:]) & 0x3fff)
		h.height = int(binary.LittleEndian.Uint16(first.data[8:]) & 0x3fff)
	case first.id == "VP8L" && len(first.data) >= 5:
		bits := binary.LittleEndian.Uint32(first.data[1:])
		h.width = 1 + int(bits&0x3fff)
		h.height = 1 + int(bits>>14&0x3fff)
	default:
		return header{}, errors.New("its first chunk is not an image")
	}
	const pixel = 8 // bytes: a palette is replaced in a second image
	h.memory = area(h.width, h.height) * pixel
	if first.id == "VP8 " {
		h.memory = area(h.width, h.height) * 3
	}
	return h, nil
}

func uint24(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
}
