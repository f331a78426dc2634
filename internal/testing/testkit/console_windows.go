package testkit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Console is a pseudo console. What is written to In is typed.
type Console struct {
	In *os.File

	out     *os.File
	handle  windows.Handle
	process windows.Handle
	job     windows.Handle // ends all programs of the console
	control string         // the directory in which ConsoleMain finds sizes and leaves modes
	read    int64          // of the file with what programs printed
}

// consoleVar names the directory that a console and its ConsoleMain have in common.
const consoleVar = "TESTKIT_CONSOLE"

// OpenConsole returns a pseudo console of a size. dir is a directory of its own.
func OpenConsole(dir string, columns, rows int) (*Console, error) {
	var in, inEnd, out, outEnd windows.Handle
	err := errors.Join(windows.CreatePipe(&inEnd, &in, nil, 0), windows.CreatePipe(&out, &outEnd, nil, 0))
	if err != nil {
		return nil, fmt.Errorf("making pipes: %w", err)
	}
	c := &Console{In: os.NewFile(uintptr(in), "console input"), out: os.NewFile(uintptr(out), "console output"), control: dir}
	err = windows.CreatePseudoConsole(windows.Coord{X: int16(columns), Y: int16(rows)}, inEnd, outEnd, 0, &c.handle)
	windows.CloseHandle(inEnd)
	windows.CloseHandle(outEnd)
	if err != nil {
		c.In.Close()
		c.out.Close()
		return nil, fmt.Errorf("making a pseudo console: %w", err)
	}
	return c, nil
}

// Start starts a program in the console. starter is a program that calls ConsoleMain.
func (c *Console) Start(starter, dir string, env []string, argv ...string) error {
	attrs, err := windows.NewProcThreadAttributeList(1)
	if err != nil {
		return err
	}
	defer attrs.Delete()
	if err := attrs.Update(windows.PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE, *(*unsafe.Pointer)(unsafe.Pointer(&c.handle)), unsafe.Sizeof(c.handle)); err != nil {
		return err
	}
	// Without this flag the streams of this process are inherited in place of the console.
	si := windows.StartupInfoEx{ProcThreadAttributeList: attrs.List()}
	si.Cb = uint32(unsafe.Sizeof(si))
	si.Flags = windows.STARTF_USESTDHANDLES
	line, err := windows.UTF16PtrFromString(windows.ComposeCommandLine(append([]string{starter}, argv...)))
	if err != nil {
		return err
	}
	in, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	block := utf16.Encode([]rune(strings.Join(append(env, consoleVar+"="+c.control), "\x00") + "\x00\x00"))
	if c.job, err = windows.CreateJobObject(nil, nil); err != nil {
		return err
	}
	var pi windows.ProcessInformation
	if err := windows.CreateProcess(nil, line, nil, nil, false, windows.EXTENDED_STARTUPINFO_PRESENT|windows.CREATE_UNICODE_ENVIRONMENT|windows.CREATE_SUSPENDED, &block[0], in, &si.StartupInfo, &pi); err != nil {
		return fmt.Errorf("starting %s in a console: %w", starter, err)
	}
	c.process = pi.Process
	err = windows.AssignProcessToJobObject(c.job, pi.Process)
	_, rerr := windows.ResumeThread(pi.Thread)
	return errors.Join(err, rerr, windows.CloseHandle(pi.Thread))
}

// Read calls show with what a terminal would draw, and echo with what Wine's console itself draws, until
// the console is closed. Only the first has what programs print: see testdata/windows/console.txt.
func (c *Console) Read(show, echo func([]byte)) {
	if !inWine() {
		echo = show
	}
	var reading sync.WaitGroup
	ended := make(chan struct{})
	reading.Go(func() {
		defer close(ended)
		readAll(c.out, echo)
	})
	for last := false; inWine(); time.Sleep(10 * time.Millisecond) {
		f, err := os.Open(filepath.Join(c.control, "stream"))
		if err == nil {
			if _, err = f.Seek(c.read, io.SeekStart); err == nil {
				c.read += readAll(f, show)
			}
			f.Close()
		}
		select {
		case <-ended:
			if last {
				return
			}
			last = true
		default:
		}
	}
	reading.Wait()
}

func readAll(f *os.File, write func([]byte)) (read int64) {
	b := make([]byte, 64<<10)
	for {
		n, err := f.Read(b)
		write(b[:n])
		read += int64(n)
		if err != nil {
			return read
		}
	}
}

// inWine reports whether this is Wine and not Windows.
func inWine() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// Resize sets the columns and rows.
func (c *Console) Resize(columns, rows int) error {
	if windows.ResizePseudoConsole(c.handle, windows.Coord{X: int16(columns), Y: int16(rows)}) == nil {
		return nil
	}
	return c.ask("size", fmt.Sprintf("%d %d", columns, rows)) // Wine 8 has no such function
}

