package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// lab is a home with a project, a scripted model and a gateway, all of them real programs.
type lab struct {
	t    *testing.T
	dir  string // of the project
	bin  string
	env  []string
	base string // URL of the gateway
	stop context.CancelFunc
}

// newLab builds the programs and starts the gateway. It skips the test unless RYE_BROWSER is set: the
// programs and a browser take a minute.
func newLab(t *testing.T) *lab {
	t.Helper()
	if os.Getenv("RYE_BROWSER") == "" {
		t.Skip("RYE_BROWSER=1 runs it, with the Chromium of the system")
	}
	root := t.TempDir()
	l := &lab{
		t:   t,
		dir: filepath.Join(root, "release"),
		bin: filepath.Join(root, "bin"),
	}
	home := filepath.Join(root, "home")
	for _, d := range []string{l.dir, l.bin, home, filepath.Join(l.dir, "build", "old")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", l.bin+"/", "./cmd/rye", "./cmd/rye-server", "./examples/model-server")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l.env = []string{
		"HOME=" + home,
		"PATH=" + l.bin + ":/usr/local/bin:/usr/bin:/bin",
		"DEMO_KEY=sk-demo-12345678",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"TZ=UTC",
	}
	if err := os.CopyFS(filepath.Join(l.dir, ".ai"), os.DirFS("testdata/browser/ai")); err != nil {
		t.Fatal(err)
	}
	var changes bytes.Buffer
	for i := range 60 {
		fmt.Fprintf(&changes, "- change %d\n", i+1)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "CHANGELOG.md"), changes.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	l.run("git", "init", "-q")
	l.run("rye", "key", "new", "--no-passphrase", "--owner", "ada")
	l.run("rye", "sign", "*")
	l.run("git", "add", "-A")
	l.run("git", "-c", "user.name=ada", "-c", "user.email=ada@example.org", "commit", "-qm", "init")
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	t.Cleanup(stop)
	scenario, err := filepath.Abs("testdata/browser/scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	url := l.serve(ctx, "http://", "model-server", scenario)
	l.env = append(l.env, "MODEL_URL="+url)
	l.base = l.serve(ctx, "serving on ", "rye", "gateway", "serve", "--addr", freeAddr(t))
	return l
}

// freeAddr returns an address that no server uses.
func freeAddr(t *testing.T) string {
	c, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.Addr().String()
}

func (l *lab) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	path := name
	if _, err := os.Stat(filepath.Join(l.bin, name)); err == nil {
		path = filepath.Join(l.bin, name)
	}
	c := exec.CommandContext(ctx, path, args...)
	c.Dir = l.dir
	c.Env = l.env
	return c
}

// run runs a command and returns its output.
func (l *lab) run(name string, args ...string) string {
	l.t.Helper()
	c := l.command(context.Background(), name, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		l.t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

// output collects what a program prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// serve starts a server and returns the URL that it prints after a text.
func (l *lab) serve(ctx context.Context, before, name string, args ...string) string {
	l.t.Helper()
	c := l.command(ctx, name, args...)
	var out output
	c.Stdout = &out
	c.Stderr = &out
	c.WaitDelay = time.Second
	if err := c.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		l.stop()
		_ = c.Wait()
	})
	for range 600 {
		for line := range strings.Lines(out.String()) {
			_, after, ok := strings.Cut(line, before)
			if ok && strings.HasSuffix(line, "\n") {
				return "http://" + strings.TrimPrefix(strings.TrimSpace(after), "http://")
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	l.t.Fatalf("%s prints no address:\n%s", name, out.String())
	return ""
}

// window is a window of a browser, with what it requested and what it complained about.
type window struct {
	t   *testing.T
	ctx context.Context
	l   *lab

	mu     sync.Mutex
	faults []string
}

// browser starts the Chromium of the system.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("there is no Chromium")
	}
	ctx, cancel := chromedp.NewExecAllocator(
		context.Background(),
		chromedp.ExecPath(path),
		chromedp.NoSandbox,
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("headless", "new"),
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("no-first-run", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("hide-scrollbars", true),
	)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}

// open opens a window.
func (l *lab) open(ctx context.Context) *window {
	l.t.Helper()
	w := &window{t: l.t, ctx: ctx, l: l}
	if err := chromedp.Listen(ctx, w.event); err != nil {
		l.t.Fatal(err)
	}
	w.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, t, log.Enable, cdp.Empty{})
		return err
	}))
	return w
}

// event notes a request to another host, a violation of the policy of contents, and an exception.
func (w *window) event(ev any) {
	fault := ""
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		url := e.Request.URL
		if !strings.HasPrefix(url, w.l.base+"/") && !strings.HasPrefix(url, "data:") {
			fault = "a request to " + url
		}
	case *log.EventEntryAdded:
		if e.Entry.Source == "security" || strings.Contains(e.Entry.Text, "Content Security Policy") {
			fault = e.Entry.Text
		}
	case *runtime.EventExceptionThrown:
		fault = e.ExceptionDetails.Text
	}
	if fault != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.faults = append(w.faults, fault)
	}
}

