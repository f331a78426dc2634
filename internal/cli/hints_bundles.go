package cli

import "github.com/ryeos/rye/diag"

// bundleHints are those of the commands for own bundles.
func bundleHints() map[situation]string {
	return map[situation]string{
		{diag.Unsigned, "not_committed"}: "commit the changes that `git status` lists: a user gets the commit",
		{diag.ItemNotFound, "no_bundle"}: "rye bundle list, or make one with rye bundle create {id}",
		{diag.Usage, "publishers"}:       "rye bundle publisher",
	}
}
