package models

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/ryeos/rye/threads/provider"
)

// number is a count that services write as a number or as a text.
type number int64

// UnmarshalJSON takes what is not a count as 0: a list is not lost for one value.
func (n *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err == nil && f > 0 && f < 1<<31 {
		*n = number(f)
	}
	return nil
}

// listed is one model in the lists of the services, with the members of all of them.
type listed struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Type        string `json:"type"`
	Object      string `json:"object"`
	OwnedBy     string `json:"owned_by"`
	DisplayName string `json:"display_name"`

	MaxModelLen   number          `json:"max_model_len"`         // vLLM, SGLang
	ContextLength number          `json:"context_length"`        // OpenRouter, Together
	ContextWindow number          `json:"context_window"`        // Groq
	MaxContext    number          `json:"max_context_length"`    // LM Studio, Mistral
	LoadedContext number          `json:"loaded_context_length"` // LM Studio
	MaxInput      number          `json:"max_input_tokens"`      // Anthropic
	InputLimit    number          `json:"inputTokenLimit"`       // Gemini
	OutputLimit   number          `json:"outputTokenLimit"`      // Gemini
	MaxCompletion number          `json:"max_completion_tokens"` // Groq
	MaxOutput     number          `json:"max_output_tokens"`
	MaxTokens     number          `json:"max_tokens"` // Anthropic: of an answer
	MethodsRaw    json.RawMessage `json:"supportedGenerationMethods"`

	Meta struct {
		Context number `json:"n_ctx"`       // llama.cpp
		Train   number `json:"n_ctx_train"` // llama.cpp
	} `json:"meta"`
	Top struct {
		MaxCompletion number `json:"max_completion_tokens"`
		Context       number `json:"context_length"`
	} `json:"top_provider"`
	Architecture struct {
		Inputs  []string `json:"input_modalities"`
		Outputs []string `json:"output_modalities"`
	} `json:"architecture"`
	Parameters []string `json:"supported_parameters"`
	Pricing    struct {
		Prompt     json.RawMessage `json:"prompt"`
		Completion json.RawMessage `json:"completion"`
		CacheRead  json.RawMessage `json:"input_cache_read"`
	} `json:"pricing"`
}

// list is what a service answered to a request for its models.
type list struct {
	dialect string // by the form of the list; "" if it is of the form of OpenAI
	models  []Model
}

// readList reads a list of models. ok is false for anything else.
func readList(body []byte) (out list, ok bool) {
	var doc struct {
		Object string          `json:"object"`
		Data   json.RawMessage `json:"data"`
		Models json.RawMessage `json:"models"`
	}
	body = bytes.TrimSpace(body)
	if bytes.HasPrefix(body, []byte("[")) { // some servers send the bare list
		doc.Data = body
	} else if json.Unmarshal(body, &doc) != nil {
		return out, false
	}
	var data, models []json.RawMessage
	isData := json.Unmarshal(doc.Data, &data) == nil && doc.Data != nil
	isModels := json.Unmarshal(doc.Models, &models) == nil && doc.Models != nil
	if !isData && !isModels {
		return out, false
	}
	if !isData {
		data = models
	}
	seen := map[string]bool{}
	for _, raw := range data {
		var l listed
		if json.Unmarshal(raw, &l) != nil {
			// One member of an unexpected type: the id is enough.
			var only struct {
				ID string `json:"id"`
			}
			if json.Unmarshal(raw, &only) != nil {
				continue
			}
			l = listed{ID: only.ID}
		}
		m := l.model()
		if m.ID == "" ||
			seen[m.ID] ||
			strings.ContainsFunc(m.ID, func(r rune) bool { return r < ' ' }) {
			continue
		}
		seen[m.ID] = true
		out.models = append(out.models, m)
		switch {
		case strings.HasPrefix(l.Name, "models/") && l.ID == "":
			out.dialect = provider.Gemini
		case l.Type == "model" && l.Object == "":
			out.dialect = provider.Anthropic
		}
	}
	return out, true
}

