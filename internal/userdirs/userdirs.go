// Package userdirs returns the directories of a user's files of rye:
// configuration, data, state and cache, after the XDG rules on Unix (macOS
// included) and %AppData% on Windows.
//
// It computes names only. It does not access the disk and uses no environment
// but the one passed in.
package userdirs

import "strings"

// App is the name of rye's directory in each base directory.
const App = "rye"

// Dirs are rye's own directories. A field is "" if the environment does not name
// it; nothing may be written then.
type Dirs struct {
	Config string // settings and trust documents
	Data   string // keys
	State  string // logs, ledgers, audit
	Cache  string // what may be deleted at any time
}

// For returns the directories that the environment and the operating system (a
// GOOS value) name. A nil getenv has no variables.
func For(getenv func(string) string, goos string) Dirs {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	if goos == "windows" {
		return windows(getenv)
	}
	return xdg(getenv)
}

// Trust is the directory of the user's trust documents, "" when unknown.
func (d Dirs) Trust() string {
	return below(d.Config, "trust")
}

// Account is the directory with the logs of threads that belong to no project, "" when
// unknown.
func (d Dirs) Account() string {
	return below(d.State, "account")
}

// Keys is the directory of the user's key files, "" when unknown.
func (d Dirs) Keys() string {
	return below(d.Data, "keys")
}

func xdg(getenv func(string) string) Dirs {
	home := abs(getenv("HOME"))
	base := func(env, fallback string) string {
		if dir := abs(getenv(env)); dir != "" { // the XDG rules: relative values are ignored
			return join("/", dir, App)
		}
		if home == "" {
			return ""
		}
		return join("/", home, fallback, App)
	}
	return Dirs{
		Config: base("XDG_CONFIG_HOME", ".config"),
		Data:   base("XDG_DATA_HOME", ".local/share"),
		State:  base("XDG_STATE_HOME", ".local/state"),
		Cache:  base("XDG_CACHE_HOME", ".cache"),
	}
}

func abs(dir string) string {
	if !strings.HasPrefix(dir, "/") {
		return ""
	}
	return dir
}

func windows(getenv func(string) string) Dirs {
	profile := absWindows(getenv("USERPROFILE"))
	base := func(env, fallback string) string {
		if dir := absWindows(getenv(env)); dir != "" {
			return dir
		}
		if profile == "" {
			return ""
		}
		return join(`\`, profile, "AppData", fallback)
	}
	roaming := base("AppData", "Roaming")
	local := base("LocalAppData", "Local")
	return Dirs{
		Config: windowsBelow(roaming, "config"),
		Data:   windowsBelow(roaming, "data"),
		State:  windowsBelow(local, "state"),
		Cache:  windowsBelow(local, "cache"),
	}
}

func windowsBelow(base, name string) string {
	if base == "" {
		return ""
	}
	return join(`\`, base, App, name)
}

// absWindows accepts C:\dir and \\server\share, nothing relative.
func absWindows(dir string) string {
	drive := len(dir) >= 3 && dir[1] == ':' && isSlash(dir[2])
	share := len(dir) >= 3 && isSlash(dir[0]) && isSlash(dir[1])
	if !drive && !share {
		return ""
	}
	return dir
}

func isSlash(c byte) bool {
	return c == '\\' || c == '/'
}

func below(dir, name string) string {
	if dir == "" {
		return ""
	}
	sep := "/"
	if !strings.HasPrefix(dir, "/") {
		sep = `\`
	}
	return join(sep, dir, name)
}

func join(sep string, parts ...string) string {
	out := strings.TrimRight(parts[0], sep)
	for _, p := range parts[1:] {
		out += sep + p
	}
	return out
}
