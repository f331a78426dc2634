// Command rye is the command line: it turns words into calls of the rooms,
// and their answers and errors into text, JSON and an exit status.
//
// It decides nothing about items, trust or execution; it is not a library, and
// no other package may import it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, hostWorld()))
}
