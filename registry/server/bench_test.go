package server

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/ryeos/rye/registry/log"
)

// BenchmarkStatic reads an index over HTTP, from the registry and from the file server of
// the standard library.
func BenchmarkStatic(b *testing.B) {
	f := newFixture(b)
	f.grant("acme", 1)
	f.mustPublish("acme/tools", "v1.0.0")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	read := func(b *testing.B, url, etag string, want int) {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				r, err := http.NewRequest("GET", url, nil)
				if err != nil {
					b.Fatal(err)
				}
				r.Header.Set("If-None-Match", etag)
				a, err := client.Do(r)
				if err != nil {
					b.Fatal(err)
				}
				if a.Body.Close(); a.StatusCode != want {
					b.Fatal(a.Status)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
	}
	url := f.http.URL + "/index/acme/tools.jsonl"
	_, _, h := f.get("/index/acme/tools.jsonl")
	b.Run("200", func(b *testing.B) { read(b, url, "", 200) })
	b.Run("304", func(b *testing.B) { read(b, url, h.Get("Etag"), 304) })
	bare := &http.Server{Handler: http.FileServer(http.Dir(filepath.Join(f.dir, publicDir)))}
	f.http.Config.Handler = bare.Handler
	b.Run("bare", func(b *testing.B) { read(b, url, "", 200) })
}

// BenchmarkPublish publishes from 8 clients at once; bare writes the same archives with the
// same number of flushes for each as a publication alone has.
func BenchmarkPublish(b *testing.B) {
	f := newFixture(b)
	f.grant("acme", 1)
	b.Run("8 clients", func(b *testing.B) {
		var n atomic.Int64
		b.SetParallelism(4)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				i := n.Add(1)
				if _, err := f.publish(fmt.Sprintf("acme/b%d-%d", b.N, i), "v1.0.0", fmt.Sprint(i), 1); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pub/s")
	})
	b.Run("bare", func(b *testing.B) {
		text, _ := archive(b, "text")
		for i := range b.N {
			for k := range 8 {
				if err := f.s.base.Write(fmt.Sprintf("bare/%d-%d", i, k), text, 0o644); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkColdProof proves one entry of a log with a reader that has nothing yet.
func BenchmarkColdProof(b *testing.B) {
	f := newFixture(b)
	f.close()
	entries := 100_000
	if os.Getenv("RYE_LONG") != "" {
		entries = 1_000_000
	}
	signer, err := log.NewSigner(secretOf(b, f.dir))
	if err != nil {
		b.Fatal(err)
	}
	files := memoryLog{}
	w, err := log.Open(context.Background(), files, testHost+"/log", signer, keyOf(b, f.dir))
	if err != nil {
		b.Fatal(err)
	}
	batch := make([][]byte, 10_000)
	for i := 0; i < entries; i += len(batch) {
		for k := range batch {
			batch[k] = []byte(fmt.Sprintf("rye.dev/log/v1\ntype revocation\nnumber %d of a log of the length of a usual entry, with digests: %0350d\n", i+k, k))
		}
		if _, err := w.Append(context.Background(), batch...); err != nil {
			b.Fatal(err)
		}
	}
	var reads, bytes int
	src := func(_ context.Context, p string, _ int64) ([]byte, error) {
		t, ok := files[p]
		if !ok {
			return nil, fs.ErrNotExist
		}
		reads, bytes = reads+1, bytes+len(t)
		return t, nil
	}
	b.ResetTimer()
	for i := range b.N {
		if _, err := log.NewReader(src, w.Tree()).Entry(context.Background(), int64(i*7919%entries)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(reads)/float64(b.N), "files/op")
	b.ReportMetric(float64(bytes)/float64(b.N), "bytes/op")
}

// memoryLog are the files of a log.
type memoryLog map[string][]byte

func (m memoryLog) Read(_ context.Context, p string, _ int64) ([]byte, error) {
	if b, ok := m[p]; ok {
		return b, nil
	}
	return nil, fs.ErrNotExist
}

func (m memoryLog) Write(p string, b []byte) error { m[p] = b; return nil }

func secretOf(b *testing.B, dir string) string { s, _ := keysOf(b, dir); return s }
func keyOf(b *testing.B, dir string) string    { _, k := keysOf(b, dir); return k }

func keysOf(b *testing.B, dir string) (secret, key string) {
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(keyFile)))
	if err != nil {
		b.Fatal(err)
	}
	secret, key, _ = cutLine(text)
	return secret, key
}
