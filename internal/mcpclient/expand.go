package mcpclient

import (
	"maps"
	"slices"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/proc"
	"github.com/ryeos/rye/internal/tmpl"
	"github.com/ryeos/rye/internal/tree"
)

// Expand returns the server with every ${VAR} filled in. A variable comes from
// chain, else from environ, KEY=VALUE, from which nothing is taken that chooses
// the code programs load, and no setting of rye.
func (s *Server) Expand(chain map[string]string, environ []string) (*Server, error) {
	x := &expander{env: map[string]string{}}
	for _, name := range s.Variables() {
		v, has := chain[name]
		if !has &&
			!proc.IsLoaderVar(name) &&
			!strings.HasPrefix(strings.ToUpper(name), "RYE_") {
			v, _ = proc.Lookup(environ, name)
		}
		x.env[name] = v
	}
	out := *s
	out.described = s.Reached().Hex()
	out.Command, out.Cwd, out.URL = x.text("command", s.Command), x.text("cwd", s.Cwd), x.text("url", s.URL)
	out.Args = make([]string, len(s.Args))
	for i, a := range s.Args {
		out.Args[i] = x.text("args", a)
	}
	out.Env, out.Headers = x.texts("env", s.Env), x.texts("headers", s.Headers)
	err := diag.FromFindings("filling in "+s.Ref().String(), x.fs)
	if err != nil {
		return nil, err
	}
	r := tree.NewReader(tree.New(), diag.ConfigError)
	out.check(r.Map("config"))
	return &out, diag.FromFindings("filling in "+s.Ref().String(), r.Findings())
}

type expander struct {
	env map[string]string
	fs  []diag.Finding
}

// text fills in one value. It names what is missing, and never a value.
func (x *expander) text(key, s string) string {
	for _, name := range variables(s, false) {
		if x.env[name] == "" {
			why := "which is not set"
			reason := "variable"
			if strings.HasPrefix(name, "RYE_") {
				why = "but names that begin with RYE_ are reserved for rye and are not passed to servers: use another name"
				reason = "variable_reserved"
			}
			f := diag.Errorf(diag.ConfigError, 0, 0, "config.%s needs the variable %s, %s", key, name, why)
			x.fs = append(x.fs, f.WithReason(reason, "variable", name))
		}
	}
	out, err := tmpl.Expand(s, x.env, nil)
	if err != nil {
		x.fs = append(x.fs, diag.Errorf(
			diag.ConfigError,
			0,
			0,
			"config.%s: %s",
			key,
			err,
		))
	}
	return out
}

func (x *expander) texts(key string, m map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out[name] = x.text(key+"."+name, m[name])
	}
	return out
}

// Variables returns the names of the variables that the server refers to.
func (s *Server) Variables() []string {
	all := append([]string{s.Command, s.Cwd, s.URL}, s.Args...)
	all = slices.AppendSeq(all, maps.Values(s.Env))
	all = slices.AppendSeq(all, maps.Values(s.Headers))
	var out []string
	for _, text := range all {
		out = append(out, variables(text, true)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// variables returns the names in ${NAME}, and with defaults those in
// ${NAME:-default} too.
func variables(text string, defaults bool) []string {
	var out []string
	for {
		_, rest, ok := strings.Cut(text, "${")
		if !ok {
			return out
		}
		text = rest
		name, _, closed := strings.Cut(rest, "}")
		name, _, has := strings.Cut(name, ":-")
		if closed && (defaults || !has) && upperName(name) {
			out = append(out, name)
		}
	}
}

// upperName reports whether a template takes s for a variable.
func upperName(s string) bool {
	return s != "" &&
		(s[0] < '0' || s[0] > '9') &&
		strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
