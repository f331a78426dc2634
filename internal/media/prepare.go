package media

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"

	"golang.org/x/image/webp"
)

// MaxEdge is the longer edge of a prepared image in pixels: services make larger ones
// smaller, and some bill them in full.
const MaxEdge = 1568

// MaxPrepared is the size of the largest prepared image in bytes: the lowest limit of a service is
// 5 MB in base64.
const MaxPrepared = 3_750_000

// maxLossless is the size in bytes from which an image becomes a JPEG file.
const maxLossless = 1_500_000

// jpegQuality keeps small text readable.
const jpegQuality = 85

// ForModel returns a file as a model gets it. An image is decoded, turned as its orientation
// states, made smaller, and encoded again without metadata. Of an animation it is the first
// picture. Other files are returned as they are. name is the name of the file in errors.
func ForModel(name string, data []byte) (*Prepared, error) {
	from, err := Check(name, data)
	if err != nil {
		return nil, err
	}
	out := &Prepared{Info: from, From: from, Data: data}
	if !IsImage(from.Type) {
		return out, nil
	}
	picture, err := decode(from, data)
	if err != nil {
		return nil, undecodable(name, from.Type, err)
	}
	width, height := fit(from.Width, from.Height)
	turned := turn(shrink(picture, width, height), orientation(from.Type, data))
	lossy := from.Type == JPEG || isLossy(picture)
	if out.Data, out.Type, err = encode(turned, lossy); err != nil {
		return nil, undecodable(name, from.Type, err)
	}
	out.Width = turned.Rect.Dx()
	out.Height = turned.Rect.Dy()
	out.Bytes = len(out.Data)
	return out, nil
}

// isLossy reports whether the pixels of a picture have lost detail already, and need no
// encoding that keeps every bit.
func isLossy(picture image.Image) bool {
	_, is := picture.(*image.YCbCr)
	return is
}

// decode returns the first picture of a file whose header was checked.
func decode(info Info, data []byte) (image.Image, error) {
	var config image.Config
	var err error
	var read func() (image.Image, error)
	switch info.Type {
	case PNG:
		config, err = png.DecodeConfig(bytes.NewReader(data))
		read = func() (image.Image, error) {
			return png.Decode(bytes.NewReader(data))
		}
	case JPEG:
		config, err = jpeg.DecodeConfig(bytes.NewReader(data))
		read = func() (image.Image, error) {
			return jpeg.Decode(bytes.NewReader(data))
		}
	case GIF:
		config, err = gif.DecodeConfig(bytes.NewReader(data))
		read = func() (image.Image, error) {
			frame, err := gif.Decode(bytes.NewReader(data))
			return onCanvas(frame, info.Width, info.Height), err
		}
	default:
		return decodeWebP(info, data)
	}
	if err != nil {
		return nil, err
	}
	// The limits were applied to what readHeader has read: a file on which both readers do not
	// agree would avoid them.
	if config.Width != info.Width || config.Height != info.Height {
		return nil, errors.New("its dimensions are ambiguous")
	}
	return read()
}

// onCanvas returns a picture that is smaller than its canvas at its position.
func onCanvas(picture image.Image, width, height int) image.Image {
	whole := image.Rect(0, 0, width, height)
	if picture == nil || picture.Bounds() == whole {
		return picture
	}
	canvas := image.NewNRGBA(whole)
	draw.Draw(canvas, picture.Bounds(), picture, picture.Bounds().Min, draw.Src)
	return canvas
}

// decodeWebP decodes a WebP file. The decoder does not know animations: their first picture
// is a file of its own for it.
func decodeWebP(info Info, data []byte) (image.Image, error) {
	parts, err := webpChunks(data)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		if part.id == "ANMF" {
			return decodeFrame(info, part.data)
		}
	}
	config, err := webp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if config.Width != info.Width || config.Height != info.Height {
		return nil, errors.New("its dimensions are ambiguous")
	}
	return webp.Decode(bytes.NewReader(data))
}

// decodeFrame decodes one picture of an animation.
func decodeFrame(info Info, frame []byte) (image.Image, error) {
	const head = 16
	if len(frame) < head {
		return nil, errShort
	}
	left := 2 * int(uint24(frame))
	top := 2 * int(uint24(frame[3:]))
	width := 1 + int(uint24(frame[6:]))
	height := 1 + int(uint24(frame[9:]))
	if left+width > info.Width || top+height > info.Height {
		return nil, errors.New("a picture of the animation is outside of it")
	}
	body := frame[head:]
	if len(body) >= 4 && string(body[:4]) == "ALPH" {
		const hasAlpha = 0x10
		extended := []byte{hasAlpha, 0, 0, 0}
		extended = append(extended, frame[6:12]...)
		body = append(encodeChunk("VP8X", extended), body...)
	}
	file := encodeChunk("RIFF", append([]byte("WEBP"), body...))
	config, err := webp.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	if config.Width != width || config.Height != height {
		return nil, errors.New("its dimensions are ambiguous")
	}
	picture, err := webp.Decode(bytes.NewReader(file))
	if err != nil || left == 0 && top == 0 && width == info.Width && height == info.Height {
		return picture, err
	}
	canvas := image.NewNRGBA(image.Rect(0, 0, info.Width, info.Height))
	draw.Draw(
		canvas,
		image.Rect(left, top, left+width, top+height),
		picture,
		picture.Bounds().Min,
		draw.Src,
	)
	return canvas, nil
}

