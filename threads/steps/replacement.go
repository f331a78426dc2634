package steps

import (
	"strconv"
	"strings"

	"github.com/ryeos/rye/internal/cuttext"
	"github.com/ryeos/rye/item"
)

// Replaced is what a model reads in place of turns.
// The reasoning of turns that stay does too: the model and the service are the same.
type Replaced struct {
	Directive string // that summarized
	Summary   string
	Failed    string   // why there is no summary
	Persons   []string // messages of persons that stay
	Artifact  string   // that has the turns
	Lines     int64    // of the artifact
}

// Replacement returns the text: texts of config:agent/agent, and the summary in a fence, as
// context has one.
func Replacement(agent map[string]any, r Replaced) (string, error) {
	texts, _ := agent["texts"].(map[string]any)
	fenced := func(source, trust, text string) string {
		return fence(source, item.DigestOf([]byte(text)).String(), trust, text)
	}
	var parts []string
	intro, err := fill(texts, "summary")
	if r.Failed != "" {
		intro, err = fill(texts, "summary_failed", "reason", r.Failed)
	}
	if err != nil {
		return "", err
	}
	parts = append(parts, intro)
	if r.Failed == "" {
		parts = append(parts, fenced("directive:"+r.Directive, "model", r.Summary))
	}
	if len(r.Persons) > 0 {
		persons, err := fill(texts, "summary_persons")
		if err != nil {
			return "", err
		}
		parts = append(parts, persons)
		for _, text := range r.Persons {
			parts = append(parts, fenced("person", "person", text))
		}
	}
	whole, err := fill(
		texts,
		"summary_whole",
		"lines",
		strconv.FormatInt(r.Lines, 10),
		"call",
		artifactCall(r.Artifact),
	)
	return strings.Join(append(parts, whole), "\n"), err
}

// artifactCall is the call that reads the beginning of an artifact.
func artifactCall(id string) string {
	return ArtifactTool + ` {"id":"` + id + `","limit":200,"offset":0}`
}

// ArtifactLines returns a text in lines that can be read one by one.
func ArtifactLines(text string) string {
	wrapped, _ := cuttext.Wrap(text, artifactWidth)
	return wrapped
}
