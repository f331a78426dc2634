//go:build !windows

package sign

import (
	"context"
	"io"
	"net"
)

func dialSocket(ctx context.Context, socket string) (io.ReadWriteCloser, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}
