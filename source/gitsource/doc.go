// Package gitsource fetches bundles from git remotes, by go-git or by the git
// command, behind one Remote interface.
//
// It streams objects into a bare store and never checks anything out. It
// decides nothing about versions, trust or installation, and project
// repositories are not its business.
package gitsource

import _ "github.com/go-git/go-git/v5"
