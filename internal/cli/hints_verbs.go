package cli

import "github.com/ryeos/rye/diag"

// verbHints are the hints of the commands themselves.
func verbHints() map[situation]string {
	return map[situation]string{
		{diag.ItemNotFound, "kinds"}: "the kinds are {kinds}",
		{diag.Usage, "print"}:        "add --print to print the directive with its inputs",
		{diag.Usage, "sign_nothing"}: "rye sign '*' signs every item of the project",
	}
}
