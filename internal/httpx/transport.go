package httpx

import "net/http"

// Transport returns the transport of the client, for libraries that have their
// own client. It connects only to addresses that the client may reach. The
// limits of hosts, redirects and sizes do not apply to it.
func (c *Client) Transport() http.RoundTripper {
	return c.rt
}
