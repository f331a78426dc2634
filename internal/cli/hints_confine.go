package cli

import "github.com/ryeos/rye/diag"

// confineHints are those of the sandbox of a run.
func confineHints() map[situation]string {
	return map[situation]string{
		{diag.PolicyDenied, "class_ceiling"}: "ask for less, or declare risk: {needs} in the item",
	}
}
