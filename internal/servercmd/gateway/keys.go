package gateway

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/env"
	"github.com/ryeos/rye/internal/gateway/access"
	"github.com/ryeos/rye/internal/gateway/trail"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/policy"
)

// state returns the state directory of the user.
func state(c *cli.Call) (string, error) {
	dir := env.Of(c).UserDirs().State
	if dir == "" {
		return "", diag.New(diag.FileSystemError, "reading the keys of the gateway: the environment names no state directory that is the user's own").
			WithReason("no_state_directory")
	}
	return dir, nil
}

// keys returns the keys of the user.
func keys(c *cli.Call) (*access.Store, error) {
	dir, err := state(c)
	if err != nil {
		return nil, err
	}
	return access.Open(dir, c.Now), nil
}

func keyCommand() *cli.Command {
	return &cli.Command{
		Name:  "key",
		Usage: "make, list and revoke keys for the gateway",
		Subs:  []*cli.Command{keyNewCommand(), keyListCommand(), keyRevokeCommand()},
	}
}

// keyOptions are the flags of rye gateway key new.
type keyOptions struct {
	role     string
	projects []string
	caps     []string
	expires  time.Duration
}

func keyNewCommand() *cli.Command {
	o := keyOptions{role: string(access.Viewer)}
	return &cli.Command{
		Name:  "new",
		Args:  "NAME",
		Usage: "make a key and print it, once",
		Long: `A viewer reads. An operator also starts, answers and ends threads, and approves calls up
to the risk T3. An admin also kills threads, and approves every call and beginnings of
commands. The logs of threads name the key by NAME.`,
		Examples: []string{"rye gateway key new ci --role operator --for ~/work --expires 2160h"},
		Codes:    []diag.Code{diag.Conflict},
		Flags: []cli.Flag{
			cli.String(&o.role, "role", "what the owner may do (default viewer)").OneOf(access.Roles()...),
			cli.Strings(&o.projects, "for", "only the project in `DIR`; can be repeated"),
			cli.Strings(&o.caps, "capability", "threads of the key may do `CAP` at most; can be repeated"),
			cli.Duration(&o.expires, "expires", "the key ends after this `DURATION`"),
		},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runKeyNew(ctx, c, &o)
		},
	}
}

// maxName is the length of the longest name of a key, in bytes.
const maxName = 60

func runKeyNew(ctx context.Context, c *cli.Call, o *keyOptions) error {
	name := c.Args[0]
	bad := strings.IndexFunc(name, func(r rune) bool {
		return r != '-' &&
			r != '_' &&
			r != '.' &&
			(r < '0' || r > '9') &&
			(r < 'a' || r > 'z') &&
			(r < 'A' || r > 'Z')
	})
	// Logs and the audit log have the name between blanks.
	if bad >= 0 ||
		len(name) > maxName ||
		name == "" ||
		name == access.Local().Name {
		return diag.New(diag.Usage, "making a key: %q is not a name: at most %d letters, digits, _, - and ., and not local", name, maxName)
	}
	k := access.Key{Name: name, Role: access.Role(o.role)}
	for _, dir := range o.projects {
		k.Projects = append(k.Projects, c.Path(dir))
	}
	for _, text := range o.caps {
		if _, err := policy.Parse(text); err != nil {
			return err
		}
		k.Caps = append(k.Caps, text)
	}
	if o.expires > 0 {
		at := c.Now().Add(o.expires).UTC().Truncate(time.Second)
		k.Expires = &at
	}
	s, err := keys(c)
	if err != nil {
		return err
	}
	text, made, err := s.Create(ctx, k)
	if err != nil {
		return err
	}
	data := struct {
		Secret string `json:"secret"`
		*access.Key
	}{text, made}
	return c.UI.Show(data, func() {
		c.UI.Out("%s", text)
		c.UI.Note("the key %s is shown this once; it has the role %s", made.ID, made.Role)
	})
}

func keyListCommand() *cli.Command {
	return &cli.Command{
		Name:     "list",
		Usage:    "list the keys",
		Examples: []string{"rye gateway key list"},
		Run: func(_ context.Context, c *cli.Call) error {
			s, err := keys(c)
			if err != nil {
				return err
			}
			list, err := s.Keys()
			if err != nil {
				return err
			}
			return c.UI.Show(map[string]any{"keys": list}, func() {
				showKeys(c, list)
			})
		},
	}
}

func showKeys(c *cli.Call, list []access.Key) {
	if len(list) == 0 {
		c.UI.Out("no keys")
		return
	}
	t := cli.NewTable("gateway keys")
	for i := range list {
		k := &list[i]
		// The whole list of projects is in the JSON form.
		about := "all projects"
		if len(k.Projects) > 0 {
			about = strings.Join(k.Projects, ", ")
		}
		t.Add(
			k.ID,
			k.Name,
			string(k.Role),
			stateOf(k, c.Now()),
			about,
		)
	}
	c.UI.Table(t)
}

func stateOf(k *access.Key, now time.Time) string {
	switch {
	case k.Revoked != nil:
		return "revoked"
	case k.Expires == nil:
		return "valid"
	case now.Before(*k.Expires):
		return "until " + k.Expires.Format(time.DateOnly)
	}
	return "expired"
}

