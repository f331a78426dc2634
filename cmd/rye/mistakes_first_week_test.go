package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mistakePages are the pages that a newcomer reads in the first week.
var mistakePages = []string{
	"README", "docs/tutorials/getting-started", "docs/tutorials/first-agent",
	"docs/how-to/writing-tools", "docs/how-to/writing-directives-and-knowledge", "docs/how-to/models", "docs/how-to/importing",
	"docs/how-to/mcp-servers", "docs/how-to/mcp", "docs/how-to/releasing", "docs/how-to/sharing-trust", "docs/how-to/ci",
	"docs/how-to/testing-agents", "docs/how-to/permissions",
}

// mistakeQuestions are the questions that a newcomer is asked in the first week, each with a text
// that the terminal shows.
var mistakeQuestions = map[string]string{
	"approval":         " (once), n (no), d (details), ? (help).",
	"graph":            "Release v1?",
	"no model":         "No model is set up. Set one up now? [Y/n] ",
	"setup service":    "Choose, s skips [1]: ",
	"setup address":    "URL, or anthropic, gemini, openai, openrouter; Enter skips: ",
	"setup key":        "Its key, Enter for none (not shown): ",
	"setup model":      "Model, its name or number [",
	"setup passphrase": "Passphrase for your new key",
	"setup first":      "First question, s skips [What is here?]: ",
	"setup completion": "Install completion for bash as ",
	"key passphrase":   "New passphrase: ",
	"key endorse":      "May this key endorse colleagues' keys? [y/N] ",
	"init key":         "You have no key to sign with. Make one now? [Y/n] ",
	"sign passphrase":  "Passphrase of key ",
	"provider login":   "ANTHROPIC_API_KEY (not shown): ",
	"venv":             "Run tools of this project with it? [y/N] ",
	"update":           "Accept these changes? [y/N] ",
	"mcp refresh":      "Accept and sign these changes? [y/N] ",
	"trust accept":     "Accept these documents as a whole? [y/N] ",
	"add trust":        "? [y/N/e(dit)] ",
	"trust add":        "kinds, for example tool,knowledge: ",
	"config set":       "Sign this as ",
	"mcp add":          "Add it and sign an item for each tool? [y/N] ",
	"hook":             "Sign the staged text? [y/N] ",
	"picker":           "2 threads match ",
	"tour":             "Enter: chapter 1, ",
}

// commandWord is a command and its first word, in a mistake and in a page.
var commandWord = regexp.MustCompile(`\b(?:rye|git) ("|'|[a-z-]+)`)

// TestMistakesOfFirstWeek counts the mistakes of each page and of each question. A page has the
// command of its mistakes.
func TestMistakesOfFirstWeek(t *testing.T) {
	pages, questions := map[string]int{}, map[string]int{}
	for verb, all := range mistakes(t) {
		for _, m := range all {
			if m.question != "" {
				questions[m.question]++
			}
			for _, page := range m.pages {
				if !slices.Contains(mistakePages, page) {
					t.Errorf("%s/%s: the page %s is not one of the first week", verb, m.name, page)
					continue
				}
				pages[page]++
				b, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(page)+".md"))
				if err != nil {
					t.Fatal(err)
				}
				if command := commandWord.FindString(m.line); command == "" || !strings.Contains(string(b), command) {
					t.Errorf("%s/%s: %s has no command %q", verb, m.name, page, command)
				}
			}
		}
	}
	for _, page := range mistakePages {
		if pages[page] < 3 {
			t.Errorf("%s has %d mistakes, at least 3 are needed", page, pages[page])
		}
	}
	for question := range mistakeQuestions {
		if questions[question] < 3 {
			t.Errorf("the question %q has %d mistakes, at least 3 are needed", question, questions[question])
		}
	}
	for question := range questions {
		if mistakeQuestions[question] == "" {
			t.Errorf("the question %q has no text", question)
		}
	}
}
