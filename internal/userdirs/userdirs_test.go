package userdirs_test

import (
	"testing"

	"github.com/ryeos/rye/internal/userdirs"
)

func TestFor(t *testing.T) {
	for _, tc := range []struct {
		name, goos string
		env        map[string]string
		want       userdirs.Dirs
	}{
		{"nothing known", "linux", nil, userdirs.Dirs{}},
		{"nothing known", "windows", nil, userdirs.Dirs{}},
		{"home", "linux", map[string]string{"HOME": "/home/leo"}, userdirs.Dirs{
			Config: "/home/leo/.config/rye", Data: "/home/leo/.local/share/rye",
			State: "/home/leo/.local/state/rye", Cache: "/home/leo/.cache/rye"}},
		{"macOS uses the same", "darwin", map[string]string{"HOME": "/Users/leo/"}, userdirs.Dirs{
			Config: "/Users/leo/.config/rye", Data: "/Users/leo/.local/share/rye",
			State: "/Users/leo/.local/state/rye", Cache: "/Users/leo/.cache/rye"}},
		{"XDG wins, relative is ignored", "linux", map[string]string{
			"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "relative", "XDG_CACHE_HOME": "../x"}, userdirs.Dirs{
			Config: "/c/rye", Data: "/h/.local/share/rye", State: "/h/.local/state/rye", Cache: "/h/.cache/rye"}},
		{"relative not a home", "linux", map[string]string{"HOME": "."}, userdirs.Dirs{}},
		{"windows", "windows", map[string]string{"AppData": `C:\Users\leo\AppData\Roaming`, "USERPROFILE": `C:\Users\leo`}, userdirs.Dirs{
			Config: `C:\Users\leo\AppData\Roaming\rye\config`, Data: `C:\Users\leo\AppData\Roaming\rye\data`,
			State: `C:\Users\leo\AppData\Local\rye\state`, Cache: `C:\Users\leo\AppData\Local\rye\cache`}},
		{"windows, drive-relative is ignored", "windows", map[string]string{"AppData": `C:here`}, userdirs.Dirs{}},
	} {
		got := userdirs.For(func(k string) string { return tc.env[k] }, tc.goos)
		if got != tc.want {
			t.Errorf("%s on %s:\n got %+v\nwant %+v", tc.name, tc.goos, got, tc.want)
		}
	}
}

func TestFolders(t *testing.T) {
	d := userdirs.For(func(k string) string { return map[string]string{"HOME": "/h"}[k] }, "linux")
	if got := d.Trust(); got != "/h/.config/rye/trust" {
		t.Errorf("Trust() = %q", got)
	}
	if got := d.Keys(); got != "/h/.local/share/rye/keys" {
		t.Errorf("Keys() = %q", got)
	}
	w := userdirs.For(func(k string) string { return map[string]string{"APPDATA": ``, "AppData": `D:\r`}[k] }, "windows")
	if got := w.Trust(); got != `D:\r\rye\config\trust` {
		t.Errorf("Trust() on windows = %q", got)
	}
	var zero userdirs.Dirs
	if zero.Trust() != "" || zero.Keys() != "" {
		t.Errorf("unknown folders must stay unknown: %q %q", zero.Trust(), zero.Keys())
	}
	if userdirs.For(nil, "linux") != zero {
		t.Error("a nil environment must name nothing")
	}
}
