package threads

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/internal/suggest"
	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/policy"
)

// offered returns the tool of a name, or what the model reads about a name that it
// invented.
func (t *Thread) offered(name string) (Offered, string) {
	var names []string
	if t.prompt != nil {
		for _, o := range t.prompt.Tools {
			if o.Name == name {
				return o, ""
			}
			names = append(names, o.Name)
		}
	}
	return Offered{}, t.notOffered(name, names)
}

// notOffered returns the message to a model about a name that no tool has: the name of
// the tool that it means, or the call that runs or finds it.
func (t *Thread) notOffered(name string, names []string) string {
	text := "the tool " + name + " does not exist"
	id := strings.ReplaceAll(strings.TrimPrefix(name, "tool:"), "__", "/")
	for _, o := range t.promptTools() {
		if strings.TrimPrefix(o.Ref, "tool:") == id && id != "" {
			return text + "; call " + o.Name
		}
	}
	if near := nearest(name, id, names); near != "" {
		return text + "; did you mean " + near + "?"
	}
	execute := "rye_" + string(policy.Execute)
	search := "rye_" + string(policy.Search)
	switch {
	case strings.Contains(id, "/") && item.CheckID(id) == nil && slices.Contains(names, execute):
		call, _ := jsonx.Marshal(map[string]any{"item_type": "tool", "item_id": id, "parameters": map[string]any{}}) // texts
		text += "; if the item does, call " + execute + " " + string(call) + " with its parameters"
	case slices.Contains(names, search):
		call, _ := jsonx.Marshal(map[string]any{"query": strings.NewReplacer("_", " ", "-", " ", "/", " ").Replace(id), "scope": "tool"}) // texts
		text += "; find the item with " + search + " " + string(call)
		if slices.Contains(names, execute) {
			text += " and run it with " + execute
		}
	}
	return text + "; the tools are " + strings.Join(names, ", ")
}

// promptTools returns the tools that the model was offered.
// The prompt of the modes text and schema is tools.prompt of the item, because a project may
// want to change it.
func (t *Thread) promptTools() []Offered {
	if t.prompt == nil {
		return nil
	}
	return t.prompt.Tools
}

// nearest returns the tool that a model means by a name, "" if none is near: the name itself
// is misspelled, or it is the last part of a tool's name.
func nearest(name, id string, names []string) string {
	if near := suggest.Nearest(name, names); near != "" {
		return near
	}
	last := strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	for _, n := range names {
		i := strings.LastIndex(n, "__")
		if i >= 0 && n[i+2:] == last {
			return n
		}
	}
	return withWords(name, names)
}

// withWords returns the only tool whose name has all words of another name: read_file and
// ReadFile mean rye__file-system__read, and execute means rye_execute.
func withWords(name string, names []string) string {
	asked := wordsOf(name)
	found := ""
	for _, n := range names {
		has := wordsOf(n)
		if len(asked) == 0 ||
			slices.ContainsFunc(asked, func(w string) bool { return !slices.Contains(has, w) }) {
			continue
		}
		if found != "" {
			return ""
		}
		found = n
	}
	return found
}

// wordsOf returns the words of a name in lower case.
func wordsOf(name string) []string {
	spaced := camelCase().ReplaceAllString(name, "$1 $2")
	return strings.FieldsFunc(strings.ToLower(spaced), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

var camelCase = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\p{Ll})(\p{Lu})`)
})
