package git

import (
	"io"
	"mime"
	"net/http"
	"strings"
)

// maxAddress is the length of an address that a redirect may name.
const maxAddress = 2000

// homeOf returns the repository that a redirect names, or "" if its address is not
// valid.
func homeOf(req *http.Request, res *http.Response) string {
	to, err := req.URL.Parse(res.Header.Get("Location"))
	if err != nil ||
		res.Header.Get("Location") == "" ||
		len(res.Header.Get("Location")) > maxAddress {
		return ""
	}
	to.RawQuery = ""
	to.Fragment = ""
	to.User = nil
	for _, tail := range []string{"/info/refs", "/git-upload-pack"} {
		to.Path = strings.TrimSuffix(to.Path, tail)
	}
	return to.String()
}

// written returns the beginning of a refusal that is plain text, in parentheses, as
// the git command prints it, or "".
func written(res *http.Response) string {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind != "text/plain" {
		return ""
	}
	b, _ := io.ReadAll(io.LimitReader(res.Body, maxMessage))
	text := strings.Join(strings.Fields(string(b)), " ")
	if text == "" || strings.Contains(res.Status, text) {
		return ""
	}
	return " (the remote writes: " + text + ")"
}
