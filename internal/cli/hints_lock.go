package cli

import "github.com/ryeos/rye/diag"

// lockHints are those of packages lock, bundle and verify.
func lockHints() map[situation]string {
	return map[situation]string{
		{diag.LockStale, "system"}:       "run rye lock, or use the version of rye that wrote the lock",
		{diag.Unresolvable, "user_item"}: "rye load {ref} --to project",
		{diag.PolicyDenied, "replaced"}:  "remove the replacement from rye.yaml and run rye lock, or run without --locked outside CI",
	}
}
