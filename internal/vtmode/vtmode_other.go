//go:build !windows

package vtmode

import "io"

func enable([]any) (restore func(), known bool) {
	return func() {}, true
}

func writer(stream io.Writer) io.Writer {
	return stream
}
