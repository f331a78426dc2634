package resolve_test

import (
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ryeos/rye/internal/testing/testkit"
)

// counted counts how often one file is opened.
type counted struct {
	fs.FS
	name string
	n    atomic.Int32
}

func (c *counted) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, c.name) {
		c.n.Add(1)
	}
	return c.FS.Open(name)
}

// An embedded item is read and judged again after a second, because only the time can
// change a verdict on it. Each caller gets an item of its own.
func TestEmbeddedOnce(t *testing.T) {
	h := testkit.New(t)
	files := &counted{FS: h.System, name: "file-system/read.yaml"}
	h.System = files
	r := resolver(h, false)
	find := func() (reads int32) {
		t.Helper()
		before := files.n.Load()
		it, err := r.Find(t.Context(), tool("rye/file-system/read"))
		if err != nil || it.Verdict.Err(it.Path()) != nil {
			t.Fatal(err)
		}
		it.Bytes, it.Findings = nil, nil
		return files.n.Load() - before
	}
	if find() == 0 {
		t.Fatal("the file is not read")
	}
	if n := find(); n > 0 {
		t.Errorf("it is read again at the same time: %d times", n)
	}
	h.Now = h.Now.Add(judged - time.Nanosecond)
	if n := find(); n > 0 {
		t.Errorf("it is read again within a second: %d times", n)
	}
	h.Now = h.Now.Add(time.Nanosecond)
	if n := find(); n == 0 {
		t.Error("it is not judged again after a second")
	}
	h.Now = h.Now.Add(-time.Nanosecond) // a clock that goes back proves nothing
	if n := find(); n == 0 {
		t.Error("it is not judged again at an earlier time")
	}
}

const judged = time.Second