func encodeChunk(id string, data []byte) []byte {
	n := len(data)
	out := append(
		[]byte(id),
		byte(n),
		byte(n>>8),
		byte(n>>16),
		byte(n>>24),
	)
	out = append(out, data...)
	if n%2 == 1 {
		out = append(out, 0)
	}
	return out
}

// fit returns the dimensions at which the longer edge is at most MaxEdge.
func fit(width, height int) (int, int) {
	longer := max(width, height)
	if longer <= MaxEdge {
		return width, height
	}
	scaled := func(n int) int {
		return max(int(math.Round(float64(n)*MaxEdge/float64(longer))), 1)
	}
	return scaled(width), scaled(height)
}

// shrink returns a picture in other, not larger dimensions. Each pixel is the average of
// the area that it covers. One row of the source is converted at a time: the kernels of
// golang.org/x/image/draw need 32 bytes for each row of the source and column of the result,
// which is 300 MB for a photo.
func shrink(src image.Image, width, height int) *image.RGBA {
	from := src.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	if from.Dx() == width && from.Dy() == height {
		draw.Draw(out, out.Rect, src, from.Min, draw.Src)
		return out
	}
	row := image.NewRGBA(image.Rect(0, 0, from.Dx(), 1))
	sums := make([]float64, 4*width)
	columns := float64(from.Dx()) / float64(width)
	rows := float64(from.Dy()) / float64(height)
	at := -1 // the row of the source that row has
	for y := range height {
		clear(sums)
		top := float64(y) * rows
		bottom := min(top+rows, float64(from.Dy()))
		for sy := int(top); float64(sy) < bottom; sy++ {
			share := min(bottom, float64(sy+1)) - max(top, float64(sy))
			if sy != at {
				draw.Draw(
					row,
					row.Rect,
					src,
					image.Pt(from.Min.X, from.Min.Y+sy),
					draw.Src,
				)
				at = sy
			}
			addRow(sums, row.Pix, columns, share)
		}
		whole := columns * (bottom - top)
		line := out.Pix[y*out.Stride : y*out.Stride+4*width]
		for i := range line {
			line[i] = byte(min(sums[i]/whole+0.5, 255))
		}
	}
	return out
}

// addRow adds the pixels of a row of the source, each with its share, to the sums of a row
// of the result.
func addRow(sums []float64, pixels []byte, columns, share float64) {
	last := len(pixels) / 4
	for x := range len(sums) / 4 {
		left := float64(x) * columns
		right := min(left+columns, float64(last))
		sum := sums[4*x : 4*x+4]
		for sx := int(left); float64(sx) < right; sx++ {
			part := share * (min(right, float64(sx+1)) - max(left, float64(sx)))
			pixel := pixels[4*sx : 4*sx+4]
			sum[0] += part * float64(pixel[0])
			sum[1] += part * float64(pixel[1])
			sum[2] += part * float64(pixel[2])
			sum[3] += part * float64(pixel[3])
		}
	}
}

// encode writes an image: as PNG, or as JPEG if it is a photo or too large.
func encode(picture *image.RGBA, lossy bool) ([]byte, string, error) {
	var out bytes.Buffer
	if !lossy || !picture.Opaque() {
		if err := png.Encode(&out, picture); err != nil {
			return nil, "", err
		}
		if out.Len() <= maxLossless {
			return out.Bytes(), PNG, nil
		}
		out.Reset()
	}
	flat := image.NewRGBA(picture.Rect) // JPEG has no transparency
	draw.Draw(
		flat,
		flat.Rect,
		image.NewUniform(color.White),
		image.Point{},
		draw.Src,
	)
	draw.Draw(flat, flat.Rect, picture, image.Point{}, draw.Over)
	for quality := jpegQuality; ; quality -= 20 {
		err := jpeg.Encode(&out, flat, &jpeg.Options{Quality: quality})
		if err != nil {
			return nil, "", err
		}
		if out.Len() <= MaxPrepared || quality <= 25 {
			return out.Bytes(), JPEG, nil
		}
		out.Reset()
	}
}
