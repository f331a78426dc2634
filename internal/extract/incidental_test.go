package extract

import "testing"

func TestIncidental(t *testing.T) {
	for rel, want := range map[string]bool{
		"tools/demo/README.md": true, "README.md": true, "tools/.DS_Store": true, "tools/Thumbs.db": true, "tools/a.py~": true,
		"tools/.a.py.swp": true, "tools/.a.py.swo": true, "tools/#a.py#": true, "tools/demo/__pycache__/a.cpython-313.pyc": true,
		"tools/__pycache__/b/c.py": true, ".gitkeep": true,
		"tools/demo/a.py": false, "tools/demo/README": false, "tools/demo/README.md.py": false, "tools/readme.md": false,
		"tools/a~b.py": false, "tools/.a.py": false, "tools/.a.swp.py": false, "tools/x__pycache__/a.py": false, "tools/__pycache__": false,
		"tools/#a.py": false, "tools/a.pyc": false,
	} {
		if got := Incidental(rel); got != want {
			t.Errorf("%s: %v", rel, got)
		}
	}
}
