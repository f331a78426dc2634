// Package modelserver is the program of scripts and examples that answers as the service
// of a model, by a scenario file.
//
// It decides nothing itself: package scripted reads the scenario and answers.
package modelserver

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ryeos/rye/threads/provider/scripted"
)

// Main is the program: it serves the scenario that its argument names until it is
// interrupted, and prints its address on the first line. Its exit status is 1 if a
// request was not the expected one.
func Main() {
	addr := flag.String("addr", "127.0.0.1:0", "the address to listen on")
	dialect := flag.String("dialect", "", "the dialect, instead of the dialect of the file")
	count := flag.Bool("count", false, "print the number of calls at the end")
	log := flag.String("log", "", "append each request to this file, as a line of JSON")
	flag.Parse()
	if flag.NArg() != 1 {
		fail("one scenario file is required")
	}
	s, err := load(flag.Arg(0))
	if err != nil {
		fail(err.Error())
	}
	if *dialect != "" {
		s.Dialect = *dialect
	}
	server := &scripted.Server{Scenario: s}
	if *log != "" {
		f, err := os.OpenFile(*log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			fail(err.Error())
		}
		defer f.Close()
		server.Log = f
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		fail(err.Error())
	}
	fmt.Println("http://" + l.Addr().String())
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	h := &http.Server{Handler: server, ReadHeaderTimeout: time.Minute}
	// A signal ends Serve, not the process: the count and the problems are printed after it.
	go func() {
		<-stop
		h.Close()
	}()
	h.Serve(l)
	if *count {
		fmt.Printf("calls %d of %d\n", server.Calls(), len(s.Steps))
	}
	for _, p := range server.Problems() {
		fmt.Fprintln(os.Stderr, p)
	}
	if len(server.Problems()) > 0 {
		os.Exit(1)
	}
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, "model-server:", text)
	os.Exit(2)
}

// load reads a scenario file.
func load(path string) (*scripted.Scenario, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return scripted.Parse(path, b)
}
