package cli

import "github.com/ryeos/rye/diag"

// registryServerHints are those of operators of registries.
func registryServerHints() map[situation]string {
	return map[situation]string{
		{diag.Conflict, "registry_held"}:             "stop the process that serves {dir}",
		{diag.ConfigError, "no_registry"}:            "rye registry serve --data {dir} --public-url URL creates it",
		{diag.RegistryError, "registry_log_damaged"}: "rye registry admin restore BACKUP --data NEW-DIRECTORY",
		{diag.LimitExceeded, "registry_quota"}:       "wait until the quota is renewed",
		{diag.ValidationFailed, "version_used"}:      "publish the next version",
	}
}
