package self

import (
	"fmt"
	"io"
	"net"

	"github.com/ryeos/rye/internal/cli"
)

// ToolRelay is the hidden command that connects a program with the tools of its thread.
const ToolRelay = "tool-relay"

// relayTools connects the input and output of this process with the server of a thread.
func relayTools(w *cli.World) int {
	conn, err := net.Dial("unix", w.Args[1])
	if err != nil {
		fmt.Fprintln(w.Stderr, "rye: error: reaching the tools of the thread:", err)
		return 1
	}
	defer conn.Close()
	go func() {
		io.Copy(conn, w.Stdin)
		conn.(*net.UnixConn).CloseWrite()
	}()
	if _, err := io.Copy(w.Stdout, conn); err != nil {
		return 1
	}
	return 0
}
