package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// inFlight is the number of open calls of a client.
const inFlight = 64

const handshake = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// serve compares the MCP server with the SDK alone: the time to the first answer,
// and calls per second. Both have the same tool hello; rye's own verbs are
// measured after it.
func (b *bench) serve() error {
	dir, file, err := b.hello()
	if err != nil {
		return err
	}
	if err := b.noteIn(dir); err != nil {
		return err
	}
	if err := b.unconfined(dir, file); err != nil {
		return err
	}
	if err := b.firstAnswers(dir); err != nil {
		return err
	}
	calls := 20_000
	if b.rounds < 5 {
		calls = 2000
	}
	many := manyItems
	if b.rounds < 5 {
		many = b.sizes[len(b.sizes)-1]
	}
	locked, err := b.locked(many)
	if err != nil {
		return err
	}
	fmt.Printf("\n| serve, calls over stdio | one at a time | half within | %d at a time | half within | 99 of 100 within | processor time of a call | memory |\n|---|---|---|---|---|---|---|---|\n", inFlight)
	hello := `"hello","arguments":{}`
	item := `"arguments":{"item_type":"tool","item_id":"demo/hello"}`
	rows := []served{
		{"hello, the SDK alone", hello, calls, []string{b.sibling("hello"), "sdk"}, dir},
		{"hello, through mcpserve", hello, calls, []string{b.sibling("hello"), "rye"}, dir},
		{"rye: search", `"search","arguments":{"query":"hello","space":"project"}`, calls / 10, []string{b.rye, "serve"}, dir},
		{"rye: load of a tool", `"load",` + item, calls / 10, []string{b.rye, "serve"}, dir},
		{"rye: execute of a knowledge item", `"execute","arguments":{"item_type":"knowledge","item_id":"demo/note"}`, calls / 2, []string{b.rye, "serve"}, dir},
		{"the SDK alone starts the bash script", hello, calls / 20, []string{b.sibling("hello"), "start", "bash", file}, dir},
		{"rye: execute of a one-line bash tool without a sandbox (T4)", `"execute","arguments":{"item_type":"tool","item_id":"demo/bare"}`, calls / 20, []string{b.rye, "serve"}, dir},
	}
	if wrapped := bubblewrap(dir, file); wrapped != nil {
		rows = append(rows, served{"the SDK alone starts the bash script in bubblewrap", hello, calls / 20, append(
			[]string{b.sibling("hello"), "start"},
			wrapped...,
		), dir})
	}
	rows = append(rows, served{"rye: execute of a one-line bash tool in the best rung of this machine", `"execute",` + item, calls / 20, []string{b.rye, "serve"}, dir},
		served{fmt.Sprintf("the same, among %d locked tools", many*6/10), `"execute",` + item, calls / 20, []string{b.rye, "serve"}, locked})
	for _, c := range rows {
		p := b.program(c.dir, c.argv...)
		alone, err := p.calls(c.call, max(1, c.n/4), 1)
		if err != nil {
			return err
		}
		full, err := p.calls(c.call, c.n, inFlight)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %s a second | %s | %s a second | %s | %s | %s | %s |\n", c.name,
			rate(alone), ms(alone.at(50)), rate(full), ms(full.at(50)), ms(full.at(99)), full.cpu/time.Duration(c.n), mb(full.rss))
	}
	return nil
}

// served is a server with one call that is measured n times.
type served struct {
	name, call string
	n          int
	argv       []string
	dir        string
}

// bubblewrap returns the command that starts a script with bubblewrap, in the namespaces and with about the
// mounts of the rung strict, but without its filter and limits. It is nil if that program is not
// installed, or cannot do it here.
func bubblewrap(dir, file string) []string {
	argv := []string{"bwrap", "--unshare-all", "--die-with-parent", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"}
	for _, at := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", dir} {
		if _, err := os.Stat(at); err == nil {
			argv = append(argv, "--ro-bind", at, at)
		}
	}
	argv = append(argv, "bash", file)
	if exec.Command(argv[0], argv[1:]...).Run() != nil {
		return nil
	}
	return argv
}

// noteIn writes a knowledge item and signs it.
func (b *bench) noteIn(dir string) error {
	at := filepath.Join(dir, ".ai", "knowledge", "demo", "note.md")
	err := os.MkdirAll(filepath.Dir(at), 0o755)
	if err != nil {
		return err
	}
	err = os.WriteFile(at, []byte("---\nversion: 1.0.0\ncategory: demo\ntitle: A note\n---\nShort.\n"), 0o644)
	if err != nil {
		return err
	}
	_, err = b.program(dir, b.rye, "sign", "*").once()
	return err
}

