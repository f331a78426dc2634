package report

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/ryeos/rye/internal/hidden"
	"github.com/ryeos/rye/internal/interop/scan"
	"github.com/ryeos/rye/lock/treehash"
)

// Bounds of one component.
const (
	maxText    = 1 << 20 // bytes of a file that is searched
	maxNotices = 100
	maxList    = 200 // entries of one list
	computed   = "computed"
)

// collector collects the facts of one component.
type collector struct {
	call Call
	out  *Component
}

// describe reads the files of one component.
func (call Call) describe(c *scan.Component) (Component, error) {
	out := Component{
		Ref:         c.Ref(),
		From:        c.Dir,
		Files:       len(c.Files),
		Description: c.Description,
		Plugins:     c.Plugins,
		Notes:       c.Notes,
	}
	k := &collector{call: call, out: &out}
	k.requests(c)
	for _, file := range c.Files {
		out.Size += file.Size
		b, err := call.Files.Read(c.Path(file.Path))
		if err != nil {
			return out, err
		}
		k.file(file, b)
	}
	k.finish()
	return out, nil
}

// requests lists the fields with which a component asks another program for permissions.
func (k *collector) requests(c *scan.Component) {
	// another program starts them without a question
	if c.Executed() {
		k.out.Asks = append(k.out.Asks, "runs programs by itself")
	}
	if c.Text == nil {
		return
	}
	for _, key := range strings.Fields("allowed-tools tools hooks permissionMode mcpServers") {
		value, ok := c.Text.Doc.Root[key]
		if !ok {
			continue
		}
		words := strings.Join(textsOf(value), ", ")
		line := strings.TrimSuffix(key+": "+words, ": ")
		k.out.Asks = append(k.out.Asks, line)
	}
}

// textsOf returns a text, or the texts of a list.
func textsOf(v any) (out []string) {
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, e := range v {
			out = append(out, textsOf(e)...)
		}
	}
	return out
}

// file collects the facts of one file.
func (k *collector) file(file treehash.File, b []byte) {
	blob := hidden.Blob{
		Path:       file.Path,
		Bytes:      b,
		Executable: file.Mode == treehash.Executable,
	}
	switch {
	case blob.Archive():
		k.out.Archives = append(k.out.Archives, file.Path)
		return
	case blob.Native():
		k.out.Executables = append(k.out.Executables, file.Path)
		return
	}
	binary := !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0
	// an image is not searched, and a text of a megabyte is data
	if binary || len(b) > maxText {
		return
	}
	text := string(b)
	language := languageOf(file.Path, text)
	if language != "" {
		k.out.Scripts = append(k.out.Scripts, Script{Path: file.Path, Language: language})
		k.code(text)
	}
	markdown := isMarkdown(file.Path)
	switch {
	case language == "shell":
		k.shell(text)
	case markdown:
		for _, block := range shellBlocks(text) {
			k.shell(block)
			k.code(block)
		}
	}
	// a link in a text is for the reader, not for a program
	if language == "" {
		k.out.TextHosts = append(k.out.TextHosts, hostsOf(text)...)
	}
	k.notices(file.Path, text, markdown)
}

// code collects the facts of a text that a program runs.
func (k *collector) code(text string) {
	k.out.Hosts = append(k.out.Hosts, hostsOf(text)...)
	for _, match := range variables().FindAllStringSubmatch(text, maxList) {
		name := strings.Join(match[1:], "")
		k.out.Environment = append(k.out.Environment, name)
	}
	k.out.Outside = append(k.out.Outside, outside().FindAllString(text, maxList)...)
}

// shell collects the programs that a text of the shell starts.
func (k *collector) shell(text string) {
	commands, whole := k.call.Shell.Commands(text)
	if !whole {
		k.out.Runs = append(k.out.Runs, computed)
	}
	for _, c := range commands {
		name := path.Base(c.Args[0])
		// a name of which every part is computed is an empty one
		switch {
		case name == "." || name == "/":
			k.out.Runs = append(k.out.Runs, computed)
			continue
		case !isBuiltin(name):
			k.out.Runs = append(k.out.Runs, name)
		}
		args := append([]string{name}, c.Args[1:]...)
		if k.call.Rules.fetch(args) {
			k.out.Fetches = append(k.out.Fetches, fetchText(args))
		}
	}
}

// notices adds the matches of the patterns.
func (k *collector) notices(file, text string, markdown bool) {
	lower := strings.ToLower(text)
	for _, p := range k.call.Rules.patterns {
		if p.prose && !markdown {
			continue
		}
		for _, at := range p.find(text, lower) {
			// the next report would be a different one if the order were not fixed
			k.out.Notices = append(k.out.Notices, Notice{
				ID:   p.id,
				Path: file,
				Line: 1 + strings.Count(text[:at[0]], "\n"),
				Lines: 1 + strings.Count(
					strings.Trim(text[at[0]:at[1]], "\n"),
					"\n",
				),
				Text: p.text,
			})
		}
	}
}

// finish sorts the lists, which have each entry once.
func (k *collector) finish() {
	for _, list := range []*[]string{
		&k.out.Runs,
		&k.out.Fetches,
		&k.out.Hosts,
		&k.out.TextHosts,
		&k.out.Environment,
		&k.out.Outside,
	} {
		// the digest of the report depends on the order
		slices.Sort(*list)
		*list = slices.Compact(*list)
		most := min(len(*list), maxList)
		*list = (*list)[:most]
	}
	k.out.TextHosts = slices.DeleteFunc(k.out.TextHosts, func(host string) bool {
		_, found := slices.BinarySearch(k.out.Hosts, host)
		return found
	})
	k.out.Notices = k.out.Notices[:min(len(k.out.Notices), maxNotices)]
}

// variables finds the names of environment variables in shell, Python and JavaScript.
var variables = lazy(`\$\{?([A-Z][A-Z0-9_]{2,})\b|\b(?:getenv|environ(?:\.get)?)[\[(]\s*["']([A-Z][A-Z0-9_]{2,})|\bprocess\.env\.([A-Z][A-Z0-9_]{2,})`)

// outside finds paths of the home directory and of the system.
var outside = lazy(`(?:~|\$HOME|\$\{HOME\})/[\w.][\w./-]*|/(?:etc|root|usr/local|Library)/[\w.][\w./-]*`)

// hostsOf returns the hosts of the URLs in a text.
func hostsOf(text string) (out []string) {
	for len(out) < maxList {
		before, rest, found := strings.Cut(text, "://")
		if !found {
			break
		}
		text = rest
		scheme := before[max(0, len(before)-len("https")):]
		if !schemeEnd().MatchString(scheme) {
			continue
		}
		end := strings.IndexFunc(rest, func(r rune) bool {
			return !strings.ContainsRune(hostCharacters, unicode.ToLower(r))
		})
		if end < 0 {
			end = len(rest)
		}
		// the part before @ is a name and a password
		_, after, credentials := strings.Cut(rest[:end], "@")
		host := rest[:end]
		if credentials {
			host = after
		}
		host, _, _ = strings.Cut(host, ":")
		host = strings.Trim(strings.ToLower(host), ".-_%")
		if host != "" {
			out = append(out, host)
		}
	}
	return out
}

// hostCharacters are the characters between the scheme and the path of a URL.
const hostCharacters = "abcdefghijklmnopqrstuvwxyz0123456789.-_:@%"

var schemeEnd = lazy(`(?i)(http|https|ws|wss|ftp|ssh|git)$`)

// lazy compiles a pattern when it is used: most commands make no report.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(pattern)
	})
}
