package gateway

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/gateway/access"
	"github.com/ryeos/rye/internal/gateway/page"
	"github.com/ryeos/rye/internal/gateway/trail"
	"github.com/ryeos/rye/threads/transcript"
)

// live serves the elements of a page as they change: of the list of threads, of the questions, or of one
// thread. They are of the same templates as the page.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	caller, status, err := s.authorize(r, access.Viewer)
	if err != nil {
		fail(w, status, err)
		return
	}
	release, ok := s.streams.add(caller.key)
	if !ok {
		tooMany(w, time.Second)
		return
	}
	defer release()
	v := &visit{
		s:      s,
		r:      r,
		ctx:    r.Context(),
		caller: caller,
		view:   s.view(caller),
	}
	l := &liveView{v: v, sent: map[string]string{}, watch: s.follow.newWatch()}
	defer l.watch.close()
	l.watch.add(s.p.Host.StoreDir())
	switch rest := strings.TrimPrefix(r.URL.Path, "/live/"); {
	case rest == "threads":
		l.render = l.threads
	case rest == "approvals":
		l.render = l.approvals
	default:
		id, ok := strings.CutPrefix(rest, "t/")
		dir, err := v.view.Where(id)
		if !ok || err != nil {
			fail(w, http.StatusNotFound, diag.New(diag.ThreadNotFound, "serving the changes of a page: there is no such page"))
			return
		}
		l.id = id
		l.watch.add(filepath.Dir(transcript.Base(dir, id).Path(transcript.File)))
		l.render = l.thread
	}
	out := newSender(w)
	l.out = out
	err = s.run(r, l.watch, pagePause, out.rest, l.update)
	if err != nil && r.Context().Err() == nil {
		// The session has ended, or the thread was removed: the page is loaded again, and states why.
		_ = out.send("", "leave", struct{}{})
		_ = out.rest()
	}
}

// liveView is a page that is open in a browser.
type liveView struct {
	v      *visit
	id     string // of the thread, "" for a list
	watch  *watch
	out    *sender
	sent   map[string]string // the elements that the browser has, by their ids
	headAt time.Time         // when the head of the page was rendered
	render func() error
}

// update renders the page, and sends the elements that changed.
func (l *liveView) update() error {
	if err := l.render(); err != nil {
		return err
	}
	// The sums of the head are of all threads, which takes longer than one.
	if time.Since(l.headAt) < headPause {
		return nil
	}
	l.headAt = time.Now()
	f, err := l.v.frame(&shown{})
	if err != nil {
		return err
	}
	return l.element("status", "", "status", f)
}

// Pauses between two renderings.
const (
	headPause = time.Second
	pagePause = 150 * time.Millisecond
)

// element sends an element if it changed. The page that was just loaded has its first form, which is sent
// once more: the page may be older than the stream.
func (l *liveView) element(id, parent, template string, data any) error {
	// Times such as "4 min" change without an event, and so does the element.
	html, err := l.v.s.pages.Render(template, data)
	if err != nil {
		return err
	}
	if l.sent[id] == string(html) {
		return nil
	}
	l.sent[id] = string(html)
	return l.out.send("", "html", fragment{Parent: parent, HTML: html})
}

func (l *liveView) threads() error {
	data, err := listOf(l.v, l.v.r.URL.Query())
	if err != nil {
		return err
	}
	return l.element("list", "", "list", data)
}

func (l *liveView) approvals() error {
	data, err := openQuestions(l.v)
	if err != nil {
		return err
	}
	return l.element("open", "", "open", data)
}

func (l *liveView) thread() error {
	data, err := conversation(
		l.v,
		l.id,
		l.v.r.URL.Query().Get("all") == "1",
	)
	if err != nil {
		return err
	}
	for i := range data.Blocks {
		b := &data.Blocks[i]
		err := l.element(b.Element, "talk", "block", b)
		if err != nil {
			return err
		}
	}
	for _, name := range []string{"title", "questions", "side"} {
		if err := l.element(name, "", name, data); err != nil {
			return err
		}
	}
	return nil
}

// shownEntries is the number of entries on the page of the audit log.
const shownEntries = 300

// audit returns the newest entries of the audit log.
func (s *Server) audit() (*page.Audit, error) {
	var list []trail.Entry
	broken, err := s.p.Trail.Read(time.Time{}, func(e *trail.Entry) {
		list = append(list, *e)
		if len(list) > 2*shownEntries {
			list = slices.Clone(list[shownEntries:])
		}
	})
	slices.Reverse(list)
	return &page.Audit{Broken: broken, Entries: list[:min(len(list), shownEntries)]}, err
}
