package records

import (
	"strings"

	"github.com/ryeos/rye/internal/project"
	"github.com/ryeos/rye/internal/redact"
)

// Redactor returns a filter that removes the values of keys from all that a thread writes: the
// keys of the providers, and every variable of the environment with the name of a
// secret.
func Redactor(p *project.Project, keys map[string]string) *redact.Filter {
	values := map[string]string{}
	for _, kv := range p.Env.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if secretName(name) {
			values[name] = value
		}
	}
	for name, value := range keys {
		values[name] = value
	}
	return redact.New(values)
}

// secretName reports whether a variable is named like a secret.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	for _, end := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
