package winname

import "testing"

func TestDevice(t *testing.T) {
	t.Parallel()
	for elem, want := range map[string]bool{
		"con": true, "NUL.txt": true, "Aux.tar.gz": true, "prn ": true, "aux .txt": true, "CONIN$": true, "conout$": true,
		"com1": true, "COM¹": true, "lpt9.py": true, "COM0": true, "nul.": true,
		"": false, "console": false, "com": false, "com10": false, "lpt": false, "nulx": false, "xnul": false, ".nul": false, "a.con": false,
	} {
		if got := Device(elem); got != want {
			t.Errorf("Device(%q) = %v", elem, got)
		}
	}
	for path, want := range map[string]string{"tools/a.sh": "", "tools/Aux/x.sh": "Aux", "nul.yaml": "nul.yaml", "a/con.md/b/nul": "con.md"} {
		if got := In(path); got != want {
			t.Errorf("In(%q) = %q", path, got)
		}
	}
}
