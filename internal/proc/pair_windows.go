package proc

import (
	"net"
	"os"

	"github.com/ryeos/rye/diag"
)

// Pair fails: on Windows a program gets no descriptors but the three standard ones.
func Pair() (ours net.Conn, theirs *os.File, err error) {
	return nil, nil, diag.New(diag.ConfigError, "opening a connection for a program: programs get no connection to rye on Windows").WithReason("broker_windows")
}
