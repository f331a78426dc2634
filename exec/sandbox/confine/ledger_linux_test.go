package confine

import "testing"

func TestLedgerTicks(t *testing.T) {
	for _, c := range []struct {
		name    string
		missing []int64
		lost    int64
	}{
		{"all are waited for", []int64{0, 0, 0}, 0},
		{"read before it waited", []int64{50, -50, 0}, 0},
		{"never waited for", []int64{50, 0, 0}, 50},
		{"each time", []int64{50, 50, 50, 0}, 150},
		{"short ones are waited for", []int64{-5, -5}, 0},
		{"a part", []int64{50, -20, 0}, 30},
	} {
		var l ledger
		for _, n := range c.missing {
			l.account(n)
		}
		if l.lost != c.lost {
			t.Errorf("%s: %d instead of %d", c.name, l.lost, c.lost)
		}
	}
}

func TestLedgerWritten(t *testing.T) {
	var l ledger
	for i, c := range [][2]int64{{10, 10}, {4, 10}, {12, 12}, {5, 12}, {5, 12}, {9, 16}, {2, 16}, {1, 16}, {3, 18}} {
		if got := l.wrote(c[0]); got != c[1] {
			t.Errorf("%d: %d instead of %d", i, got, c[1])
		}
	}
}

// TestCompare has a process that is gone, one that waited for a child, and one whose number
// another process got.
func TestCompare(t *testing.T) {
	tab := &table{before: new([maxRows]row)}
	tab.nBefore = copy(tab.before[:], []row{{pid: 2, ticks: 9}, {pid: 3, ticks: 5, children: 1, start: 1}, {pid: 7, ticks: 20, start: 2}})
	tab.n = copy(tab.rows[:], []row{{pid: 3, start: 1, children: 8, ticks: 12}, {pid: 7, start: 3, ticks: 1}, {pid: 9, children: 2}})
	tab.compare()
	if tab.gone != 29 || tab.rows[0].reaped != 7 || tab.rows[1].reaped != 0 || tab.rows[2].reaped != 2 {
		t.Error(tab.gone, tab.rows[:3])
	}
}
