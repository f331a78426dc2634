package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ryeos/rye/internal/cli"
	"github.com/ryeos/rye/internal/yamlx"
	"github.com/ryeos/rye/lock"
)

// aConfiguration is the first line of an example that is a configuration.
var aConfiguration = regexp.MustCompile(`^# (?:~/|%USERPROFILE%\\)?\.ai[/\\]config[/\\]([\w/\\]+)\.yaml`)

// TestDocumentedYAML reads each example of YAML and JSON as rye reads such a file: without a
// duplicate key, an anchor or a tag. An example that begins with the path of a configuration
// must pass `rye sign`, and one that begins with "# rye.yaml" is read as a project file.
func TestDocumentedYAML(t *testing.T) {
	l := newLab(t)
	l.must("key", "new", "--owner", "ada", "--no-passphrase")
	l.must("init")
	blocks, signed := 0, 0
	for _, path := range docPages(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range pageBlocks(string(text)) {
			var fault string
			switch b.info {
			case "yaml":
				if _, findings := yamlx.Parse([]byte(b.body)); len(findings) > 0 {
					fault = findings[0].Message
				} else if strings.HasPrefix(b.body, "# rye.yaml\n") {
					if _, findings := lock.ParseProjectFile([]byte(b.body)); len(findings) > 0 {
						fault = findings[0].Message
					}
				} else if m := aConfiguration.FindStringSubmatch(b.body); m != nil {
					signed++
					id := strings.ReplaceAll(m[1], `\`, "/")
					l.write(".ai/config/"+id+".yaml", b.body)
					if _, out, status := l.run("sign", "config:"+id); status != 0 {
						fault = out
					}
				}
			case "json":
				fault = jsonFault([]byte(b.body))
			default:
				continue
			}
			blocks++
			if fault != "" {
				t.Errorf("%s:%d: %s\n%s", path, b.at, fault, b.body)
			}
		}
	}
	if blocks < 80 || signed < 5 {
		t.Errorf("only %d blocks were read, and %d configurations signed", blocks, signed)
	}
}

// jsonFault returns the first error of one or more JSON values, "" without one.
func jsonFault(b []byte) string {
	d := json.NewDecoder(bytes.NewReader(b))
	for {
		var v any
		switch err := d.Decode(&v); err {
		case nil:
		case io.EOF:
			return ""
		default:
			return err.Error()
		}
	}
}

// TestChangelogCommands: each command that CHANGELOG.md names exists.
func TestChangelogCommands(t *testing.T) {
	known := map[string]bool{}
	walkCommands([]*cli.Command{bothPrograms()}, func(path []*cli.Command) { known[cli.PathName(path)] = true })
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, m := range regexp.MustCompile("`(rye [a-z]+)( [a-z]+)?[^`]*`").FindAllStringSubmatch(string(text), -1) {
		seen++
		if !known[m[1]] && !known[m[1]+m[2]] {
			t.Errorf("CHANGELOG.md names %s, which does not exist", m[0])
		}
	}
	if seen < 15 {
		t.Errorf("it names only %d commands", seen)
	}
}
