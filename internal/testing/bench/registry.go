package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ryeos/rye/internal/testing/logtest"
	"github.com/ryeos/rye/registry/log"
)

const (
	registryHost  = "bench.example"
	registryIndex = "/index/acme/tools.jsonl"
	manyClients   = 100
	readTime      = 200 * time.Millisecond // of one of the rounds
)

// registry measures a registry of this machine: the publication of a large bundle, reads of
// static files against a bare Go file server of the same directory, and the proof of an
// entry of a large log.
func (b *bench) registry(ctx context.Context) error {
	data := filepath.Join(b.work, "registry")
	served, err := b.publishMany(data)
	if err != nil {
		return err
	}
	bare, err := listen(b.program(
		b.work,
		b.self,
		"files",
		filepath.Join(data, "public"),
	))
	if err != nil {
		return errors.Join(err, served.stop())
	}
	err = b.reads(served, bare)
	if err = errors.Join(err, served.stop(), bare.stop()); err != nil {
		return err
	}
	fmt.Printf(
		"\nmemory after the reads: rye %s, the file server %s\n",
		mb(residentSize(served.cmd.ProcessState)),
		mb(residentSize(bare.cmd.ProcessState)),
	)
	return coldProofs(ctx)
}

// listener is a server process and its address.
type listener struct {
	cmd     *exec.Cmd
	address string
}

// listen starts a server that prints its address as http://HOST:PORT.
func listen(p program) (*listener, error) {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir = p.dir
	cmd.Env = p.env
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := bufio.NewReader(out)
	for text := ""; ; {
		line, err := r.ReadString('\n')
		text += line
		if m := regexp.MustCompile(`http://(\S+:\d+)`).FindStringSubmatch(line); m != nil {
			go io.Copy(io.Discard, r)
			return &listener{cmd, m[1]}, nil
		}
		if err != nil {
			return nil, fmt.Errorf(
				"running %q: %s: %w",
				p.argv,
				text,
				errors.Join(err, cmd.Wait()),
			)
		}
	}
}

// stop ends the process. What it printed is in the pipe that listen reads.
func (l *listener) stop() error {
	if err := l.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	var status *exec.ExitError
	err := l.cmd.Wait()
	if err != nil && !errors.As(err, &status) {
		return err
	}
	return nil
}

// serveFiles is the reference: the file server of the standard library.
func serveFiles(dir string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "http://%s\n", l.Addr())
	return http.Serve(l, http.FileServer(http.Dir(dir)))
}

// publishMany starts a registry and publishes a bundle, whose time and memory it prints,
// and a small one, whose index is read afterwards.
func (b *bench) publishMany(data string) (*listener, error) {
	many := b.sizes[0]
	dir := filepath.Join(b.work, "published")
	if err := writeBundle(dir, "large", many); err != nil {
		return nil, err
	}
	if err := writeBundle(dir+"-small", "tools", 1); err != nil {
		return nil, err
	}
	for _, d := range []string{dir, dir + "-small"} {
		for _, words := range [][]string{{"sign", "*"}, {"bundle", "create", "bench", "--version", "1.0.0"}} {
			_, err := b.program(d, append([]string{b.rye}, words...)...).once()
			if err != nil {
				return nil, err
			}
		}
	}
	keys, _ := filepath.Glob(filepath.Join(b.work, "home", "config", "rye", "trust", "key-*.toml"))
	serve := b.program(
		b.work,
		b.rye,
		"registry",
		"serve",
		"--data",
		data,
		"--addr",
		"127.0.0.1:0",
		"--public-url",
		"https://"+registryHost,
	)
	l, err := listen(serve)
	if err != nil {
		return nil, err
	}
	_, err = b.program(
		b.work,
		b.rye,
		"registry",
		"admin",
		"namespace",
		"grant",
		"acme",
		keys[0],
		"--data",
		data,
	).once()
	if err == nil {
		err = b.pin(l)
	}
	if err == nil {
		_, err = b.program(
			b.work,
			b.rye,
			"registry",
			"publish",
			dir+"-small",
		).once()
	}
	if err = errors.Join(err, l.stop()); err != nil { // the memory must be for the large bundle alone
		return nil, err
	}
	return b.publishLarge(serve, dir, many)
}

// pin pins the registry of a process.
func (b *bench) pin(l *listener) error {
	key, err := os.ReadFile(filepath.Join(b.work, "registry", "keys", "log"))
	if err == nil {
		_, err = b.program(
			b.work,
			b.rye,
			"registry",
			"add",
			registryHost,
			"--url",
			"http://"+l.address,
			"--log-key",
			strings.Fields(string(key))[1],
		).once()
	}
	return err
}

func writeBundle(dir, name string, items int) error {
	if err := writeCorpus(dir, 0, items); err != nil {
		return err
	}
	return os.WriteFile(
		filepath.Join(dir, "rye.yaml"),
		[]byte("rye: 1\nname: registry:"+registryHost+"/acme/"+name+"\n"),
		0o644,
	)
}