func keyRevokeCommand() *cli.Command {
	return &cli.Command{
		Name:     "revoke",
		Args:     "ID",
		Usage:    "end a key, its sessions and its streams",
		Examples: []string{"rye gateway key revoke k3f9a2bc"},
		Codes:    []diag.Code{diag.ItemNotFound},
		Run: func(ctx context.Context, c *cli.Call) error {
			s, err := keys(c)
			if err != nil {
				return err
			}
			k, err := s.Revoke(ctx, c.Args[0])
			if err != nil {
				return err
			}
			return c.UI.Show(k, func() {
				c.UI.Out("revoked %s %s", k.ID, k.Name)
			})
		},
	}
}

func openCommand() *cli.Command {
	var show bool
	return &cli.Command{
		Name:  "open",
		Usage: "sign the browser of this computer in",
		Long: `Opens the page of the gateway that runs, and signs in as its owner. The code is used once,
within a minute, and is in no list of processes: the browser opens a private file that
leads to the page.`,
		Examples: []string{"rye gateway open", "rye gateway open --print"},
		Codes:    []diag.Code{diag.ConfigError},
		Flags:    []cli.Flag{cli.Bool(&show, "print", "print the address and start no browser")},
		Run: func(ctx context.Context, c *cli.Call) error {
			return runOpen(ctx, c, show)
		},
	}
}

// maxAddress is the size of the file with the address, in bytes.
const maxAddress = 4096

func runOpen(ctx context.Context, c *cli.Call, show bool) error {
	dir, err := state(c)
	if err != nil {
		return err
	}
	base := atomicfile.Private(dir).Below(access.Dir)
	b, _, err := openat.Read(base.Path(""), addressFile, maxAddress)
	if errors.Is(err, fs.ErrNotExist) {
		return diag.New(diag.ConfigError, "opening the gateway: none runs").
			WithReason("gateway_not_running")
	}
	if err != nil {
		return diag.Doing("opening the gateway", err)
	}
	url := strings.TrimSpace(string(b))
	if strings.HasPrefix(url, "unix:") {
		return diag.New(diag.ConfigError, "opening the gateway: it listens on a socket, which browsers do not open: %s", url)
	}
	code, err := access.Open(dir, c.Now).NewCode()
	if err != nil {
		return err
	}
	to := url + "/login#c=" + code
	// Nothing else of this command prints the code: other users see lists of processes.
	if show {
		return c.UI.Show(map[string]any{"url": to}, func() {
			c.UI.Out("%s", to)
		})
	}
	file := "open.html"
	page := fmt.Sprintf("<!DOCTYPE html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\"><meta http-equiv=\"refresh\" content=\"0;url=%s\"><title>rye</title><a href=\"%[1]s\">Sign in</a>\n", html.EscapeString(to))
	if err := base.Write(file, []byte(page), 0o600); err != nil {
		return err
	}
	if err := browse(ctx, base.Path(file)); err != nil {
		c.UI.Note("no browser starts (%v); open this within a minute:", err)
		return c.UI.Show(map[string]any{"url": to}, func() {
			c.UI.Out("%s", to)
		})
	}
	return c.UI.Show(map[string]any{"url": url}, func() {
		c.UI.Out("opened %s", url)
	})
}

// browse opens a file with the browser of the person.
func browse(ctx context.Context, file string) error {
	// The programs wait for the browser to start, not to end.
	name := "xdg-open"
	args := []string{file}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name = "rundll32"
		args = []string{"url.dll,FileProtocolHandler", file}
	}
	return exec.CommandContext(ctx, name, args...).Run()
}

func auditCommand() *cli.Command {
	var since time.Duration
	return &cli.Command{
		Name:  "audit",
		Usage: "print who requested changes through the gateway",
		Long: `Each request that may change something is a line, with the hash of the line before it. If
a line was altered or removed, the command prints which and ends with TRANSCRIPT_BROKEN.`,
		Examples: []string{"rye gateway audit", "rye gateway audit --since 168h --json"},
		Codes:    []diag.Code{diag.TranscriptBroken},
		Flags:    []cli.Flag{cli.Duration(&since, "since", "only of the last `DURATION`")},
		Run: func(_ context.Context, c *cli.Call) error {
			dir, err := state(c)
			if err != nil {
				return err
			}
			from := time.Time{}
			if since > 0 {
				from = c.Now().Add(-since)
			}
			return runAudit(
				c,
				trail.Open(atomicfile.Private(dir).Below(access.Dir), c.Now),
				from,
			)
		},
	}
}

func runAudit(c *cli.Call, log *trail.Log, from time.Time) error {
	list := []trail.Entry{}
	broken, err := log.Read(from, func(e *trail.Entry) {
		list = append(list, *e)
	})
	if err != nil {
		return err
	}
	err = c.UI.Show(map[string]any{"entries": list, "broken": broken}, func() {
		t := cli.NewTable("gateway audit")
		for i := range list {
			e := &list[i]
			t.Add(
				e.Time,
				e.Key,
				e.Method+" "+e.Path,
				strconv.Itoa(e.Status),
				e.Address,
			)
		}
		c.UI.Table(t)
		if broken != "" {
			c.UI.Warn("%s", broken)
		}
	})
	if err == nil && broken != "" {
		err = cli.Shown(diag.New(diag.TranscriptBroken, "reading the audit log: %s", broken).WithReason("log_changed"), nil)
	}
	return err
}
