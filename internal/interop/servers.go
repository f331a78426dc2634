package interop

import "strings"

// servers names the command that adds MCP servers: it shows what each would start. Nothing is
// started here.
func servers(s Source, o Options) (*Result, error) {
	list, err := o.Servers(s.Path, s.Bytes())
	if err != nil {
		return nil, err
	}
	r := &Result{}
	if len(list.Names) > 0 {
		r.Next = [][]string{{"rye", "mcp", "add", "--from", s.Path}}
		r.left(strings.Join(list.Names, ", "), "servers are added one after the other, by a person")
	}
	for _, name := range list.Disabled {
		r.left(name, "it is disabled there, so it is left out; to add it, name it behind rye mcp add --from FILE")
	}
	for _, why := range list.Refused {
		r.left(s.Name, why)
	}
	return r, nil
}
