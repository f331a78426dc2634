package provider

import (
	"strings"
	"testing"

	"github.com/ryeos/rye/threads/message"
)

// What is reserved for an image follows from its pixels, not from its bytes, and images that are
// new since the previous call count.
func TestReservedMedia(t *testing.T) {
	c := mustParse(t, strings.Replace(claude, "  cache:", "  images: {pixels_per_token: 750, max_tokens: 1600}\n  cache:", 1))
	picture := message.Block{Type: message.Image, MediaType: "image/png", Artifact: "3f9c", Width: 1568, Height: 1568, Bytes: 3_000_000}
	for want, b := range map[int64]message.Block{
		1600: picture,
		300:  {Type: message.Image, MediaType: "image/png", Width: 6, Height: 4},
		983:  {Type: message.Image, MediaType: "image/png", Width: 1024, Height: 720},
		9000: {Type: message.File, MediaType: "application/pdf", Pages: 3},
		0:    {Type: message.File, MediaType: "text/plain", Data: []byte("text")},
	} {
		if want == 983 {
			want = (1024*720 + 749) / 750
		}
		if got := c.Models["sonnet"].MediaTokens(&b); got != want {
			t.Errorf("%s: %d, want %d", b.Describe(), got, want)
		}
	}
	req := message.Request{Model: "sonnet", Messages: []message.Message{{Role: message.User, Blocks: []message.Block{message.TextBlock("x")}}}}
	first, err := c.WorstCase(req, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages[0].Blocks = append(req.Messages[0].Blocks, picture)
	second, err := c.WorstCase(req, &Previous{Usage: message.Usage{Input: 40}, Bytes: first.Bytes, Media: first.Media})
	if err != nil || second.Media != 1600 || second.Input < 1640 || second.Input > 1700 {
		t.Errorf("%+v, %v", second, err)
	}
	third, err := c.WorstCase(req, &Previous{Usage: message.Usage{Input: 1640}, Bytes: second.Bytes, Media: second.Media})
	if err != nil || third.Input > 1700 {
		t.Errorf("the image is counted again: %+v, %v", third, err)
	}
	// A request without the content is not sent.
	if err := c.CheckInput(req); err == nil || !strings.Contains(err.Error(), "the content of the artifact 3f9c is missing") {
		t.Error(err)
	}
}
