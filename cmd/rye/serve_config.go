package main

import (
	"cmp"
	"net/url"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/jsonx"
)

// mcpClients are the clients whose settings are known: each has a template.
func mcpClients() []string { return []string{"claude", "codex", "cursor", "vscode"} }

// printClient prints what a client needs to start this server, or to find it
// when --http says where it is.
func printClient(c *cli.Call, name string) error {
	if err := oneOf("--print-config", name, mcpClients()); err != nil {
		return err
	}
	where, text, err := clientText(c, name, command(c))
	if err != nil {
		return err
	}
	return c.UI.Show(map[string]string{"client": name, "file": where, "text": text}, func() {
		c.UI.Note("write this into %s", where)
		c.UI.Text(text)
	})
}

// clientText returns the settings that make a client start or reach this server
// with the flags of the call, and the file in which they stand.
func clientText(c *cli.Call, name, command string) (where, text string, err error) {
	kind := ""
	switch {
	case c.IsSet("token-file"):
		kind = "-token" // the client has it in its variable RYE_TOKEN
	case c.IsSet("http"):
		kind = "-http"
	}
	b, err := templates.ReadFile("templates/mcp-" + name + kind + ".txt")
	if err != nil {
		return "", "", err
	}
	head, text, _ := strings.Cut(string(b), "\n")
	where, folder, _ := strings.Cut(head, " ") // the file, and what the client calls its project's folder
	return where, strings.NewReplacer(
		"@COMMAND@", command, "@ARGS@", jsonText(serveWords(c, folder)), "@URL@", "http://"+listenAddress(c.Str("http"))+"/mcp",
	).Replace(text), nil
}

// oneOf refuses a word that is none of a few.
func oneOf(flag, word string, words []string) error {
	for _, w := range words {
		if w == word {
			return nil
		}
	}
	e := diag.New(diag.Usage, "reading flag %s: %q is none of %s", flag, word, strings.Join(words, ", "))
	if near := cli.Nearest(word, words); near != "" {
		return e.WithHint("did you mean %s?", near)
	}
	return e
}

// command is how a client starts this program: by its name where that is what
// the path holds, as this survives an update.
func command(c *cli.Call) string {
	found, err := exec.LookPath("rye")
	if err == nil && sameFile(found, c.Self) {
		return "rye"
	}
	quoted := jsonText(c.Self)
	return quoted[1 : len(quoted)-1]
}

func sameFile(a, b string) bool {
	fa, err := os.Stat(a)
	fb, berr := os.Stat(b)
	return err == nil && berr == nil && os.SameFile(fa, fb)
}

// serveWords are the words behind the program's name. A client that starts
// servers elsewhere says where the project is.
func serveWords(c *cli.Call, folder string) []string {
	words := []string{"serve"}
	if dir := cmp.Or(c.Project(), folder); dir != "" {
		words = append(words, "--project", dir)
	}
	if list := c.Strs("capabilities"); len(list) > 0 {
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

// webOrigin checks what --allow-origin names: a scheme and a host.
func webOrigin(s string) (string, error) {
	u, err := url.Parse(s)
	if err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && path.Clean("/"+u.Path) == "/" && u.RawQuery == "" && u.Fragment == "" {
		return strings.ToLower(u.Scheme + "://" + u.Host), nil
	}
	return "", diag.New(diag.Usage, "reading flag --allow-origin: %q is no origin", s).WithHint("write a scheme and a host, such as https://ide.example")
}

// minToken is the shortest token, in characters.
const minToken = 16

// readToken reads the one line of a token file. A token on the command line
// would be seen by every program of the machine.
func readToken(file string) (string, error) {
	fi, err := os.Stat(file)
	if err != nil {
		return "", diag.New(diag.Usage, "reading the token: %w", err).
			WithHint("make one: (umask 077; openssl rand -hex 32 > %s)", shellWord(file))
	}
	if runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
		return "", diag.New(diag.Usage, "reading the token: others may read %s", file).WithHint("chmod 600 %s", shellWord(file))
	}
	if !fi.Mode().IsRegular() || fi.Size() > 4096 {
		return "", diag.New(diag.Usage, "reading the token: %s is no small file", file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", diag.New(diag.FileSystemError, "reading the token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if len(token) < minToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", diag.New(diag.Usage, "reading the token: %s must hold one word of %d or more ASCII characters", file, minToken)
	}
	return token, nil
}
