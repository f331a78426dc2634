package scan

import (
	"cmp"
	"encoding/json"
	"github.com/ryeos/rye/lock/treehash"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/interop"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/item"
)

// Files that list components, and those that a plugin has without listing them.
const (
	marketplaceFile = ".claude-plugin/marketplace.json"
	pluginFile      = ".claude-plugin/plugin.json"
	hooksFile       = "hooks/hooks.json"
	serversFile     = ".mcp.json"
)

// marketplace is a file that lists plugins.
type marketplace struct {
	Metadata struct {
		Root string `json:"pluginRoot"`
	} `json:"metadata"`
	Plugins []plugin `json:"plugins"`
}

// plugin is a plugin.json, and the entry of a plugin in a marketplace.
type plugin struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Source      address `json:"source"`
	Skills      paths   `json:"skills"`
	Agents      paths   `json:"agents"`
	Commands    paths   `json:"commands"`
	Hooks       paths   `json:"hooks"`
	Servers     servers `json:"mcpServers"`
}

// address is where a plugin is: a path in the source, or another source.
type address struct {
	Path string `json:"-"`

	Repo    string `json:"repo"`
	URL     string `json:"url"`
	Package string `json:"package"`
	Kind    string `json:"source"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *address) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &a.Path) == nil {
		return nil
	}
	type plain address // without this method
	return json.Unmarshal(b, (*plain)(a))
}

// paths is a path or a list of paths. Other values, such as the settings of hooks
// themselves, are not paths.
type paths []string

// UnmarshalJSON implements json.Unmarshaler.
func (p *paths) UnmarshalJSON(b []byte) error {
	one := ""
	if json.Unmarshal(b, &one) == nil {
		*p = paths{one}
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(b, &list) != nil {
		return nil
	}
	for _, raw := range list {
		// an element can be an object with settings
		if json.Unmarshal(raw, &one) == nil {
			*p = append(*p, one)
		}
	}
	return nil
}

// servers is the path of a file with servers, or the servers.
type servers struct {
	Paths paths
	List  map[string]server
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *servers) UnmarshalJSON(b []byte) error {
	err := json.Unmarshal(b, &s.Paths)
	if err != nil || s.Paths != nil {
		return err
	}
	return json.Unmarshal(b, &s.List)
}

// server is the part of the settings of an MCP server that describes it.
type server struct {
	Command string `json:"command"`
	URL     string `json:"url"`
}

// serverFile is a file with servers: some programs have them below a key.
type serverFile struct {
	Below map[string]server `json:"mcpServers"`
}

// plugins reads the files that list plugins: the marketplace of the source, and each
// plugin.json.
func (f *finder) plugins() {
	f.listedSkills = map[string]bool{}
	f.pluginNames = map[string]string{}
	if f.has(marketplaceFile) {
		f.marketplace()
	}
	for _, file := range f.files {
		dir, ok := strings.CutSuffix("/"+file.Path, "/"+pluginFile)
		if !ok || ignored(file.Path) || strings.Count(dir, "/") > maxDepth {
			continue
		}
		p := plugin{}
		if f.object(file.Path, &p) {
			f.plugin(strings.TrimPrefix(dir, "/"), p, file.Path)
		}
	}
}

// object reads a file of JSON. It leaves out a file that programs read differently.
func (f *finder) object(p string, v any) bool {
	b, finding := f.read(p)
	if finding == nil {
		// the decoder takes the last of equal keys: the strict parser refuses them
		_, fs := jsonx.Parse(b)
		if len(fs) == 0 {
			err := json.Unmarshal(b, v)
			if err == nil {
				return true
			}
			fs = append(fs, *refused(diag.ValidationFailed, p, err.Error()))
		}
		finding = refusedAt(fs[0], p)
	}
	f.leave("", *finding)
	return false
}

// marketplace adds the plugins of the marketplace of the source.
func (f *finder) marketplace() {
	m := marketplace{}
	if !f.object(marketplaceFile, &m) {
		return
	}
	for _, p := range m.Plugins {
		elsewhere := cmp.Or(
			p.Source.Repo,
			p.Source.URL,
			p.Source.Package,
			p.Source.Kind,
		)
		if elsewhere != "" {
			f.listed = append(f.listed, Plugin{
				Name:        p.Name,
				Description: p.Description,
				Elsewhere:   elsewhere,
			})
			continue
		}
		dir, finding := inside(
			p.Source.Path,
			m.Metadata.Root,
			marketplaceFile,
		)
		if finding != nil {
			// pluginRoot is for the names of directories; a path is from the top
			dir, finding = inside(p.Source.Path, "", marketplaceFile)
		}
		if finding != nil {
			f.leave(pluginRef(p.Name), *finding)
			continue
		}
		f.plugin(dir, p, marketplaceFile)
	}
}

// plugin adds one plugin and the paths that it names.
func (f *finder) plugin(dir string, p plugin, file string) {
	// a plugin of a marketplace can have a plugin.json, too
	if p.Name == "" || f.pluginNames[dir] != p.Name {
		f.pluginNames[dir] = p.Name
		f.listed = append(f.listed, Plugin{
			Name:        p.Name,
			Dir:         dir,
			Description: p.Description,
		})
	}
	each := func(given paths, fn func(at string)) {
		for _, one := range given {
			at, finding := inside(one, dir, file)
			if finding != nil {
				f.leave(pluginRef(p.Name), *finding)
				continue
			}
			fn(at)
		}
	}
	each(p.Skills, func(at string) {
		f.listedSkills[at] = true
	})
	each(p.Agents, func(at string) {
		f.named(Agent, at)
	})
	each(p.Commands, func(at string) {
		f.named(Command, at)
	})
	each(p.Hooks, func(at string) {
		if f.has(at) && at != path.Join(dir, hooksFile) {
			f.hookSet(dir, at)
		}
	})
	each(p.Servers.Paths, func(at string) {
		if f.has(at) && at != path.Join(dir, serversFile) {
			f.servers(at)
		}
	})
	if path.Base(file) == path.Base(pluginFile) {
		f.serverList(file, p.Servers.List)
	}
}

// named adds the path of a component that a plugin names: a file, or a folder of them.
func (f *finder) named(kind, p string) {
	usual := []string{"agents", "commands"}
	dir, base := path.Split(p)
	dir = path.Clean(dir)
	// below finds what is in a folder with a usual name
	if slices.Contains(usual, base) || slices.Contains(usual, path.Base(dir)) {
		return
	}
	if f.has(p) {
		file := f.files[f.at(p)]
		file.Path = base
		f.single(kind, strings.TrimPrefix(dir, "."), file)
		return
	}
	for _, file := range f.under(p) {
		f.single(kind, p, file)
	}
}

// inside returns a path of the source that a file of the source names, relative to a
// directory.
func inside(given, dir, file string) (string, *diag.Finding) {
	p := path.Join(dir, given)
	if p == "." {
		p = ""
	}
	if given == "" || leaves(given) || !within(p+"/", dir) {
		return "", refused(diag.PathEscape, file, "it names the path "+strconv.Quote(given)+", which leaves its directory")
	}
	return p, nil
}

// leaves reports whether a path is absolute or above its directory on some system.
func leaves(given string) bool {
	drive := len(given) > 1 && given[1] == ':'
	clean := path.Clean(given)
	return drive ||
		strings.HasPrefix(given, "/") ||
		strings.ContainsAny(given, "\\\x00") ||
		clean == ".." ||
		strings.HasPrefix(clean, "../")
}

func pluginRef(name string) string {
	if item.CheckID(name) != nil {
		return ""
	}
	return "plugin:" + name
}

// rootName returns the name of a set of hooks: of its plugin, else of its directory.
func (f *finder) rootName(root string) string {
	return cmp.Or(
		interop.Segment(f.pluginNames[root]),
		interop.Segment(path.Base(root)),
		"hooks",
	)
}

// hookSet adds the hooks of one file. The programs that they start are often next to it.
func (f *finder) hookSet(root, main string) {
	set := struct {
		Description string `json:"description"`
	}{}
	if f.inSkill(main) || !f.object(main, &set) {
		return
	}
	dir := parent(main)
	files := f.under(dir)
	if dir == root {
		files = f.only(main)
	}
	f.found = append(f.found, &Component{
		Kind:        Hooks,
		Name:        f.rootName(root),
		Dir:         dir,
		Main:        path.Base(main),
		Files:       files,
		Description: set.Description,
	})
}

// only returns one file, relative to its directory.
func (f *finder) only(p string) []treehash.File {
	file := f.files[f.at(p)]
	file.Path = path.Base(p)
	return []treehash.File{file}
}

// servers adds the MCP servers of one file.
func (f *finder) servers(main string) {
	list := serverFile{}
	if f.inSkill(main) || !f.object(main, &list) {
		return
	}
	if list.Below == nil {
		// the other form has the servers at the top
		f.object(main, &list.Below)
	}
	f.serverList(main, list.Below)
}

func (f *finder) serverList(main string, list map[string]server) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		segment := interop.Segment(name)
		if segment == "" {
			f.leave("", *refused(diag.ValidationFailed, main, "the server "+strconv.Quote(name)+" has no letters that a name can have"))
			continue
		}
		f.found = append(f.found, &Component{
			Kind:        Server,
			Name:        segment,
			Dir:         parent(main),
			Main:        path.Base(main),
			Files:       f.only(main),
			Description: cmp.Or(list[name].Command, list[name].URL),
		})
	}
}

// parent returns the directory of a path, "" for the top.
func parent(p string) string {
	dir, _ := path.Split(p)
	return strings.TrimSuffix(dir, "/")
}
