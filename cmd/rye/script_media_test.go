package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ryeos/rye/internal/media"
)

// cmdPicture writes an image: picture FILE WIDTH HEIGHT [noise]. The extension states the
// format. Noise cannot be compressed.
func cmdPicture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: picture FILE WIDTH HEIGHT [noise]")
	}
	width, err := strconv.Atoi(args[1])
	ts.Check(err)
	height, err := strconv.Atoi(args[2])
	ts.Check(err)
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	state := uint32(1)
	for i := range m.Pix {
		m.Pix[i] = byte(i)
		if len(args) > 3 {
			state = state*1664525 + 1013904223
			m.Pix[i] = byte(state >> 24)
		}
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	m.Set(0, 0, color.White)
	var b bytes.Buffer
	switch filepath.Ext(args[0]) {
	case ".jpg":
		ts.Check(jpeg.Encode(&b, m, nil))
	case ".gif":
		ts.Check(gif.Encode(&b, m, nil))
	default:
		ts.Check(png.Encode(&b, m))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o600))
}

// cmdSentMedia writes the messages of a request in the log of a model server as lines: sentmedia
// LOG N FILE. In place of the content of each artifact below .ai/threads is its type and size, so that
// the file is equal on every machine, and a body with other content is not.
func cmdSentMedia(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: sentmedia LOG N FILE")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	log, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	scanner := bufio.NewScanner(bytes.NewReader(log))
	scanner.Buffer(nil, len(log)+1)
	for range n {
		if !scanner.Scan() {
			ts.Fatalf("the log has fewer than %d requests", n)
		}
	}
	var line struct {
		Request json.RawMessage `json:"request"`
	}
	ts.Check(json.Unmarshal(scanner.Bytes(), &line))
	var body struct{ Messages, Input, Contents []json.RawMessage }
	ts.Check(json.Unmarshal(line.Request, &body))
	var out bytes.Buffer
	for _, m := range slices.Concat(body.Messages, body.Input, body.Contents) {
		if !bytes.HasPrefix(m, []byte(`{"role":"system"`)) { // the scripts of prompts have it
			ts.Check(json.Indent(&out, m, "", " "))
			out.WriteByte('\n')
		}
	}
	shown := out.String()
	files, err := filepath.Glob(ts.MkAbs(".ai/threads/*/artifacts/*"))
	ts.Check(err)
	for _, path := range files {
		content, err := os.ReadFile(path)
		ts.Check(err)
		kind := media.Recognise(content)
		if kind == "" {
			continue
		}
		name := fmt.Sprintf("{%s %d bytes}", kind, len(content))
		if config, _, err := image.DecodeConfig(bytes.NewReader(content)); err == nil {
			name = fmt.Sprintf("{%s %d x %d}", kind, config.Width, config.Height)
		}
		shown = strings.ReplaceAll(shown, base64.StdEncoding.EncodeToString(content), name)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(shown), 0o600))
}
