package project

import (
	"bytes"
	"context"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/ryeos/rye/lock/treehash"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/extract"
	"github.com/ryeos/rye/internal/tree"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/packages/source"
	"github.com/ryeos/rye/policy"
	"github.com/ryeos/rye/resolve"
	"github.com/ryeos/rye/resolve/space"
)

// BundleCaps returns a function that lists what the items of a bundle request:
// the permissions in their metadata, the hosts in a tool's configuration, what its
// program may call, and the access that its sandbox states.
// Files are read again unless the memo knows that they request what the lock has.
func (p *Project) BundleCaps() func(context.Context, *source.Snapshot, []string) ([]string, error) {
	known := p.requests()
	return func(ctx context.Context, s *source.Snapshot, guess []string) ([]string, error) {
		table, err := p.Resolver.Table(ctx)
		if err != nil {
			return nil, err
		}
		if known.Known(table, s.Sum, guess) {
			return slices.Clone(guess), nil
		}
		var caps []string
		err = s.Each(ctx, func(f source.File, text []byte) error {
			rel, ok := strings.CutPrefix(f.Path, space.Dir+"/")
			if place, known := table.Classify(rel); ok && known {
				caps = append(caps, ItemCaps(place, text)...)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		slices.Sort(caps)
		caps = slices.Compact(caps)
		known.Add(table, s.Sum, caps)
		return caps, nil
	}
}

// requestedCaps returns the capabilities that the items of a bundle request, read from its files. The
// extractors of bundles are not used: they would need this bundle first.
func (p *Project) requestedCaps(ctx context.Context, root *space.Root) ([]string, error) {
	own := *p.Spaces
	own.Roots = slices.DeleteFunc(slices.Clone(own.Roots), (*space.Root).Bundled)
	table, err := resolve.New(resolve.Params{
		Spaces:  &own,
		Trust:   p.Trust,
		Locked:  p.locks,
		Lenient: true,
	}).Table(ctx)
	if err != nil {
		return nil, err
	}
	var caps []string
	err = root.Walk(".", func(e space.Entry) error {
		at, known := table.Classify(e.Rel)
		if e.Err != nil || !known {
			return e.Err
		}
		text, err := root.Read(e.Rel, treehash.MaxFile)
		if err == nil {
			caps = append(caps, ItemCaps(at, text)...)
		}
		return err
	})
	slices.Sort(caps)
	return slices.Compact(caps), err
}

// ItemCaps returns the capabilities, hosts and access that one item requests.
func ItemCaps(at extract.Match, text []byte) []string {
	if at.Ref.IsZero() ||
		at.Type.Ext == "" ||
		!mayAsk(at, text) {
		return nil
	}
	var caps []string
	meta, _ := at.Extractor.Read(at.Type, text)
	for _, p := range meta.Permissions {
		if p = strings.Join(strings.Fields(p), ""); p != "" {
			caps = append(caps, p)
		}
	}
	if at.Ref.Kind == item.Tool {
		caps = append(caps, hostCaps(meta.Config)...)
		caps = append(caps, callCaps(meta.Fields)...)
		caps = append(caps, sandboxCaps(meta.Fields)...)
	}
	return caps
}

// mayAsk is a quick check of the text: false means that the item requests nothing,
// so that its metadata need not be parsed.
func mayAsk(at extract.Match, text []byte) bool {
	// A Python string can consist of several, so that no word of it is in the text.
	names := at.Type.Codec == extract.CodecPython ||
		bytes.Contains(text, []byte("url")) ||
		bytes.Contains(text, []byte("hosts")) ||
		bytes.IndexByte(text, '\\') >= 0
	for _, field := range []string{"permissions", "calls", "sandbox", "risk"} {
		if at.Extractor.MayHold(at.Type, field, text) {
			return true
		}
	}
	return names && at.Extractor.MayHold(at.Type, "config", text)
}

// sandboxCaps returns the access that a tool states for its sandbox, and its risk class.
// Only what reaches out of the project, or changes it, is a request. A key that is
// wrong is an error of sign and run.
func sandboxCaps(fields map[string]any) []string {
	r := tree.NewReader(&tree.Doc{Root: fields}, diag.ValidationFailed)
	p := policy.ReadProfile(r.Map("sandbox"))
	var out []string
	risk, err := policy.ParseTier(r.Text("risk"))
	if err == nil {
		out = append(out, "risk:"+risk.String())
	}
	if p.Net == policy.NetAny {
		out = append(out, "net:*")
	} else {
		for _, host := range p.Hosts {
			out = append(out, "net:"+bareHost(host))
		}
	}
	if p.Git == policy.GitCommit {
		out = append(out, "git:commit")
	}
	for _, access := range []struct {
		kind   string
		values *[]string
		usual  []string
	}{{"read:", p.Read, []string{"{project}", "{tmp}", "{cache}"}}, {"write:", p.Write, []string{"{tmp}", "{cache}"}}, {"exec:", p.Exec, nil}, {"socket:", p.Sockets, nil}} {
		if access.values == nil {
			continue
		}
		for _, v := range *access.values {
			first, _, _ := strings.Cut(v, "/")
			if !slices.Contains(access.usual, first) {
				out = append(out, access.kind+oneWord(v))
			}
		}
	}
	return out
}

// oneWord escapes what a lock has in no capability. Removing it would make two paths
// equal.
func oneWord(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '%' || unicode.IsSpace(r) || unicode.IsControl(r) {
			b.WriteString(url.PathEscape(string(r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// callCaps returns the calls that the program of a tool may make through the broker. A value
// that is not a list of texts is an error of sign.
func callCaps(fields map[string]any) []string {
	var out []string
	list, _ := fields["calls"].([]any)
	for _, c := range list {
		if s, _ := c.(string); s != "" {
			out = append(out, strings.Join(strings.Fields(s), ""))
		}
	}
	return out
}

// hostCaps returns the hosts that a tool's configuration names: the hosts that it lists, else
// the host of its address, which may be any when a parameter decides.
func hostCaps(config map[string]any) []string {
	var out []string
	add := func(v any) {
		if s, _ := v.(string); s != "" {
			out = append(out, "net:"+bareHost(s))
		}
	}
	list, listed := config["hosts"].([]any)
	for _, h := range list {
		add(h)
	}
	address, _ := config["url"].(string)
	_, rest, absolute := strings.Cut(address, "://")
	switch {
	case listed || address == "":
	case absolute:
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			rest = rest[:i]
		}
		add(rest)
	case strings.Contains(address, "{"):
		add("*")
	}
	return out
}

// bareHost drops user and port. What a parameter decides may be anything.
func bareHost(s string) string {
	s = strings.ToLower(s[strings.LastIndexByte(s, '@')+1:])
	v6, _, ok := strings.Cut(strings.TrimPrefix(s, "["), "]")
	if ok {
		return v6
	}
	if strings.ContainsAny(s, "{}") {
		return "*"
	}
	host, _, _ := strings.Cut(s, ":")
	return strings.Join(strings.Fields(host), "")
}
