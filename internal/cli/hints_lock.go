package cli

import "github.com/ryeos/rye/diag"

// lockHints are those of packages lock, bundle and verify.
func lockHints() map[situation]string {
	return map[situation]string{
		{diag.PolicyDenied, "replaced"}: "remove the replacement from rye.yaml and run rye lock, or run without --locked outside CI",
	}
}
