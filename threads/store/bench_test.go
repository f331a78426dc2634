package store

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkProcesses counts the transactions that processes make together on one
// account, each durable before the next one begins:
//
//	go test ./threads/store -run '^$' -bench Processes
func BenchmarkProcesses(b *testing.B) {
	for _, workers := range []int{1, 8, 32} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			self, err := os.Executable()
			must(b, err)
			for b.Loop() {
				dir := b.TempDir()
				register(b, openTest(b, dir), "shared", 1<<50)
				var done atomic.Int64
				var all []*exec.Cmd
				for w := range workers {
					cmd := exec.Command(self)
					cmd.Env = append(os.Environ(), "RYE_STORE_DIR="+dir, "RYE_STORE_ROLE=worker", fmt.Sprintf("RYE_STORE_ID=%d", w))
					out, err := cmd.StdoutPipe()
					must(b, err)
					must(b, cmd.Start())
					all = append(all, cmd)
					go count(out, &done)
				}
				for done.Load() == 0 {
					time.Sleep(time.Millisecond)
				}
				began, first := time.Now(), done.Load()
				time.Sleep(3 * time.Second)
				b.ReportMetric(float64(done.Load()-first)/time.Since(began).Seconds(), "transactions/s")
				for _, cmd := range all {
					must(b, cmd.Process.Kill())
					_ = cmd.Wait() // killed
				}
			}
		})
	}
}

// count adds the operations that a worker reports.
func count(r io.Reader, done *atomic.Int64) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "end") {
			done.Add(1)
		}
	}
}
