package sign

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
)

// dialSocket opens the named pipe of the system's agent; other agents use a
// Unix socket here too.
func dialSocket(ctx context.Context, socket string) (io.ReadWriteCloser, error) {
	if strings.HasPrefix(socket, `\\.\pipe\`) {
		return os.OpenFile(socket, os.O_RDWR, 0)
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}
