package once

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ryeos/rye/diag"
)

func TestGet(t *testing.T) {
	var m Map[string, int]
	searches := 0
	find := func() (int, error) {
		searches++
		return searches, nil
	}
	for range 3 {
		if v, err := m.Get(t.Context(), "a", find); v != 1 || err != nil {
			t.Fatal(v, err)
		}
	}
	m.Forget("a")
	if v, _ := m.Get(t.Context(), "a", find); v != 2 {
		t.Error(v)
	}
	fault := errors.New("fault")
	if _, err := m.Get(t.Context(), "b", func() (int, error) { return 0, fault }); !errors.Is(err, fault) {
		t.Error(err)
	}
	if v, err := m.Get(t.Context(), "b", find); v != 3 || err != nil {
		t.Error("an error was remembered:", v, err)
	}
}

// Several goroutines share one search, and its error.
func TestOneSearch(t *testing.T) {
	fault := errors.New("fault")
	for _, want := range []error{nil, fault} {
		synctest.Test(t, func(t *testing.T) {
			var m Map[string, int]
			var searches int
			release := make(chan struct{})
			var group sync.WaitGroup
			for range 5 {
				group.Go(func() {
					_, err := m.Get(t.Context(), "a", func() (int, error) {
						searches++
						<-release
						return 1, want
					})
					if !errors.Is(err, want) {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			close(release)
			group.Wait()
			if searches != 1 {
				t.Errorf("%d searches", searches)
			}
		})
	}
}

// A cancelled or a panicking search is not the result of the calls that wait for it.
func TestOtherCallEnds(t *testing.T) {
	for name, end := range map[string]func() (int, error){
		"cancelled": func() (int, error) { return 0, diag.New(diag.Cancelled, "x") },
		"panic":     func() (int, error) { panic("x") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var m Map[string, int]
				release := make(chan struct{})
				go func() {
					defer func() { _ = recover() }()
					_, _ = m.Get(t.Context(), "a", func() (int, error) {
						<-release
						return end()
					})
				}()
				synctest.Wait()
				waiting := make(chan int)
				go func() {
					v, _ := m.Get(t.Context(), "a", func() (int, error) { return 7, nil })
					waiting <- v
				}()
				synctest.Wait()
				close(release)
				if v := <-waiting; v != 7 {
					t.Error(v)
				}
			})
		})
	}
}

// A waiting call ends with its context.
func TestWaitCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Map[string, int]
		release := make(chan struct{})
		go func() {
			_, _ = m.Get(t.Context(), "a", func() (int, error) {
				<-release
				return 1, nil
			})
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.Get(ctx, "a", func() (int, error) { return 2, nil }); diag.CodeOf(err) != diag.Cancelled {
			t.Error(err)
		}
		close(release)
	})
}

// A value that is not valid is found again, from the former one, which survives an error.
func TestGetFact(t *testing.T) {
	var m Map[string, int]
	valid := true
	isValid := func(int) bool { return valid }
	next := func(former int) (int, error) { return former + 1, nil }
	check := func(want int) {
		t.Helper()
		if v, err := m.GetFact(t.Context(), "a", Fact[int]{Find: next, Valid: isValid}); v != want || err != nil {
			t.Errorf("%d %v, want %d", v, err, want)
		}
	}
	check(1)
	check(1)
	valid = false
	check(2)
	fault := errors.New("fault")
	fails := Fact[int]{Find: func(int) (int, error) { return 0, fault }, Valid: isValid}
	if _, err := m.GetFact(t.Context(), "a", fails); !errors.Is(err, fault) {
		t.Error(err)
	}
	check(3)
	valid = true
	check(3)
}

// A call that waited judges the value itself: it may know of a later change.
func TestWaitingCallJudges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Map[string, int]
		release := make(chan struct{})
		go func() {
			_, _ = m.Get(t.Context(), "a", func() (int, error) {
				<-release
				return 1, nil
			})
		}()
		synctest.Wait()
		got := make(chan int)
		go func() {
			v, _ := m.GetFact(t.Context(), "a", Fact[int]{
				Find:  func(former int) (int, error) { return former + 1, nil },
				Valid: func(v int) bool { return v > 1 },
			})
			got <- v
		}()
		synctest.Wait()
		close(release)
		if v := <-got; v != 2 {
			t.Error(v)
		}
	})
}

func TestMax(t *testing.T) {
	m := Map[int, int]{Max: 2}
	searches := 0
	get := func(key int) {
		_, _ = m.Get(t.Context(), key, func() (int, error) {
			searches++
			return key, nil
		})
	}
	for _, key := range []int{1, 2, 1, 2, 3, 3, 1} {
		get(key)
	}
	if searches != 4 || len(m.calls) != 2 {
		t.Errorf("%d searches, %d keys", searches, len(m.calls))
	}
}
