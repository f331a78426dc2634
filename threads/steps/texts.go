package steps

import (
	"context"
	"strings"

	"github.com/ryeos/rye/diag"
)

// text returns a text of config:agent/agent that the model reads, with its {names}
// filled in. A value is not a template again.
func text(ctx context.Context, s Services, name string, values ...string) (string, error) {
	root, err := s.Config(ctx, AgentConfig)
	if err != nil {
		return "", err
	}
	texts, _ := root["texts"].(map[string]any)
	return fill(texts, name, values...)
}

func fill(texts map[string]any, name string, values ...string) (string, error) {
	t, ok := texts[name].(string)
	if !ok {
		return "", diag.New(diag.ConfigError, "reading config:%s: texts.%s is missing", AgentConfig, name)
	}
	pairs := make([]string, len(values))
	for i, v := range values {
		if pairs[i] = v; i%2 == 0 {
			pairs[i] = "{" + v + "}"
		}
	}
	return strings.NewReplacer(pairs...).Replace(t), nil
}
