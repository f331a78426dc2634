package self

import (
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// PrepareServer tunes the process for thousands of small calls: a larger heap saves
// time of the collector, and a server stays below 40 MB. gogc is GOGC of the environment, which
// has precedence. SIGPIPE must not end the process when a client disconnects: the programs that
// it started would stay.
func PrepareServer(gogc string) {
	if gogc == "" {
		debug.SetGCPercent(150)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
