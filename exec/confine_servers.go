package exec

import (
	"slices"

	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/policy"
)

// languageServers is the configuration whose programs the applet lsp starts.
const languageServers = "lsp/servers"

// languageServer is a server that the applet of a plan may start.
type languageServer struct {
	command string
	read    []string // paths as a profile has them
}

// consentedServers returns the servers that the user consented to. Others are not started.
func consentedServers(settings map[string]any, consents []string) []languageServer {
	var out []languageServer
	list, _ := settings["servers"].([]any)
	for _, x := range list {
		m, _ := x.(map[string]any)
		id, _ := m["id"].(string)
		s := languageServer{}
		s.command, _ = m["command"].(string)
		if s.command == "" || !slices.Contains(consents, id) {
			continue
		}
		paths, _ := m["read"].([]any)
		for _, p := range paths {
			path, ok := p.(string)
			if ok && policy.CheckProfilePath(path) == nil {
				s.read = append(s.read, path)
			}
		}
		out = append(out, s)
	}
	return out
}

// admitServers adds the programs of the language servers to the sandbox, and what they
// read in addition to its profile.
func (e *Executor) admitServers(c *Confinement, p *Plan) []string {
	var programs []string
	for _, s := range p.servers {
		path, err := proc.LookPath(s.command, p.Env)
		if err == nil {
			programs = append(programs, absolute(path, p.Dir))
		}
		if len(s.read) > 0 && c.Profile.Read != nil {
			more := append(slices.Clone(*c.Profile.Read), s.read...)
			c.Profile.Read = &more
			c.Profile = c.Profile.Normal()
		}
	}
	return programs
}