// sibling returns the path of a program in the directory of this one.
func (b *bench) sibling(name string) string {
	return b.self + "-" + name
}

// firstAnswers measures from the start of the process to its first answer.
func (b *bench) firstAnswers(dir string) error {
	programs := []program{b.program(dir, b.rye, "serve"), b.program(dir, b.sibling("hello"), "sdk")}
	for i := range programs {
		programs[i].stdin = handshake
	}
	samples := make([]sample, len(programs))
	for i := range b.spawns + 1 {
		for k, p := range programs {
			elapsed, err := p.firstLine()
			if err != nil {
				return err
			}
			if i > 0 {
				samples[k].add(outcome{elapsed: elapsed})
			}
		}
	}
	fmt.Printf("\n| serve, from the start to the first answer | rye serve | the SDK alone | over it |\n|---|---|---|---|\n| | %s | %s | %s |\n",
		samples[0], samples[1], samples[0].over(samples[1]))
	return nil
}

// firstLine starts a server, writes its stdin and waits for one line.
func (p program) firstLine() (time.Duration, error) {
	c, err := p.open()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := c.cmd.Start(); err != nil {
		return 0, err
	}
	_, werr := io.WriteString(c.in, p.stdin)
	_, rerr := c.out.ReadSlice('\n')
	elapsed := time.Since(start)
	_, _, err = c.close()
	if err != nil || werr != nil || rerr != nil {
		return 0, fmt.Errorf("running %q: %v, %v, %w", p.argv, werr, rerr, err)
	}
	return elapsed, nil
}

// client is the other end of a server.
type client struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (p program) open() (*client, error) {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir = p.dir
	cmd.Env = p.env
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	return &client{cmd, in, bufio.NewReaderSize(out, 1<<20)}, err
}

// close ends the server and returns its memory and the processor time of it and of the
// programs that it started.
func (c *client) close() (rss int64, cpu time.Duration, err error) {
	c.in.Close()
	_, _ = io.Copy(io.Discard, c.out)
	err = c.cmd.Wait()
	state := c.cmd.ProcessState
	return residentSize(state), state.UserTime() + state.SystemTime(), err
}

// load is what many calls took.
type load struct {
	elapsed time.Duration
	times   []time.Duration
	rss     int64
	cpu     time.Duration
}

// at returns the time within which that many of 100 calls were answered.
func (l load) at(percent int) time.Duration {
	return l.times[min(
		len(l.times)-1,
		len(l.times)*percent/100,
	)]
}

func rate(l load) string {
	return fmt.Sprintf("%.0f", float64(len(l.times))/l.elapsed.Seconds())
}

// calls makes n calls of one tool, so many at a time.
func (p program) calls(call string, n, atOnce int) (l load, err error) {
	c, err := p.open()
	if err != nil {
		return l, err
	}
	if err := c.cmd.Start(); err != nil {
		return l, err
	}
	if _, err = io.WriteString(c.in, handshake); err == nil {
		_, err = c.out.ReadSlice('\n')
	}
	if err == nil {
		l, err = c.pump(call, n, atOnce)
	}
	rss, cpu, cerr := c.close()
	l.rss = rss
	l.cpu = cpu
	if err == nil {
		err = cerr
	}
	if err != nil {
		return l, fmt.Errorf("calling %q: %w", p.argv, err)
	}
	slices.Sort(l.times)
	return l, nil
}

// pump keeps so many calls open until n are answered. Answers come in any
// order; the times belong to the requests, in the order of their ids.
func (c *client) pump(call string, n, atOnce int) (l load, err error) {
	sent := make([]time.Time, n+1)
	next := 1
	send := func() error {
		sent[next] = time.Now()
		_, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s}}`+"\n", next, call)
		next++
		return err
	}
	start := time.Now()
	for next <= min(atOnce, n) {
		if err := send(); err != nil {
			return l, err
		}
	}
	for range n {
		line, err := c.out.ReadSlice('\n')
		if err != nil {
			return l, err
		}
		var id int
		at := bytes.Index(line, []byte(`"id":`))
		if at < 0 ||
			bytes.Contains(line, []byte(`"isError":true`)) ||
			bytes.Contains(line, []byte(`"error":{"code":-`)) {
			return l, fmt.Errorf("the answer is %s", line)
		}
		if _, err := fmt.Sscanf(string(line[at:min(len(line), at+20)]), `"id":%d`, &id); err != nil {
			return l, err
		}
		l.times = append(l.times, time.Since(sent[id]))
		if next <= n {
			if err := send(); err != nil {
				return l, err
			}
		}
	}
	l.elapsed = time.Since(start)
	return l, nil
}
