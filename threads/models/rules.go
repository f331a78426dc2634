package models

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/tree"
)

// RulesConfig is the configuration that Rules are read from.
const RulesConfig = "agent/services"

// Rules are the values of config:agent/services.
type Rules struct {
	remedies []remedy
	failures []failure
	noModel  *regexp.Regexp

	schemaPrompt            string
	textPattern, textPrompt string

	system, answer, call, result string
	answerTokens, callTokens     int64

	window, maxOutput, ollamaWindow int64
	otherModels                     []string

	// Local are addresses of this machine at which servers of models are looked for, and
	// LocalWait is the time for all of them.
	Local     []string
	LocalWait time.Duration
}

// remedy is a change of an item that the text of a refusal asks for.
type remedy struct {
	dialect, purpose string // "": every one
	text             *regexp.Regexp
	effect           string
	fields           []string
	note             string
}

// failure is the meaning of a failure that no change of the item repairs.
type failure struct {
	statuses []int          // empty: every status
	text     *regexp.Regexp // nil: every text
	meaning  string
}

// ReadRules reads the merged values of config:agent/services.
func ReadRules(root map[string]any) (*Rules, error) {
	top := tree.NewReader(&tree.Doc{Root: root}, diag.ConfigError)
	rules := &Rules{
		noModel:     pattern(top, "no_model"),
		otherModels: top.Texts("other_models", nil),
	}
	for _, r := range top.Maps("remedies") {
		rules.remedies = append(rules.remedies, remedy{
			dialect: r.Text("dialect"),
			purpose: r.Text("purpose"),
			text:    pattern(r, "text"),
			effect:  r.Text("effect"),
			fields:  r.Texts("fields", nil),
			note:    r.Text("note"),
		})
	}
	for _, r := range top.Maps("failures") {
		f := failure{meaning: r.Text("meaning")}
		if r.Has("text") {
			f.text = pattern(r, "text")
		}
		statuses, _ := r.Value("statuses").([]any)
		for _, v := range statuses {
			if n, isInt := v.(int64); isInt {
				f.statuses = append(f.statuses, int(n))
			}
		}
		rules.failures = append(rules.failures, f)
	}
	tools := top.Map("tools")
	rules.schemaPrompt = tools.Map("schema").Text("prompt")
	rules.textPattern = tools.Map("text").Text("pattern")
	rules.textPrompt = tools.Map("text").Text("prompt")
	test := top.Map("test")
	rules.system = test.Text("system")
	rules.answer = test.Text("answer")
	rules.call = test.Text("call")
	rules.result = test.Text("result")
	rules.answerTokens = test.Int("answer_tokens", 64, 1, math.MaxInt32)
	rules.callTokens = test.Int("call_tokens", 512, 1, math.MaxInt32)
	sizes := top.Map("sizes")
	rules.window = sizes.Int("window", 32_768, 1, math.MaxInt32)
	rules.maxOutput = sizes.Int("max_output", 8192, 1, math.MaxInt32)
	rules.ollamaWindow = sizes.Int("ollama_window", 32_768, 1, math.MaxInt32)
	local := top.Map("local")
	rules.Local = local.Texts("urls", nil)
	rules.LocalWait = time.Duration(local.Int("wait_ms", 300, 1, 60_000)) * time.Millisecond
	return rules, diag.FromFindings("reading config:"+RulesConfig, top.Findings())
}

// pattern reads a regular expression. One that is not valid is a finding, and matches
// nothing.
func pattern(r *tree.Reader, key string) *regexp.Regexp {
	re, err := regexp.Compile(r.Text(key))
	if err != nil || r.Text(key) == "" {
		r.Reject(key, "is not a regular expression (RE2)")
		return regexp.MustCompile(`$^`)
	}
	return re
}

// means returns the meaning of a failure, "" if no row fits.
func (r *Rules) means(status int, text string) string {
	for _, f := range r.failures {
		if len(f.statuses) > 0 && !slices.Contains(f.statuses, status) ||
			f.text != nil && !f.text.MatchString(text) {
			continue
		}
		return f.meaning
	}
	return ""
}

// answersMessages reports whether a model with a name answers to messages.
func (r *Rules) answersMessages(id string) bool {
	lower := strings.ToLower(id)
	return !slices.ContainsFunc(r.otherModels, func(word string) bool {
		return strings.Contains(lower, word)
	})
}
