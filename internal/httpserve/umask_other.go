//go:build !unix

package httpserve

// onlyOwner does nothing: the directory of the socket decides who can use it.
func onlyOwner() (restore func()) {
	return func() {}
}
