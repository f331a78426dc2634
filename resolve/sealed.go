package resolve

import (
	"strings"

	"github.com/ryeos/rye/item"
	"github.com/ryeos/rye/resolve/space"
)

// Seal is one item, or a directory ending in "/", that resolves from the embedded
// bundle only, and the reason.
type Seal struct {
	Ref    string
	Reason string
}

// Seals returns the sealed items. docs/dev/design/sealed.md has the same list; a test
// compares them.
func Seals() []Seal {
	return []Seal{
		{"tool:rye/core/primitives/", "a primitive is kernel code: an override could name it, not replace it, and would only mislead"},
		{"tool:rye/core/runtimes/rye_applet_runtime", "it starts this very binary: an override would run another program under its name"},
		{"tool:rye/core/runtimes/native_step_runtime", "it calls kernel steps in this process"},
	}
}

func sealed(ref item.Ref) bool {
	if ref.Kind != item.Tool || !strings.HasPrefix(ref.ID, "rye/core/") {
		return false
	}
	name := ref.String()
	for _, s := range Seals() {
		if name == s.Ref ||
			strings.HasSuffix(s.Ref, "/") && strings.HasPrefix(name, s.Ref) {
			return true
		}
	}
	return false
}

// supplies reports whether a file in root may be the item.
func supplies(root *space.Root, ref item.Ref) bool {
	return root.Embedded() || !sealed(ref) && root.Provides(ref)
}

// Sealed reports whether only the embedded bundle may supply ref.
func Sealed(ref item.Ref) bool {
	return sealed(ref)
}
