package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// questions are questions as a person types them, each with the documents that
// answer it. They were written from the documents, before any search. Weights were
// set with tuning.txt and paraphrased.txt. The questions of paraphrased.txt have few
// words of their answers.
//
//go:embed quality/*.txt
var questions embed.FS

// sources are the modules whose documentation is searched, with the directories
// that are left out: generated references, and copies of other pages.
func sources() []source {
	return []source{
		{"telegraf", "github.com/influxdata/telegraf@v1.37.2", nil},
		{"rclone", "github.com/rclone/rclone@v1.68.2", []string{"MANUAL.md", "cmd", "vfs"}},
		{"traefik", "github.com/traefik/traefik/v3@v3.1.0", nil},
		{"argocd", "github.com/argoproj/argo-cd/v2@v2.12.0", nil},
		{"opa", "github.com/open-policy-agent/opa@v0.68.0", nil},
		{"workflows", "github.com/argoproj/argo-workflows/v3@v3.5.10", []string{"sdks"}},
	}
}

type source struct {
	name, module string
	without      []string
}

// page is one document of the corpus.
type page struct{ id, title, body string }

// text is what the references index: the same words as rye.
func (p page) text() string {
	return strings.Join(
		[]string{strings.NewReplacer("/", " ", "_", " ", "-", " ").Replace(p.id), p.title, p.body},
		"\n",
	)
}

const (
	minPage = 300     // bytes
	maxPage = 1 << 19 // bytes
	depth   = 50      // hits that are compared
)

// quality compares the order of the hits of rye search with SQLite FTS5 and with
// plain BM25, over the same documents.
func (b *bench) quality() error {
	pages, err := allPages()
	if err != nil {
		return err
	}
	dir := filepath.Join(b.work, "quality")
	for _, p := range pages {
		if err := p.write(dir); err != nil {
			return err
		}
	}
	fmt.Printf("\n%d documents\n\n| questions | engine | first | first five | not in %d | MRR |\n|---|---|---|---|---|---|\n", len(pages), depth)
	for _, set := range []string{"tuning", "heldout", "paraphrased"} {
		asked, err := readQuestions(set, pages)
		if err != nil {
			return err
		}
		for _, e := range []engine{{"rye search", b.askRye(dir)}, {"FTS5, OR", b.askFTS(pages, "unicode61")}, {"FTS5 with stems, OR", b.askFTS(pages, "porter unicode61")}, {"BM25, OR", askBM25(pages)}} {
			if err := e.compare(set, asked); err != nil {
				return err
			}
		}
	}
	return nil
}

// allPages reads the documentation of the modules.
func allPages() (out []page, err error) {
	for _, s := range sources() {
		pages, err := s.pages()
		if err != nil {
			return nil, err
		}
		out = append(out, pages...)
	}
	return out, nil
}

func (s source) pages() (out []page, err error) {
	dir, err := s.download()
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		skip := slices.Contains(s.without, rel) ||
			slices.Contains([]string{"vendor", "node_modules", "testdata"}, d.Name()) ||
			rel != "." && d.Name()[0] == '.'
		switch {
		case d.IsDir() && skip:
			return fs.SkipDir
		case d.IsDir() || skip || path.Ext(rel) != ".md" || strings.HasPrefix(strings.ToLower(d.Name()), "changelog"):
			return nil
		}
		b, err := os.ReadFile(file)
		if err != nil || len(b) < minPage || len(b) > maxPage {
			return err
		}
		p := newPage(s.name+"/"+rel, string(b))
		if !ids[p.id] {
			ids[p.id] = true
			out = append(out, p)
		}
		return nil
	})
	return out, err
}

// download returns the directory of a module's files.
func (s source) download() (string, error) {
	cmd := exec.Command("go", "mod", "download", "-json", s.module)
	cmd.Dir = os.TempDir() // outside of this module
	out, err := cmd.Output()
	var got struct{ Dir, Error string }
	jsonErr := json.Unmarshal(out, &got)
	if jsonErr != nil || got.Dir == "" {
		return "", fmt.Errorf("downloading %s: %s: %w", s.module, got.Error, errors.Join(err, jsonErr))
	}
	return got.Dir, nil
}

