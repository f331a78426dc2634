package mcpserve

import (
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

// halfSent is a body of which some bytes have arrived. It then waits until the test
// ends the request.
type halfSent struct {
	r       io.Reader
	arrived chan<- bool
	end     <-chan bool
}

func (h halfSent) Read(b []byte) (int, error) {
	if n, err := h.r.Read(b); err == nil {
		return n, nil
	}
	h.arrived <- true
	<-h.end
	return 0, errors.New("the client is gone")
}

// TestHalfSentBodies sends 200 bodies of 3 MiB that never end: the memory for them
// is limited, small messages are still served, and the memory is released
// (security 18).
func TestHalfSentBodies(t *testing.T) {
	t.Parallel()
	const clients, size = 200, 3 << 20
	var b bodies
	content := bytes.Repeat([]byte("x"), size)
	arrived, end, status := make(chan bool, clients), make(chan bool), make(chan int, clients)
	for range clients {
		go func() {
			req := httptest.NewRequest("POST", "/mcp", halfSent{bytes.NewReader(content), arrived, end})
			_, done, code, _ := b.read(httptest.NewRecorder(), req)
			done()
			status <- code
		}()
	}
	waiting, refused := 0, 0
	for waiting+refused < clients {
		select {
		case <-arrived:
			waiting++
		case code := <-status:
			if refused++; code != 503 {
				t.Errorf("status %d", code)
			}
		}
	}
	if used := b.used.Load(); used > maxBodies || waiting == 0 || refused == 0 {
		t.Errorf("%d bytes for %d bodies, %d refused", used, waiting, refused)
	}
	_, done, code, err := b.read(httptest.NewRecorder(), httptest.NewRequest("POST", "/mcp", strings.NewReader(strings.Repeat("y", smallBody/2))))
	if err != nil {
		t.Errorf("a small message: status %d, %v", code, err)
	}
	done()
	close(end)
	for range waiting {
		if code := <-status; code != 400 {
			t.Errorf("status %d of a request that ended", code)
		}
	}
	if used := b.used.Load(); used != 0 {
		t.Errorf("%d bytes are still taken", used)
	}
}

// TestBodiesOfEverySize checks that a message arrives whole and that its memory is
// released.
func TestBodiesOfEverySize(t *testing.T) {
	t.Parallel()
	var b bodies
	for _, size := range []int{0, 1, 511, 512, 513, smallBody, smallBody + 1, 1 << 20, maxBody - 1, maxBody} {
		want := bytes.Repeat([]byte("z"), size)
		req := httptest.NewRequest("POST", "/mcp", bytes.NewReader(want))
		got, done, _, err := b.read(httptest.NewRecorder(), req)
		again, _ := io.ReadAll(req.Body)
		if err != nil || !bytes.Equal(got, want) || !bytes.Equal(again, want) {
			t.Errorf("%d bytes: %d arrived, %v", size, len(got), err)
		}
		if done(); b.used.Load() != 0 {
			t.Errorf("%d bytes: %d are still taken", size, b.used.Load())
		}
	}
}
