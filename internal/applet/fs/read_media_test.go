package fs

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/applet/wire"
	"github.com/ryeos/rye/internal/testing/wiretest"
)

func picture(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What a file is, its content states: not its name.
func TestReadMedia(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{
		"wide.png": picture(t, 3136, 10), "named.txt": picture(t, 4, 2), "a.pdf": "%PDF-1.7 /Type /Page ", "text.png": "only a name\n", "cut.png": picture(t, 4, 2)[:40],
	})
	for name, want := range map[string]struct {
		kind, media   string
		width, height float64
	}{
		"wide.png": {"image", "image/png", 1568, 5}, "named.txt": {"image", "image/png", 4, 2}, "a.pdf": {"resource", "application/pdf", 0, 0},
	} {
		got := ok(t, dir, "read", obj{"file_path": name})
		block := got["content"].([]any)[0].(obj)
		if block["type"] != want.kind || got["prepared"] != true || got["file_path"] != name || got["media_type"] != want.media {
			t.Errorf("%s: %v", name, got)
			continue
		}
		if want.kind == "resource" {
			from := block["resource"].(obj)
			if b, err := base64.StdEncoding.DecodeString(from["blob"].(string)); err != nil || !strings.HasPrefix(string(b), "%PDF-") || from["uri"] != "file:///a.pdf" {
				t.Errorf("%s: %v, %v", name, from["uri"], err)
			}
			continue
		}
		b, err := base64.StdEncoding.DecodeString(block["data"].(string))
		if err != nil {
			t.Fatal(err)
		}
		config, err := png.DecodeConfig(bytes.NewReader(b))
		if err != nil || float64(config.Width) != want.width || float64(config.Height) != want.height {
			t.Errorf("%s: %v, %v", name, config, err)
		}
	}
	if got := ok(t, dir, "read", obj{"file_path": "text.png"}); got["output"] != "only a name" {
		t.Errorf("text.png: %v", got)
	}
	fails(t, dir, "read", obj{"file_path": "cut.png"}, "PARSING_ERROR", "cannot be decoded")
}

// An image is not decoded in the process of the caller: the call has no result there.
func TestReadMediaHere(t *testing.T) {
	t.Parallel()
	dir := wiretest.Project(t, map[string]string{"a.png": picture(t, 4, 2), "a.txt": "text\n"})
	for name, want := range map[string]int{"a.png": wire.ExitOwnProcess, "a.txt": 0} {
		in, _ := json.Marshal(obj{"file_path": name})
		var out bytes.Buffer
		status := wire.Run(context.Background(), Applets(), "read", wire.Params{Stdin: bytes.NewReader(in), Stdout: &out, Dir: dir, Here: true})
		if status != want || (status != 0) != (out.Len() == 0) {
			t.Errorf("%s: status %d, %d bytes", name, status, out.Len())
		}
	}
}
