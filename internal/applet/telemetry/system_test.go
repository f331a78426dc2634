package telemetry

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/ryeos/rye/internal/testing/wiretest"
)

func TestSystem(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("RYE_USER_SPACE", "")
	t.Setenv("USER_SPACE", "")
	t.Setenv("USER_PATH", "")
	t.Setenv("SECRET_TOKEN", "hunter2hunter2")
	dir := t.TempDir()
	wiretest.Put(t, home, ".ai/x", "")
	got, exit := run(t, dir, "system", obj{})
	if exit != 0 {
		t.Fatal(got)
	}
	data := got["data"].(obj)
	paths, clock, rt := data["paths"].(obj), data["time"].(obj), data["runtime"].(obj)
	if paths["project_path"] != dir || paths["user_space"] != home || paths["user_space_exists"] != true {
		t.Errorf("paths %v", paths)
	}
	if clock["utc_iso"] != "2026-02-02T02:40:00Z" || clock["utc_timestamp"] != float64(1_770_000_000) {
		t.Errorf("time %v", clock)
	}
	if rt["platform"] == "" || rt["arch"] == "" || rt["rye_version"] == "" {
		t.Errorf("runtime %v", rt)
	}
	if all, _ := json.Marshal(got); bytes.Contains(all, []byte("hunter2")) || bytes.Contains(all, []byte("SECRET_TOKEN")) {
		t.Errorf("the environment leaks: %s", all)
	}
	one := ok(t, dir, "system", obj{"item": "time"})["data"].(obj)
	if len(one) != 1 || one["time"] == nil {
		t.Errorf("item time gives %v", one)
	}
	fails(t, dir, "system", obj{"item": "env"}, "VALIDATION_FAILED", "paths, time, runtime or all")
}
