package keychain

import (
	"context"
	"net/url"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/httpx"
	"github.com/ryeos/rye/sign"
)

// maxSSHKeys is the size of a list of ssh keys.
const maxSSHKeys = 64 << 10

// FetchSSHKeys returns the ssh-ed25519 keys that a host publishes for a user, as
// https://HOST/USER.keys. It does not follow a redirect to another host: that host
// would answer for the named one.
func FetchSSHKeys(ctx context.Context, address string) ([]sign.SSHKey, error) {
	u, err := url.Parse(address)
	if err != nil ||
		u.Scheme != "https" ||
		u.Hostname() == "" ||
		u.User != nil ||
		u.RawQuery != "" {
		return nil, diag.New(diag.Usage, "reading the address %q: it is not of the form https://HOST/USER.keys", address).WithReason("keys_address")
	}
	// The user names the host, which may be one of a private network.
	client, err := httpx.New(httpx.Params{Hosts: []string{u.Host}, AllowPrivate: []string{u.Hostname()}})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	res, err := client.Do(ctx, httpx.Request{
		Method:       "GET",
		URL:          address,
		MaxBytes:     maxSSHKeys,
		MaxRedirects: 3,
	})
	switch {
	case err != nil && diag.CodeOf(err) != diag.Network:
		return nil, diag.New(diag.CodeOf(err), "reading the ssh keys: %w", err).WithReason("keys_host")
	case err != nil:
		return nil, err
	case !res.OK():
		return nil, diag.New(diag.SourceNotFound, "reading %s: the status is %d", address, res.Status)
	case res.Truncated:
		return nil, diag.New(diag.TooLarge, "reading %s: it has more than %d bytes", address, maxSSHKeys)
	}
	keys, others, err := sign.ReadSSHKeys(res.Body)
	if err != nil {
		return nil, diag.New(diag.CodeOf(err), "reading %s: %w", address, err)
	}
	if len(keys) == 0 {
		return nil, diag.New(diag.KeyUnknown, "reading %s: it lists no ssh-ed25519 key; it lists %d of other types, which cannot sign items", address, len(others)).
			WithReason("no_ed25519")
	}
	return keys, nil
}