// model returns a model as its service describes it.
func (l *listed) model() Model {
	id := l.ID
	if id == "" {
		id = strings.TrimPrefix(l.Name, "models/")
	}
	m := Model{
		ID: id,
		Window: first(
			l.LoadedContext,
			l.MaxModelLen,
			l.Top.Context,
			l.ContextLength,
			l.ContextWindow,
			l.MaxContext,
			l.Meta.Context,
			l.MaxInput,
			l.InputLimit,
		),
		MaxOutput:  first(l.Top.MaxCompletion, l.MaxCompletion, l.MaxOutput, l.OutputLimit, l.MaxTokens),
		Images:     slices.Contains(l.Architecture.Inputs, "image"),
		Input:      perMillion(l.Pricing.Prompt),
		CacheRead:  perMillion(l.Pricing.CacheRead),
		Output:     perMillion(l.Pricing.Completion),
		NoTools:    len(l.Parameters) > 0 && !slices.Contains(l.Parameters, "tools"),
		Chats:      !otherPurpose(l),
		ownedBy:    l.OwnedBy,
		trainedFor: int64(l.Meta.Train),
	}
	if m.Input == "" || m.Output == "" {
		m.Input = ""
		m.CacheRead = ""
		m.Output = ""
	}
	return m
}

// otherPurpose reports whether a model is not one that answers to messages.
func otherPurpose(l *listed) bool {
	if l.Type == "embeddings" || l.Type == "embedding" || l.Type == "rerank" {
		return true
	}
	methods := string(l.MethodsRaw)
	if methods != "" && !strings.Contains(methods, "generateContent") {
		return true
	}
	outputs := l.Architecture.Outputs
	if len(outputs) > 0 && !slices.Contains(outputs, "text") {
		return true
	}
	return false
}

func first(list ...number) int64 {
	for _, n := range list {
		if n > 0 {
			return int64(n)
		}
	}
	return 0
}

// perMillion converts USD for a token to USD for a million tokens, rounded up to the
// precision of items; "" if it is not such a price.
func perMillion(raw json.RawMessage) string {
	text := strings.Trim(string(raw), `"`)
	r, isNumber := new(big.Rat).SetString(text)
	if !isNumber || r.Sign() < 0 || len(text) > 40 {
		return ""
	}
	millionths := r.Mul(r, big.NewRat(1_000_000_000_000, 1))
	n := new(big.Int).Quo(millionths.Num(), millionths.Denom())
	if new(big.Rat).SetInt(n).Cmp(millionths) < 0 {
		n.Add(n, big.NewInt(1)) // never cheaper than stated
	}
	whole, rest := new(big.Int).QuoRem(
		n,
		big.NewInt(1_000_000),
		new(big.Int),
	)
	if len(whole.String()) > 6 {
		return ""
	}
	if rest.Sign() == 0 {
		return whole.String()
	}
	fraction := rest.String()
	fraction = strings.Repeat("0", 6-len(fraction)) + fraction
	return whole.String() + "." + strings.TrimRight(fraction, "0")
}

// readTags reads the list of models of Ollama.
func readTags(body []byte) (out []Model, ok bool) {
	var doc struct {
		Models []struct {
			Name  string `json:"name"`
			Model string `json:"model"`
		} `json:"models"`
	}
	if json.Unmarshal(body, &doc) != nil || doc.Models == nil {
		return nil, false
	}
	for _, m := range doc.Models {
		id := m.Name
		if id == "" {
			id = m.Model
		}
		if id != "" {
			out = append(out, Model{ID: id, Chats: true})
		}
	}
	return out, true
}

// readShow adds what Ollama states about one model.
func readShow(body []byte, m *Model) {
	var doc struct {
		Parameters   string                     `json:"parameters"`
		Capabilities []string                   `json:"capabilities"`
		Info         map[string]json.RawMessage `json:"model_info"`
	}
	if json.Unmarshal(body, &doc) != nil {
		return
	}
	for key, raw := range doc.Info {
		var n number
		if strings.HasSuffix(key, ".context_length") &&
			json.Unmarshal(raw, &n) == nil &&
			n > 0 {
			m.Window = int64(n)
		}
	}
	// The number that the owner of the model chose: the machine may not have the memory
	// for more.
	fields := strings.Fields(doc.Parameters)
	for i, word := range fields {
		if word == "num_ctx" && i+1 < len(fields) {
			n, err := strconv.ParseInt(fields[i+1], 10, 32)
			if err == nil && n > 0 {
				m.Window = n
			}
		}
	}
	if len(doc.Capabilities) > 0 {
		m.NoTools = !slices.Contains(doc.Capabilities, "tools")
		m.Images = slices.Contains(doc.Capabilities, "vision")
	}
}

// readProps adds what llama.cpp states about the model that it has loaded.
func readProps(body []byte, m *Model) bool {
	var doc struct {
		Default struct {
			Context number `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Modalities struct {
			Vision bool `json:"vision"`
		} `json:"modalities"`
	}
	if json.Unmarshal(body, &doc) != nil || doc.Default.Context == 0 {
		return false
	}
	m.Window = int64(doc.Default.Context)
	m.Images = m.Images || doc.Modalities.Vision
	return true
}