// clean fails if the window complained.
func (w *window) clean() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.faults {
		w.t.Errorf("the browser reports %s", f)
	}
}

func (w *window) do(steps ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, 60*time.Second)
	defer cancel()
	err := chromedp.Do(ctx, steps...)
	// A page that changes replaces an element between the search for it and the step.
	for err != nil && ctx.Err() == nil && strings.Contains(err.Error(), "Could not find node") {
		time.Sleep(50 * time.Millisecond)
		err = chromedp.Do(ctx, steps...)
	}
	if err != nil {
		text, _ := chromedp.Run(w.ctx, chromedp.Evaluate[string]("document.body.innerText"))
		where, _ := chromedp.Run(w.ctx, chromedp.Location())
		w.t.Fatalf("%v\n%s\n%s", err, where, text)
	}
}

func (w *window) visit(path string) {
	w.t.Helper()
	w.do(chromedp.Navigate(w.l.base + path))
}

// value evaluates an expression.
func value[T any](w *window, expression string) T {
	w.t.Helper()
	v, err := chromedp.Run(w.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		w.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits until an expression is true.
func (w *window) until(expression string) {
	w.t.Helper()
	for range 600 {
		v, err := chromedp.Run(w.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		if err == nil && v {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.t.Fatalf("not true within 30 s: %s\n%s", expression, value[string](w, "location.href + '\\n' + document.body.innerText"))
}

// shows waits until the page shows a text.
func (w *window) shows(text string) {
	w.t.Helper()
	b, _ := json.Marshal(text)
	w.until("document.body.innerText.includes(" + string(b) + ")")
}

func (w *window) click(selector string) {
	w.t.Helper()
	w.do(chromedp.Click(chromedp.CSS(selector)))
}

// press types keys as a person does, without a mouse.
func (w *window) press(keys string) {
	w.t.Helper()
	w.do(chromedp.KeyEvent(keys))
}

// look sets the size and the scheme of the window.
func (w *window) look(width int64, scheme string) {
	w.t.Helper()
	height := int64(860)
	if width < 600 {
		height = 780
	}
	w.do(chromedp.EmulateViewport(width, height), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
		})
		return err
	}))
}

// shot writes a picture of the window into RYE_SHOTS.
func (w *window) shot(name string) {
	w.t.Helper()
	dir := os.Getenv("RYE_SHOTS")
	if dir == "" {
		return
	}
	b, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), b, 0o644)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// signIn signs in as rye gateway open does.
func (w *window) signIn() {
	w.t.Helper()
	url := strings.TrimSpace(w.l.run("rye", "gateway", "open", "--print"))
	w.do(chromedp.Navigate(url))
	w.until("location.pathname === '/'")
}

// start starts a thread by the form, and returns its id.
func (w *window) start(directive string) string {
	w.t.Helper()
	w.visit("/start?directive=directive:team/" + directive)
	w.click("form.start button")
	w.until("location.pathname.startsWith('/t/')")
	return strings.TrimPrefix(value[string](w, "location.pathname"), "/t/")
}

// accessible runs axe-core, if the directory of RYE_NPM_AXE has it.
func (w *window) accessible(page string) {
	w.t.Helper()
	dir := os.Getenv("RYE_NPM_AXE")
	if dir == "" {
		return
	}
	code, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, runtime.Evaluate, runtime.EvaluateParams{Expression: string(code) + ";0"})
		return err
	}))
	_ = value[bool](w, `(window.axeFound = undefined, axe.run(document, {resultTypes: ["violations"]}).then(r => { window.axeFound = r.violations.map(v => v.id + ": " + v.nodes.map(n => n.html.slice(0, 200) + " " + n.failureSummary).join(" | ")).join("\n") }), true)`)
	w.until("window.axeFound !== undefined")
	found := value[string](w, "window.axeFound")
	if found != "" {
		w.t.Errorf("axe-core on %s:\n%s", page, found)
	}
}