// publishLarge publishes the large bundle and leaves the registry open.
func (b *bench) publishLarge(serve program, dir string, items int) (*listener, error) {
	l, err := listen(serve)
	if err != nil {
		return nil, err
	}
	if err := b.pin(l); err != nil { // the pin has the address of the process before
		return nil, errors.Join(err, l.stop())
	}
	verify, err := b.program(dir, b.rye, "verify", "--no-memo").once()
	if err != nil {
		return nil, errors.Join(err, l.stop())
	}
	o, err := b.program(b.work, b.rye, "registry", "publish", dir).once()
	if err != nil {
		return nil, errors.Join(err, l.stop())
	}
	if err := l.stop(); err != nil {
		return nil, err
	}
	fmt.Printf("\n| publish | rye registry publish, in all | its processor time | its memory | the registry, processor time | the registry, memory | rye verify of the same items |\n|---|---|---|---|---|---|---|\n")
	state := l.cmd.ProcessState
	fmt.Printf("| one bundle of %d items | %s | %s | %s | %s | %s | %s, %s of processor time |\n", items, ms(o.elapsed), ms(o.cpu), mb(o.rss),
		ms(state.UserTime()+state.SystemTime()), mb(residentSize(state)), ms(verify.elapsed), ms(verify.cpu))
	return listen(serve)
}

// reads compares reads of static files with reads from a bare file server, in turn.
func (b *bench) reads(rye, bare *listener) error {
	etag, err := etagOf(rye.address + registryIndex)
	if err != nil {
		return err
	}
	fmt.Printf("\n| reads of static files, keep-alive | clients | rye | 99 of 100 within | bare file server | 99 of 100 within | ratio |\n|---|---|---|---|---|---|---|\n")
	for _, c := range []struct {
		name, path, header string
		clients, status    int
	}{
		{"an index", registryIndex, "", 8, 200},
		{"an index", registryIndex, "", manyClients, 200},
		{"an index that did not change", registryIndex, "If-None-Match: " + etag + "\r\n", 8, 304},
		{"the checkpoint", "/log/checkpoint", "", 8, 200},
	} {
		var a, z []load
		for range b.rounds + 1 {
			for list, l := range map[*[]load]*listener{&a: rye, &z: bare} {
				status := c.status
				if l == bare { // it has no ETag
					status = 200
				}
				got, err := hammer(l.address, c.path, c.header, status, c.clients, readTime)
				if err != nil {
					return err
				}
				*list = append(*list, got)
			}
		}
		got := middle(a[1:])
		want := middle(z[1:])
		fmt.Printf("| %s | %d | %s a second | %s | %s a second | %s | %.2f |\n", c.name, c.clients, rate(got), ms(got.at(99)), rate(want), ms(want.at(99)),
			float64(len(got.times))/got.elapsed.Seconds()/(float64(len(want.times))/want.elapsed.Seconds()))
	}
	return nil
}

func etagOf(address string) (string, error) {
	r, err := http.Get("http://" + address)
	if err != nil {
		return "", err
	}
	return r.Header.Get("Etag"), r.Body.Close()
}

// middle returns the load with the middle rate.
func middle(list []load) load {
	slices.SortFunc(list, func(a, b load) int {
		return len(a.times) - len(b.times)
	})
	return list[len(list)/2]
}

// hammer reads one path from so many connections for a time. The client is not the one of
// net/http, which costs more than the servers.
func hammer(address, path, header string, status, clients int, span time.Duration) (l load, err error) {
	request := []byte("GET " + path + " HTTP/1.1\r\nHost: " + registryHost + "\r\n" + header + "\r\n")
	var wg sync.WaitGroup
	var mu sync.Mutex
	start := time.Now()
	for range clients {
		wg.Go(func() {
			times, bad := readFor(address, request, status, start.Add(span))
			mu.Lock()
			defer mu.Unlock()
			l.times, err = append(l.times, times...), errors.Join(err, bad)
		})
	}
	wg.Wait()
	l.elapsed = time.Since(start)
	slices.Sort(l.times)
	if len(l.times) == 0 && err == nil {
		err = fmt.Errorf("%s%s: no response", address, path)
	}
	return l, err
}

// readFor sends one request again and again until a time.
func readFor(
	address string,
	request []byte,
	status int,
	end time.Time,
) (times []time.Duration, err error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	_ = c.SetDeadline(end.Add(10 * time.Second))
	r := bufio.NewReaderSize(c, 64<<10)
	for at := time.Now(); at.Before(end); {
		if _, err := c.Write(request); err != nil {
			return nil, err
		}
		if err := readResponse(r, status); err != nil {
			return nil, err
		}
		now := time.Now()
		times = append(times, now.Sub(at))
		at = now
	}
	return times, nil
}

// readResponse reads one response with a Content-Length.
func readResponse(r *bufio.Reader, status int) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	f := bytes.Fields(line)
	if len(f) < 2 || string(f[1]) != strconv.Itoa(status) {
		return fmt.Errorf("the response is %q, not %d", line, status)
	}
	length := 0
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return err
		}
		if len(line) <= 2 {
			_, err := r.Discard(length)
			return err
		}
		value, ok := bytes.CutPrefix(line, []byte("Content-Length: "))
		if ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
}

// coldProofs counts what a reader without a cache reads to prove one entry.
func coldProofs(ctx context.Context) error {
	entry := []byte("rye.dev/log/v1\ntype revocation\n" + strings.Repeat("x", 420)) // as long as a release
	fmt.Printf("\n| proof of one entry, nothing cached | tiles | entry bundles | bytes | time, without the network |\n|---|---|---|---|---|\n")
	for _, size := range []int64{1000, 100_000, 1_000_000, 10_000_000} {
		u := logtest.NewUniform(entry, size)
		root, err := u.Root()
		if err != nil {
			return err
		}
		start := time.Now()
		_, err = log.NewReader(u.Read, log.Tree{Size: size, Root: root}).Entry(ctx, size/2)
		if err != nil {
			return err
		}
		fmt.Printf(
			"| a log of %d entries | %d | %d | %d | %s |\n",
			size,
			u.Tiles,
			u.Bundles,
			u.Bytes,
			ms(time.Since(start)),
		)
	}
	return nil
}
