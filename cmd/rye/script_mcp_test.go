package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// mcpMain is the program mcp of the scripts: a client that plays one file
// against a server and prints the answers as a JSON list. It is called as
//
//	mcp FILE serve [FLAG…]
//
// and starts rye with the words after the file. With --http among them it
// speaks HTTP, else stdio. Each line of the file is one of
//
//	TOOL JSON     a call of that tool
//	METHOD JSON   any other request: the word has a slash or is ping
//	raw TEXT      a line as it is; a file that begins so has no handshake
//	& …           the same without waiting for the answer
//	session       at the beginning: prints the length of each answer instead, see session
//	modern        at the beginning: the revision without a handshake, in which a call
//	               is repeated with the answer to its question
//	elicit yes    at the beginning: the person at the client says yes to all, or no,
//	               or nothing: the form comes back empty; decline, silent: no response,
//	               or TEXT: the answer to the question of a run
//	until FILE    wait until that file is there
//	cancel        cancel the last request that nobody waits for
//	run WORDS     run rye with these arguments
//	term          send SIGTERM; at the end of the file the input is closed
//	kill          send SIGKILL
//
// An answer to a call is {"failed": …, "answer": the envelope}; anything else
// is the message itself.
func mcpMain(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: mcp FILE serve [FLAG…]")
		return 2
	}
	play, err := os.ReadFile(args[0])
	if err == nil {
		err = playMCP(string(play), args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		return 1
	}
	return 0
}

// player is one run of mcpMain.
type player struct {
	rye     *exec.Cmd
	line    mcpLine
	id      int
	loose   int // the last request that nobody waits for
	person  string
	modern  bool
	answers []any
	session *session // nil: prints the answers
}

// mcpLine carries messages. ask returns the answer to a request, tell waits for
// none.
type mcpLine interface {
	Ask(id int, message string) (map[string]any, error)
	Tell(message string) error
	hangUp()
}

