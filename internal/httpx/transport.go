package httpx

import "net/http"

// Transport returns what the client sends with, for a protocol's own client: it
// connects to the addresses that the client may reach and to no other. What else
// a client holds to, such as hosts, redirects and sizes, is for its user then.
func (c *Client) Transport() http.RoundTripper { return c.rt }