// newPage splits a file into its title and its text, without front matter.
func newPage(rel, text string) page {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "")
	title := ""
	if rest, ok := strings.CutPrefix(text, "---\n"); ok {
		if front, body, ok := strings.Cut(rest, "\n---\n"); ok {
			text = body
			if m := regexp.MustCompile(`(?m)^title: *["']?(.*?)["']?$`).FindStringSubmatch(front); m != nil {
				title = m[1]
			}
		}
	}
	m := regexp.MustCompile(`(?m)^#+ +(.+)$`).FindStringSubmatch(text)
	if title == "" && m != nil {
		title = m[1]
	}
	id := strings.TrimSuffix(strings.ToLower(rel), ".md")
	id = strings.TrimSuffix(strings.TrimSuffix(id, "/readme"), "/index")
	return page{id: regexp.MustCompile(`[^a-z0-9_/-]|/-+`).ReplaceAllStringFunc(id, func(s string) string {
		if s[0] == '/' {
			return "/"
		}
		return "_"
	}), title: title, body: text}
}

// write writes a page as a knowledge item.
func (p page) write(dir string) error {
	title, err := json.Marshal(strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, p.title))
	if err != nil {
		return err
	}
	file := filepath.Join(dir, ".ai", "knowledge", filepath.FromSlash(p.id)+".md")
	err = os.MkdirAll(filepath.Dir(file), 0o755)
	if err != nil {
		return err
	}
	return os.WriteFile(file, fmt.Appendf(nil, "---\ntitle: %s\nversion: 1.0.0\n---\n\n%s", title, p.body), 0o644)
}

// question is a query with the ids that answer it.
type question struct {
	text    string
	answers []string
}

func readQuestions(set string, pages []page) (out []question, err error) {
	b, err := questions.ReadFile("quality/" + set + ".txt")
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, p := range pages {
		known[p.id] = true
	}
	for line := range strings.Lines(string(b)) {
		text, ids, ok := strings.Cut(strings.TrimSpace(line), "\t")
		q := question{text, strings.Fields(ids)}
		for _, id := range q.answers {
			if !known[id] {
				return nil, fmt.Errorf("%s: there is no document %s", set, id)
			}
		}
		if ok {
			out = append(out, q)
		}
	}
	return out, nil
}

// engine answers each question with the ids of its best documents.
type engine struct {
	name string
	ask  func(all []question) ([][]string, error)
}

// compare prints how many answers are first, among the first five, or missing.
func (e engine) compare(set string, all []question) error {
	hits, err := e.ask(all)
	if err != nil {
		return fmt.Errorf("%s: %w", e.name, err)
	}
	if hits == nil {
		fmt.Printf("| %s, %d | %s | not available | | | |\n", set, len(all), e.name)
		return nil
	}
	first := 0
	five := 0
	none := 0
	sum := 0.0
	for i, q := range all {
		at := slices.IndexFunc(hits[i], func(id string) bool {
			return slices.Contains(q.answers, id)
		})
		switch {
		case at < 0:
			none++
			continue
		case at == 0:
			first++
		}
		if at < 5 {
			five++
		}
		sum += 1 / float64(at+1)
	}
	fmt.Printf(
		"| %s, %d | %s | %d | %d | %d | %.3f |\n",
		set,
		len(all),
		e.name,
		first,
		five,
		none,
		sum/float64(len(all)),
	)
	return nil
}

// askRye asks with the rye program.
func (b *bench) askRye(dir string) func([]question) ([][]string, error) {
	return func(all []question) (out [][]string, err error) {
		for _, q := range all {
			p := b.program(
				dir,
				b.rye,
				"search",
				"--space",
				"project",
				"--limit",
				fmt.Sprint(depth),
				"--json",
				q.text,
			)
			cmd := exec.Command(p.argv[0], p.argv[1:]...)
			cmd.Dir = p.dir
			cmd.Env = p.env
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			text, err := cmd.Output()
			if err != nil {
				return nil, fmt.Errorf("%w: %s%s", err, stderr.Bytes(), text)
			}
			var got struct {
				Data struct{ Results []struct{ ID string } }
			}
			if err := json.Unmarshal(text, &got); err != nil {
				return nil, err
			}
			ids := []string{}
			for _, h := range got.Data.Results {
				ids = append(ids, h.ID)
			}
			out = append(out, ids)
		}
		return out, nil
	}
}
