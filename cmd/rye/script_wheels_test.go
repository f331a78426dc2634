package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdWheel builds a wheel for every Python 3: wheel DIR NAME VERSION [REQUIREMENT…] MODULE=FILE….
func cmdWheel(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) > 3, "wheel DIR NAME VERSION [REQUIREMENT…] MODULE=FILE…")
	name, version := args[1], args[2]
	info := name + "-" + version + ".dist-info/"
	files := map[string]string{
		info + "WHEEL":  "Wheel-Version: 1.0\nGenerator: rye\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		info + "RECORD": "",
	}
	meta := "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"
	for _, arg := range args[3:] {
		if module, file, ok := strings.Cut(arg, "="); ok {
			files[module] = ts.ReadFile(file)
		} else {
			meta += "Requires-Dist: " + arg + "\n"
		}
	}
	files[info+"METADATA"] = meta
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for path, text := range files {
		w, err := z.Create(path)
		ts.Check(err)
		_, err = w.Write([]byte(text))
		ts.Check(err)
	}
	ts.Check(z.Close())
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(os.WriteFile(filepath.Join(dir, name+"-"+version+"-py3-none-any.whl"), b.Bytes(), 0o644))
}

// cmdIndexServe serves the wheels of a directory as a simple index (PEP 503), and sets a
// variable to its address, and the variable with _HOST after its name to host and port. If there is a file NAME.other, it is served in place of the
// wheel, and the page still has the digest of the wheel.
func cmdIndexServe(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, len(args) == 2, "indexserve DIR VARIABLE")
	dir := ts.MkAbs(args[0])
	mux := http.NewServeMux()
	mux.HandleFunc("/simple/{name}/", func(w http.ResponseWriter, r *http.Request) {
		found, _ := filepath.Glob(filepath.Join(dir, r.PathValue("name")+"-*.whl"))
		if len(found) == 0 {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for _, file := range found {
			b, _ := os.ReadFile(file)
			fmt.Fprintf(w, "<a href=\"/files/%s#sha256=%x\">%[1]s</a>\n", filepath.Base(file), sha256.Sum256(b))
		}
	})
	mux.HandleFunc("/files/{file}", func(w http.ResponseWriter, r *http.Request) {
		file := filepath.Join(dir, r.PathValue("file"))
		if _, err := os.Stat(file + ".other"); err == nil {
			file += ".other"
		}
		http.ServeFile(w, r, file)
	})
	srv := httptest.NewServer(mux)
	ts.Defer(func() { srv.CloseClientConnections(); srv.Close() })
	ts.Setenv(args[1], srv.URL+"/simple/")
	ts.Setenv(args[1]+"_HOST", srv.Listener.Addr().String())
}
