// Package config has the commands for the configuration: rye config.
//
// It does not merge settings of layers itself.
package config
