package gateway

import (
	"bytes"
	"net/http"
)

// recorder keeps the answer to a request of a socket.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func newRecorder() *recorder {
	return &recorder{header: http.Header{}}
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header {
	return w.header
}

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}
