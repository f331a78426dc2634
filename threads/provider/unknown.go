package provider

import (
	"slices"

	"github.com/ryeos/rye/threads/message"
)

// unknownMembers are members of a message that rye does not know, of dialects whose
// messages arrive in pieces. The zero value has none.
type unknownMembers struct {
	members fields
	texts   map[string]*growing
}

// add collects a member: texts and lists grow, the last of other values counts.
func (u *unknownMembers) add(m field) {
	switch {
	case len(m.value) > 0 && m.value[0] == '"':
		if u.texts == nil {
			u.texts = map[string]*growing{}
		}
		if u.texts[m.key] == nil {
			u.texts[m.key] = &growing{}
		}
		u.texts[m.key].WriteString(unquote(m.value))
		u.members.set(m.key, u.texts[m.key].raw())
	case len(m.value) > 0 && m.value[0] == '[':
		var all [][]byte
		for _, v := range append(elements(u.members.get(m.key)), elements(m.value)...) {
			all = append(all, v)
		}
		if len(all) > 0 {
			u.members.set(m.key, list(all))
		}
	default:
		u.members.set(m.key, slices.Clone(m.value))
	}
}

// block returns the members as a block, and whether there are any.
func (u *unknownMembers) block(origin wire) (message.Block, bool) {
	return origin.mark(
		message.Block{Type: message.Opaque},
		object(u.members...),
	), len(u.members) > 0
}
