package cli

import (
	"fmt"
	"strings"
)

// topic is a text of rye help that belongs to no single command.
type topic struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Body  string `json:"text"`
}

func (t topic) text() string {
	return t.Title + "\n\n" + t.Body
}

func findTopic(name string) (topic, bool) {
	for _, t := range topics() {
		if t.Name == name {
			return t, true
		}
	}
	return topic{}, false
}

// topics lists the texts of rye help topics.
func topics() []topic {
	return []topic{
		{"arguments", "how flags and arguments are read", argumentsTopic},
		{"environment", "the environment variables that rye reads", environmentTopic},
		{"exit-codes", "what the exit statuses mean", exitCodesTopic()},
		{"output", "what goes to stdout and stderr, JSON and colour", outputTopic},
	}
}

const argumentsTopic = `Flags may be anywhere: before the command, after it, between and after its
arguments. A flag that no command on the line has is an error.

  --flag value, --flag=value   a flag that takes a value
  --switch, --switch=false     a switch
  -qv                          the switches -q and -v
  --                           everything after it is an argument
  -                            standard input, where a file is expected
  -5, -0.25                    numbers, not flags

A value that begins with a dash is joined to its flag: --flag=-value.
key=value and key:=JSON are arguments and reach the command as they are.`

const environmentTopic = `  NO_COLOR             set to anything: print without colour
  TERM                 "dumb": print without colour
  HOME                 the user's own items, in .ai/, and the parent of the
                       directories below if their variable is unset
  XDG_CONFIG_HOME      trust documents, in rye/trust/, and your policy for
                       every project, in rye/policy.yaml (else ~/.config)
  XDG_DATA_HOME        keys, in rye/keys/ (else ~/.local/share)
  XDG_STATE_HOME       consents, accepted trust sets and known revocations, in rye/ (else ~/.local/state)
  XDG_CACHE_HOME       the cache, which may be deleted, in rye/ (else ~/.cache)
  RYE_CACHE            the cache directory itself; refused if another user owns it,
                       can write it or can replace it
  RYE_RUN_LOG          off: keep no record of runs in the state directory
  RYE_USER_SPACE       the directory that contains the user's .ai, instead of
                       HOME; USER_SPACE and USER_PATH are read too, in this order
  RYE_SYSTEM_SPACE     a directory with an .ai of more system items
  RYE_KEY_FILE         the file of the key that signs, for machines without a user
  RYE_PASSPHRASE_FILE  the file of its passphrase
  RYE_TRUST_ROOT       fingerprints, separated by commas, of keys whose documents
                       in the project are anchors, for machines without a user
  RYE_REVOCATION_MAX_AGE  how old the newest list of revocations may be, such
                       as 7d; older is STALE
  CI                   set, and not 0 or false: locks are checked and not changed
  RYE_GIT              go: fetch without the git program; cli: with it only
  GIT_TERMINAL_PROMPT  0: git hooks ask no questions
  SSH_AUTH_SOCK        where the ssh-agent listens
  SOURCE_DATE_EPOCH    the date that rye bundle create and rye sbom write
  USER, USERNAME       the owner's name on a new key, without --owner

On Windows %AppData% and %LocalAppData% replace HOME and XDG.`

const outputTopic = `Results go to stdout; progress, notes, warnings and errors go to stderr.
-q silences notes and progress, -v adds more of them.

With --json stdout holds exactly one JSON document, also when the command fails:

  {"success": true, "data": …, "metadata": {"command": …}}
  {"success": false, "error": {"code", "message", "details", "retryable",
   "suggestion"}, "metadata": {"command": …}}

Codes are stable: rye explain lists them. Colour is used on a terminal only, and
not with --no-color or NO_COLOR.

A table fits the terminal: long cells are cut, then columns are left out, and what is
still too wide has a line for each cell. With --wide, and where stdout is not a
terminal, every column is printed and every cell is whole. With --plain each cell has
a line, as for screen readers. Programs read --json.

Control and hidden characters in names and messages are shown as
escapes, so that no file name can change the terminal.`

func exitCodesTopic() string {
	var b strings.Builder
	for _, e := range ExitCodes() {
		fmt.Fprintf(&b, "  %3d  %s\n", e.Status, e.Meaning)
	}
	b.WriteString(`
With several errors the status is the first of 6, 5, 7, 3 that occurs, else the
status of the first error. Every error has a stable code: rye explain
lists them with their status.`)
	return b.String()
}