func playMCP(play string, words []string) error {
	p := &player{rye: exec.Command("rye", words...), answers: []any{}}
	if err := p.start(strings.Contains(strings.Join(words, " "), "--http")); err != nil {
		return err
	}
	defer p.rye.Process.Kill() // it has ended when all is well
	if rest, ok := strings.CutPrefix(play, "session\n"); ok {
		p.session, play = &session{}, rest
	}
	if rest, ok := strings.CutPrefix(play, "modern\n"); ok {
		p.modern, play = true, rest
	}
	if words, ok := strings.CutPrefix(play, "elicit "); ok {
		p.person, play, _ = strings.Cut(words, "\n")
		p.line.(*pipeLine).person = p.person
	}
	if !strings.HasPrefix(play, "raw ") && !p.modern {
		if err := p.shake(); err != nil {
			return err
		}
	}
	for line := range strings.Lines(play) {
		if err := p.step(strings.TrimSpace(line)); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
	}
	p.line.hangUp()
	if err := p.rye.Wait(); err != nil {
		return fmt.Errorf("the server: %w", err)
	}
	if p.session != nil {
		p.session.print()
		return nil
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(p.answers)
}

// start starts the server and opens the line to it.
func (p *player) start(web bool) error {
	if web {
		l := &webLine{rye: p.rye}
		p.line = l
		return l.open()
	}
	p.rye.Stderr = os.Stderr
	in, err := p.rye.StdinPipe()
	out, oerr := p.rye.StdoutPipe()
	if err = errors.Join(err, oerr); err != nil {
		return err
	}
	scan := bufio.NewScanner(out)
	scan.Buffer(nil, 32<<20)
	p.line = &pipeLine{in: in, out: scan}
	return p.rye.Start()
}

func (p *player) shake() error {
	p.id++
	can := "{}"
	if p.person != "" {
		can = `{"elicitation":{}}`
	}
	hello := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{"name":"mcp","version":"1"}}}`, p.id, can)
	if _, err := p.line.Ask(p.id, hello); err != nil {
		return err
	}
	return p.line.Tell(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (p *player) step(line string) error {
	rest, loose := strings.CutPrefix(line, "& ")
	word, params, _ := strings.Cut(rest, " ")
	switch {
	case line == "" || strings.HasPrefix(line, "#"):
		return nil
	case word == "run":
		return exec.Command("rye", strings.Fields(params)...).Run()
	case word == "sh":
		return exec.Command("sh", "-c", params).Run()
	case word == "until":
		return waitForFile(params)
	case word == "cancel":
		return p.line.Tell(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, p.loose))
	case word == "term":
		return p.rye.Process.Signal(syscall.SIGTERM)
	case word == "kill":
		return p.rye.Process.Kill()
	case word == "raw":
		return p.raw(params)
	}
	p.id++
	method := word
	if isTool := !strings.Contains(word, "/") && word != "ping"; isTool {
		method, params = "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, word, params)
	}
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, p.id, method, params)
	if loose {
		p.loose = p.id
		return p.line.Tell(message)
	}
	ask := p.line.Ask
	if p.modern {
		ask = p.askModern
	}
	answer, err := ask(p.id, message)
	p.answers = append(p.answers, readable(answer))
	if p.session != nil {
		p.session.add(line, answer)
	}
	return err
}

// askModern makes a call that needs no handshake, and repeats it with the answers of
// the person while the result is a question.
func (p *player) askModern(id int, message string) (map[string]any, error) {
	var call map[string]any
	if err := json.Unmarshal([]byte(message), &call); err != nil {
		return nil, err
	}
	can := map[string]any{}
	if p.person != "" {
		can["elicitation"] = map[string]any{"form": map[string]any{}}
	}
	params := call["params"].(map[string]any)
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": can,
		"io.modelcontextprotocol/clientInfo": map[string]any{"name": "mcp", "version": "1"},
	}
	for {
		b, err := json.Marshal(call)
		if err != nil {
			return nil, err
		}
		answer, err := p.line.Ask(id, string(b))
		res, _ := answer["result"].(map[string]any)
		questions, _ := res["inputRequests"].(map[string]any)
		if err != nil || len(questions) == 0 {
			return answer, err
		}
		responses := map[string]any{}
		for key, q := range questions {
			params, _ := q.(map[string]any)["params"].(map[string]any)
			responses[key] = json.RawMessage(responseOf(p.person, params))
		}
		params["inputResponses"], params["requestState"] = responses, res["requestState"]
		if state := os.Getenv("REQUEST_STATE"); state != "" {
			params["requestState"] = state
		}
	}
}

// raw sends a line and takes whatever comes next.
func (p *player) raw(line string) error {
	answer, err := p.line.Ask(0, line)
	p.answers = append(p.answers, readable(answer))
	return err
}

// readable takes the envelope out of the answer to a call.
func readable(message map[string]any) any {
	res, _ := message["result"].(map[string]any)
	blocks, _ := res["content"].([]any)
	if len(blocks) != 1 {
		return message
	}
	block, _ := blocks[0].(map[string]any)
	text, _ := block["text"].(string)
	var envelope any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // the digits are a part of what is tested
	if d.Decode(&envelope) != nil {
		return message
	}
	failed, _ := res["isError"].(bool)
	out := map[string]any{"failed": failed, "answer": envelope}
	if s, ok := res["structuredContent"]; ok {
		out["structured"] = s
	}
	return out
}

func waitForFile(name string) error {
	for range 6000 {
		if _, err := os.Stat(name); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("it does not come")
}

// pipeLine speaks lines.
type pipeLine struct {
	in     io.WriteCloser
	out    *bufio.Scanner
	person string // what the person says to questions
}

func (l *pipeLine) Tell(message string) error {
	_, err := io.WriteString(l.in, message+"\n")
	return err
}

func (l *pipeLine) Ask(id int, message string) (map[string]any, error) {
	if err := l.Tell(message); err != nil {
		return nil, err
	}
	for l.out.Scan() {
		var answer map[string]any
		if err := json.Unmarshal(l.out.Bytes(), &answer); err != nil {
			return nil, fmt.Errorf("stdout holds %q: %w", l.out.Text(), err)
		}
		if answer["method"] == "elicitation/create" {
			if err := l.say(answer); err != nil {
				return nil, err
			}
			continue
		}
		if got, _ := answer["id"].(float64); id == 0 || int(got) == id {
			return answer, nil
		}
	}
	return nil, errors.New("the server has closed its output")
}

// say answers a question for the person, and shows it.
func (l *pipeLine) say(question map[string]any) error {
	params, _ := question["params"].(map[string]any)
	if l.person == "silent" {
		fmt.Fprintln(os.Stderr, "asked:", params["message"])
		return os.WriteFile("asked", nil, 0o600)
	}
	return l.Tell(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, question["id"], responseOf(l.person, params)))
}

// responseOf is the result of a question, which it shows.
func responseOf(person string, params map[string]any) string {
	fmt.Fprintln(os.Stderr, "asked:", params["message"])
	content := map[string]any{"confirm": person == "yes"}
	schema, _ := params["requestedSchema"].(map[string]any)
	if fields, _ := schema["properties"].(map[string]any); fields["answer"] != nil {
		content = map[string]any{"answer": person}
		if json.Valid([]byte(person)) {
			content["answer"] = json.RawMessage(person)
		}
	}
	action := "accept"
	switch person {
	case "nothing":
		content = map[string]any{}
	case "decline":
		action, content = "decline", nil
	}
	b, _ := json.Marshal(map[string]any{"action": action, "content": content})
	return string(b)
}

func (l *pipeLine) hangUp() { l.in.Close() }

// webLine speaks HTTP with a session.
type webLine struct {
	rye          *exec.Cmd
	url, session string
}

// open starts the server and learns its address from what it says.
func (l *webLine) open() error {
	stderr, err := l.rye.StderrPipe()
	if err == nil {
		err = l.rye.Start()
	}
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		fmt.Fprintln(os.Stderr, lines.Text())
		if _, url, ok := strings.Cut(lines.Text(), "serving "); ok {
			l.url = url
			go io.Copy(os.Stderr, stderr)
			return nil
		}
	}
	return fmt.Errorf("the server has not begun: %w", l.rye.Wait())
}

func (l *webLine) post(message string) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPost, l.url, strings.NewReader(message))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Session-Id": l.session, "MCP-Protocol-Version": "2025-11-25",
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if token := os.Getenv("TOKEN"); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return http.DefaultClient.Do(req)
}

func (l *webLine) Tell(message string) error {
	go func() {
		if res, err := l.post(message); err == nil {
			res.Body.Close()
		}
	}()
	return nil
}

func (l *webLine) Ask(_ int, message string) (map[string]any, error) {
	res, err := l.post(message)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if s := res.Header.Get("Mcp-Session-Id"); s != "" {
		l.session = s
	}
	if i := bytes.LastIndex(b, []byte("data: ")); i >= 0 {
		b = b[i+len("data: "):]
	}
	answer := map[string]any{}
	if json.Unmarshal(b, &answer) != nil {
		answer = map[string]any{"status": res.StatusCode, "body": strings.TrimSpace(string(b))}
	}
	return answer, nil
}

func (l *webLine) hangUp() { _ = l.rye.Process.Signal(syscall.SIGTERM) }
