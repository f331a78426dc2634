// Package deps pins modules while rooms are being built.
package deps

import (
	_ "charm.land/lipgloss/v2"
	_ "filippo.io/edwards25519"
	_ "github.com/pelletier/go-toml/v2"
	_ "github.com/pelletier/go-toml/v2/unstable"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/sigstore/sigstore/pkg/cryptoutils"
	_ "github.com/urfave/cli/v2"
	_ "golang.org/x/crypto/ssh/agent"
	_ "golang.org/x/mod/semver"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/term"
	_ "gopkg.in/yaml.v3"
)
