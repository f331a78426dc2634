package cli

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/hidden"
)

// AskSecret reads a line at the terminal without echo.
func (c *Call) AskSecret(prompt string) ([]byte, error) {
	f, ok := c.Stdin.(*os.File)
	if !ok {
		return nil, diag.New(diag.AuthRequired, "reading a passphrase: there is no terminal to ask at")
	}
	fmt.Fprint(c.Stderr, prompt)
	b, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(c.Stderr)
	if err != nil {
		return nil, diag.New(diag.FileSystemError, "reading a passphrase: %w", err)
	}
	return b, nil
}

// Ask reads one line at a terminal; elsewhere it is an error.
func (c *Call) Ask(prompt string) (string, error) {
	if !c.Isatty(c.Stdin) {
		return "", diag.New(diag.Usage, "asking for %s: there is no terminal to ask at", strings.TrimSpace(prompt))
	}
	_ = c.UI.Stdout.Flush() // the subject of the question is printed first
	fmt.Fprint(c.Stderr, hidden.Visible(prompt))
	line, err := bufio.NewReader(c.Stdin).ReadString('\n')
	if err != nil && line == "" {
		return "", diag.New(diag.Usage, "asking for %s: no answer", strings.TrimSpace(prompt))
	}
	return strings.TrimSpace(line), nil
}
