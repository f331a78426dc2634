package media

import (
	"bytes"
	"encoding/binary"
	"image"
)

// orientation returns the orientation that the Exif metadata of an image state, 1 to 8; 1
// without any.
func orientation(mediaType string, data []byte) int {
	exif := exifOf(mediaType, data)
	exif = bytes.TrimPrefix(exif, []byte("Exif\x00\x00"))
	if len(exif) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(exif[:2]) == "MM" {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(exif[4:]))
	if at+2 > int64(len(exif)) {
		return 1
	}
	const entry, orientationTag = 12, 0x0112
	count := int64(order.Uint16(exif[at:]))
	for i := range count {
		start := at + 2 + i*entry
		if start+entry > int64(len(exif)) {
			return 1
		}
		field := exif[start : start+entry]
		if order.Uint16(field) != orientationTag {
			continue
		}
		n := int(order.Uint16(field[8:]))
		if n >= 1 && n <= 8 {
			return n
		}
		return 1
	}
	return 1
}

// exifOf returns the Exif metadata of an image, nil without any.
func exifOf(mediaType string, data []byte) []byte {
	switch mediaType {
	case JPEG:
		return jpegExif(data)
	case PNG:
		for at := int64(8); at+12 <= int64(len(data)); {
			length := int64(binary.BigEndian.Uint32(data[at:]))
			if at+12+length > int64(len(data)) {
				return nil
			}
			if string(data[at+4:at+8]) == "eXIf" {
				return data[at+8 : at+8+length]
			}
			at += 12 + length
		}
	case WebP:
		parts, _ := webpChunks(data) // of a damaged file, those before the damage
		for _, part := range parts {
			if part.id == "EXIF" {
				return part.data
			}
		}
	}
	return nil
}

// jpegExif returns the segment APP1 with Exif metadata, which is before the frame.
func jpegExif(data []byte) []byte {
	for at := 2; at+4 <= len(data) && data[at] == 0xff; {
		marker := data[at+1]
		if marker == 0xff {
			at++
			continue
		}
		length := int(binary.BigEndian.Uint16(data[at+2:]))
		if length < 2 || at+2+length > len(data) || marker == 0xda {
			return nil
		}
		body := data[at+4 : at+2+length]
		if marker == 0xe1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")) {
			return body
		}
		at += 2 + length
	}
	return nil
}

// turn applies an orientation: it returns the picture as a person would see it.
func turn(picture *image.RGBA, orientation int) *image.RGBA {
	if orientation < 2 {
		return picture
	}
	width := picture.Rect.Dx()
	height := picture.Rect.Dy()
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	if orientation >= 5 { // width and height change
		out = image.NewRGBA(image.Rect(0, 0, height, width))
	}
	right := width - 1
	bottom := height - 1
	for y := range height {
		for x := range width {
			tx := x
			ty := y
			switch orientation {
			case 2:
				tx = right - x
			case 3:
				tx = right - x
				ty = bottom - y
			case 4:
				ty = bottom - y
			case 5:
				tx = y
				ty = x
			case 6:
				tx = bottom - y
				ty = x
			case 7:
				tx = bottom - y
				ty = right - x
			case 8:
				tx = y
				ty = right - x
			}
			from := picture.PixOffset(x, y)
			to := out.PixOffset(tx, ty)
			copy(out.Pix[to:to+4], picture.Pix[from:from+4])
		}
	}
	return out
}
