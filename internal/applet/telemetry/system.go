package telemetry

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/ryeos/rye/internal/applet/files"
	"github.com/ryeos/rye/internal/applet/wire"
)

type systemResult struct {
	Success bool           `json:"success"`
	Item    string         `json:"item"`
	Data    map[string]any `json:"data"`
}

// runSystem returns the paths that rye uses, the time and the platform.
func runSystem(_ context.Context, p wire.Params, in map[string]any) (any, error) {
	a := wire.NewArgs(in, "item")
	item := a.String("item", "all")
	parts := map[string]func(wire.Params) (map[string]any, error){"paths": systemPaths, "time": systemTime, "runtime": systemRuntime}
	if parts[item] == nil && item != "all" {
		a.Reject("item", "must be paths, time, runtime or all, not %q", item)
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	r := systemResult{Success: true, Item: item, Data: map[string]any{}}
	for name, part := range parts {
		if item != name && item != "all" {
			continue
		}
		data, err := part(p)
		if err != nil {
			return nil, err
		}
		r.Data[name] = data
	}
	return r, nil
}

func systemPaths(p wire.Params) (map[string]any, error) {
	project, err := files.Dir(p)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"project_path": project, "system_space": "embedded", "user_space_exists": false}
	if dir := userSpace(p); dir != "" {
		info, err := os.Stat(filepath.Join(dir, ".ai"))
		out["user_space"] = dir
		out["user_space_exists"] = err == nil && info.IsDir()
	}
	if dir := p.Getenv("RYE_SYSTEM_SPACE"); dir != "" {
		out["system_space"] = dir
	}
	if home := homeDir(p); home != "" {
		out["home_dir"] = home
	}
	if cwd, err := os.Getwd(); err == nil {
		out["cwd"] = cwd
	}
	return out, nil
}

// userSpace returns the directory of the user's .ai, "" if unknown.
func userSpace(p wire.Params) string {
	for _, name := range []string{"RYE_USER_SPACE", "USER_SPACE", "USER_PATH"} {
		if dir := p.Getenv(name); dir != "" {
			return dir
		}
	}
	return homeDir(p)
}

func homeDir(p wire.Params) string {
	if runtime.GOOS == "windows" {
		return p.Getenv("USERPROFILE")
	}
	return p.Getenv("HOME")
}

func systemTime(p wire.Params) (map[string]any, error) {
	now := p.Now()
	utc := now.UTC()
	return map[string]any{
		"utc_iso":       utc.Format(time.RFC3339),
		"utc_timestamp": utc.Unix(),
		"local_time":    now.Format(time.RFC3339),
		"timezone":      now.Format("MST -07:00"),
	}, nil
}

func systemRuntime(p wire.Params) (map[string]any, error) {
	return map[string]any{
		"platform":    runtime.GOOS,
		"arch":        runtime.GOARCH,
		"cpus":        runtime.NumCPU(),
		"rye_version": ryeVersion(p),
		"go_version":  runtime.Version(),
	}, nil
}

func ryeVersion(p wire.Params) string {
	if p.Version != "" {
		return p.Version
	}
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