// Interrupt types Ctrl-C.
func (c *Console) Interrupt() error {
	if inWine() { // its console closes when it reads the character
		return c.ask("interrupt", "")
	}
	_, err := c.In.WriteString("\x03")
	return err
}

// SetOutputMode sets the mode of the output as another program of the console may do.
func (c *Console) SetOutputMode(mode string) error { return c.ask("mode", mode) }

// ask has ConsoleMain do something in the console.
func (c *Console) ask(what, how string) error {
	name := filepath.Join(c.control, what)
	if err := os.WriteFile(name, []byte(how+"."), 0o600); err != nil {
		return err
	}
	for range 200 {
		if _, err := os.Stat(name); err != nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("the console did not %s", what)
}

// Wait returns the exit status of the program.
func (c *Console) Wait(limit time.Duration) (status int, err error) {
	event, err := windows.WaitForSingleObject(c.process, uint32(limit.Milliseconds()))
	if err == nil && event != windows.WAIT_OBJECT_0 {
		err = errors.New("the program has not ended")
	}
	var code uint32
	if err == nil {
		err = windows.GetExitCodeProcess(c.process, &code)
	}
	return int(code), err
}

// Modes returns the modes of the console's input and output after the program.
func (c *Console) Modes() (before, after string, err error) {
	b, err := os.ReadFile(filepath.Join(c.control, "modes"))
	if err != nil {
		return "", "", err
	}
	before, after, _ = strings.Cut(string(b), "\n")
	return before, after, nil
}

// Hangup closes the console, as its window does.
func (c *Console) Hangup() {
	if c.handle != 0 {
		windows.ClosePseudoConsole(c.handle)
		c.handle = 0
	}
}

// Close ends the programs of the console and closes it.
func (c *Console) Close() {
	if c.job != 0 {
		_ = windows.TerminateJobObject(c.job, 1)
		windows.CloseHandle(c.job)
		windows.CloseHandle(c.process)
		c.job = 0
		c.process = 0
	}
	c.Hangup()
	c.In.Close()
	c.out.Close()
}

var resizeConsole = windows.NewLazySystemDLL("kernel32.dll").NewProc("SetConsoleWindowInfo")

// ConsoleMain runs the program of the arguments with the streams of the console that this process is
// in, and returns its exit status. A process that a pseudo console starts has no streams in Wine.
func ConsoleMain(args []string) (int, error) {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // the program gets Ctrl-C, too
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	dir := os.Getenv(consoleVar)
	before := modes(in, out)
	p, err := os.StartProcess(args[0], args, &os.ProcAttr{Files: []*os.File{in, out, out}})
	if err != nil {
		return 0, err
	}
	go func() {
		for ; ; time.Sleep(50 * time.Millisecond) {
			asked(filepath.Join(dir, "size"), func(size string) { resize(out, size) })
			asked(filepath.Join(dir, "mode"), func(mode string) {
				if n, err := strconv.ParseUint(mode, 0, 32); err == nil {
					_ = windows.SetConsoleMode(windows.Handle(out.Fd()), uint32(n))
				}
			})
			asked(filepath.Join(dir, "interrupt"), func(string) { _ = windows.GenerateConsoleCtrlEvent(windows.CTRL_C_EVENT, 0) })
		}
	}()
	state, err := p.Wait()
	if err != nil {
		return 0, err
	}
	return state.ExitCode(), os.WriteFile(filepath.Join(dir, "modes"), []byte(before+"\n"+modes(in, out)), 0o600)
}

func modes(in, out *os.File) string {
	var i, o uint32
	err := errors.Join(windows.GetConsoleMode(windows.Handle(in.Fd()), &i), windows.GetConsoleMode(windows.Handle(out.Fd()), &o))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("input %#x output %#x", i, o)
}

// asked calls do with the text of a file, and removes it.
func asked(file string, do func(text string)) {
	b, err := os.ReadFile(file)
	if text, whole := strings.CutSuffix(string(b), "."); err == nil && whole {
		do(text)
		_ = os.Remove(file)
	}
}

// resize gives the console a size.
func resize(out *os.File, size string) {
	var columns, rows int16
	if _, err := fmt.Sscanf(size, "%d %d", &columns, &rows); err != nil {
		return
	}
	h := windows.Handle(out.Fd())
	window := func(columns, rows int16) {
		w := windows.SmallRect{Right: columns - 1, Bottom: rows - 1}
		_, _, _ = resizeConsole.Call(uintptr(h), 1, uintptr(unsafe.Pointer(&w)))
	}
	window(min(columns, 10), min(rows, 5)) // a buffer is not smaller than its window
	_, _, _ = setBufferSize.Call(uintptr(h), uintptr(uint32(uint16(columns))|uint32(uint16(rows))<<16))
	window(columns, rows)
}

var setBufferSize = windows.NewLazySystemDLL("kernel32.dll").NewProc("SetConsoleScreenBufferSize")
