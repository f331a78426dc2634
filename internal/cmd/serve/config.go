package serve

import (
	"cmp"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/cmd/templates"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/openat"
)

// McpClients returns the clients that have a template of settings.
func McpClients() []string {
	return []string{"claude", "codex", "cursor", "gemini", "opencode", "vscode"}
}

// printClient prints the settings with which a client starts this server, or
// connects to it if --http is given.
func printClient(c *cli.Call, o *ServeOptions) error {
	where, text, err := ClientText(c, o, command(c))
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]string{"client": o.Client, "file": where, "text": text}, func() {
		c.UI.Note("write this into %s", where)
		c.UI.Text(text)
	})
}

// ClientText returns the settings of a client for a server with the flags of o,
// and the file that contains them.
func ClientText(c *cli.Call, o *ServeOptions, command string) (where, text string, err error) {
	kind := ""
	switch {
	case c.Given(&o.tokenFile):
		kind = "-token" // the client reads it from the variable MCP_RYE_TOKEN
	case c.Given(&o.http):
		kind = "-http"
	}
	b, err := templates.Files.ReadFile("mcp-" + o.Client + kind + ".txt")
	if err != nil {
		return "", "", err
	}
	head, text, _ := strings.Cut(string(b), "\n")
	where, folder, _ := strings.Cut(head, " ") // the file, and the client's placeholder for the project directory
	args := jsonText(serveArguments(c, o, folder))
	return where, strings.NewReplacer(
		"@COMMAND@", command, "@ARGS@", args, "@WORDS@", args[1:len(args)-1], "@URL@", "http://"+listenAddress(o.http)+"/mcp",
	).Replace(text), nil
}

// command returns the absolute path of this program: a client that was not started by a
// shell has another PATH. The path in PATH is preferred, because it survives an update
// that the resolved one may not.
func command(c *cli.Call) string {
	at := c.Self
	found, err := exec.LookPath("rye")
	if err == nil && filepath.IsAbs(found) && sameFile(found, c.Self) {
		at = found
	}
	quoted := jsonText(at)
	return quoted[1 : len(quoted)-1]
}

func sameFile(a, b string) bool {
	fa, err := os.Stat(a)
	fb, berr := os.Stat(b)
	return err == nil && berr == nil && os.SameFile(fa, fb)
}

// serveArguments returns the arguments of the server. A client that starts servers
// in another directory passes the project's directory.
func serveArguments(c *cli.Call, o *ServeOptions, folder string) []string {
	words := []string{"serve"}
	if dir := cmp.Or(c.Project(), folder); dir != "" {
		words = append(words, "--project", dir)
	}
	if list := o.capabilities; len(list) > 0 {
		words = append(words, "--capabilities", strings.Join(list, ","))
	}
	return words
}

func jsonText(v any) string {
	b, err := jsonx.Marshal(v)
	if err != nil {
		return `""`
	}
	return strings.ReplaceAll(string(b), `","`, `", "`)
}

// webOrigin checks a value of --allow-origin: a scheme and a host.
func webOrigin(s string) (string, error) {
	u, err := url.Parse(s)
	if err == nil &&
		(u.Scheme == "https" || u.Scheme == "http") &&
		u.Host != "" &&
		u.User == nil &&
		path.Clean("/"+u.Path) == "/" &&
		u.RawQuery == "" &&
		u.Fragment == "" {
		return strings.ToLower(u.Scheme + "://" + u.Host), nil
	}
	return "", diag.New(diag.Usage, "reading flag --allow-origin: %q is not an origin", s).WithReason("origin")
}

// minToken is the minimum length of a token, in characters.
const minToken = 16

// readToken reads the token from the only line of a file. There is no flag for
// the token itself: every program of the machine can read command lines.
func readToken(file string) (string, error) {
	fi, err := os.Stat(file)
	if err != nil {
		return "", diag.New(diag.Usage, "reading the token: %w", err).
			WithReason("token_missing").WithDetail("file", cli.ShellArgument(file))
	}
	if runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
		return "", diag.New(diag.Usage, "reading the token: other users may read %s", file).
			WithReason("token_mode").
			WithDetail("file", cli.ShellArgument(file))
	}
	if !fi.Mode().IsRegular() || fi.Size() > 4096 {
		return "", diag.New(diag.Usage, "reading the token: %s is not a regular file of at most 4096 bytes", file)
	}
	b, err := openat.ReadRegular(file, openat.MaxText)
	if err != nil {
		return "", diag.New(diag.FileSystemError, "reading the token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if len(token) < minToken ||
		strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", diag.New(diag.Usage, "reading the token: %s must contain one word of at least %d ASCII characters", file, minToken)
	}
	return token, nil
}
