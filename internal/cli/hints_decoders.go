package cli

import "github.com/ryeos/rye/diag"

// decodersHints are the hints for fields and values of decoded files.
func decodersHints() map[situation]string {
	return map[situation]string{
		{diag.ValidationFailed, "nearest"}:         "did you mean {nearest}?",
		{diag.ValidationFailed, "allowance_wider"}: "remove the excess: only an item agent/allowance of your user space permits more",
		{diag.ParsingError, "python_syntax"}:       "run python3 -m py_compile {path} to see the error",
	}
}