// TestBrowser uses the pages as a person does.
func TestBrowser(t *testing.T) {
	l := newLab(t)
	ctx := browser(t)
	w := l.open(ctx)
	w.look(1280, "light")
	w.visit("/")
	w.until("location.pathname === '/login'")
	w.accessible("/login")
	w.signIn()
	w.shows("No threads yet")
	w.accessible("the empty list")

	// A thread is started by the form, and its text arrives while the page is open.
	id := w.start("release-notes")
	w.shows("The changelog lacks two merged changes")
	w.shows("Approval needed")
	w.until(`document.title.startsWith("(1) ")`)
	w.shows("rm -r build/old && git push origin main")
	if w.accessible("a thread that asks"); !value[bool](w, `document.querySelector(".ask button") !== document.activeElement`) {
		t.Error("a button of the question has the focus")
	}
	if _, err := os.Stat(filepath.Join(l.dir, "build", "old")); err != nil {
		t.Error("the command ran before the answer")
	}
	for _, scheme := range []string{"light", "dark"} {
		w.look(1280, scheme)
		_ = value[bool](w, `(document.querySelector(".ask").scrollIntoView({block: "end"}), true)`)
		w.shot("gateway-thread-" + scheme)
		w.look(390, scheme)
		_ = value[bool](w, "(window.scrollTo(0, 0), true)")
		w.shot("gateway-thread-phone-" + scheme)
	}
	w.look(1280, "light")

	// The other window sees who decided.
	other, cancel := chromedp.NewContext(ctx)
	defer cancel()
	second := l.open(other)
	second.visit("/approvals")
	second.shows("rm -r build/old && git push origin main")
	second.look(1280, "light")
	second.until(`!document.querySelector(".answers button").disabled`)
	second.shot("gateway-approvals-light")
	second.look(1280, "dark")
	second.shot("gateway-approvals-dark")
	second.accessible("/approvals")
	second.visit("/t/" + id)
	second.shows("Approval needed")
	w.until(`!document.querySelector(".answers button").disabled`)
	w.click(`.answers button[value="once"]`)
	second.shows("once by gateway:local")
	second.shows("completed")
	w.shows("completed")
	if _, err := os.Stat(filepath.Join(l.dir, "build", "old")); err == nil {
		t.Error("the permitted command did not run")
	}

	// Keys alone: j to the question, Tab to Deny, Enter.
	if err := os.MkdirAll(filepath.Join(l.dir, "build", "old"), 0o700); err != nil {
		t.Fatal(err)
	}
	denied := w.start("check-links")
	w.shows("Approval needed")
	w.press("a")
	w.until(`document.activeElement.matches("section.ask")`)
	w.until(`!document.querySelector(".answers button").disabled`)
	for range 20 {
		w.press("\t")
		if value[bool](w, `document.activeElement.value === "deny"`) {
			break
		}
	}
	w.press("\r")
	w.shows("deny by gateway:local")
	w.shows("completed")
	if _, err := os.Stat(filepath.Join(l.dir, "build", "old")); err != nil {
		t.Error("the refused command ran")
	}

	// The list is a tree, and it changes while it is open.
	second.look(1280, "light")
	second.visit("/")
	second.shows("check-links")
	hostile := w.start("hostile")
	second.shows("hostile")
	w.shows("completed")
	if n := value[int](w, `document.querySelectorAll("#talk script, #talk img, #talk iframe, #talk [onclick], #talk [style]").length`); n != 0 {
		t.Errorf("the text of a model became %d elements", n)
	}
	w.shows("<script>alert(1)</script>")
	w.shows("[image: logo]")
	w.shows(`\u{202e}`)
	if value[bool](w, `"pwned" in window`) {
		t.Error("the text of a model ran as script")
	}

	// A thread of a terminal is seen, with the changes of its working copy.
	l.run("rye", "spawn", "directive", "team/collect-changes", "--workspace", "copy")
	second.visit("/")
	second.shows("collect-changes")
	second.until(`[...document.querySelectorAll(".thread a")][0].textContent.includes("collect-changes")`)
	second.click(".thread a")
	second.shows("completed")
	second.click(`a[href$="/diff"]`)
	second.shows("CHANGELOG.md")
	second.shows("+- one more change")
	second.accessible("a working copy")
	copied := value[string](second, "location.pathname")

	// Every page fits into 320 pixels, in both schemes, and at twice the size of a window.
	for _, p := range []string{"/", "/approvals", "/spend", "/items", "/items/directive:team/release-notes", "/start", "/start?directive=directive:team/release-notes", "/audit", copied, "/t/" + id, "/t/" + denied, "/t/" + hostile} {
		for _, scheme := range []string{"light", "dark"} {
			w.look(320, scheme)
			w.visit(p)
			if wide := value[int](w, "document.documentElement.scrollWidth"); wide > 320 {
				t.Errorf("%s is %d pixels wide in a window of 320", p, wide)
			}
			if scheme == "light" {
				w.accessible(p + " at 320 pixels")
			}
			w.look(1280, scheme)
			w.accessible(p + " " + scheme)
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		w.look(1280, scheme)
		w.visit("/")
		w.shot("gateway-threads-" + scheme)
		w.visit("/spend")
		w.shot("gateway-spend-" + scheme)
		w.look(390, scheme)
		w.visit("/")
		w.shot("gateway-threads-phone-" + scheme)
	}
	w.look(1280, "light")

	// Without script every form works.
	w.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}))
	w.visit("/start?directive=directive:team/check-links")
	w.click("form.start button")
	for range 200 {
		if strings.Contains(l.run("rye", "threads", "list"), "waiting for you") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.visit("/approvals")
	w.click(`.answers button[value="deny"]`)
	w.shows("Nothing waits for you")
	w.clean()
	second.clean()
	audit := l.run("rye", "gateway", "audit", "--json")
	if strings.Count(audit, "/decide") != 3 || !strings.Contains(audit, `"broken": ""`) {
		t.Errorf("the audit log: %s", audit)
	}
}
