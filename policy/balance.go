package policy

import (
	"fmt"
	"time"

	"github.com/ryeos/rye/diag"
)

// The limits of money: of a thread, and of the user account in a day and in a month.
const (
	LimitSpend = "spend"
	LimitDay   = "spend.per_day"
	LimitMonth = "spend.per_month"
)

// Balance is the maximum that bounds an account now, of several the one with the lowest rest.
type Balance struct {
	Limit    string // LimitSpend, LimitDay or LimitMonth
	Spent    USD
	Reserved USD
	Max      USD
	Period   string    // the day or the month, such as 2026-11-30 or 2026-11; "" for LimitSpend
	Renews   time.Time // when the day or the month ends; zero for LimitSpend
}

// Left returns the amount that can be reserved.
func (b Balance) Left() USD {
	return max(0, b.Max-b.Spent-b.Reserved)
}

// Exceeded returns the error for an amount that is more than the rest: BUDGET_EXCEEDED with
// the limit, its figures, and for a day or a month when it renews and which setting it is.
// doing names the thread that needs it.
func (b Balance) Exceeded(doing string, needed USD) *diag.Error {
	e := diag.New(diag.BudgetExceeded, "%s: %s; up to %s USD are needed", doing, b.text(), needed)
	e.
		WithDetail("limit", b.Limit).
		WithDetail("value", b.Spent.String()).
		WithDetail("max", b.Max.String())
	e.
		WithDetail("reserved", b.Reserved.String()).
		WithDetail("left", b.Left().String()).
		WithDetail("needed", needed.String())
	if b.Limit != LimitSpend {
		e.
			WithDetail("renews", b.Renews.UTC().Format(time.RFC3339)).
			WithDetail("setting", "config:"+AllowanceID+" "+b.Limit)
	}
	return e
}

func (b Balance) text() string {
	if b.Limit == LimitSpend {
		text := fmt.Sprintf("its limit of spend is reached: %s of %s USD are spent", b.Spent, b.Max)
		if b.Reserved > 0 {
			text += fmt.Sprintf(", %s USD are reserved for the threads that it started and for its calls", b.Reserved)
		}
		return text
	}
	period := map[string]string{LimitDay: "day", LimitMonth: "month"}[b.Limit]
	return fmt.Sprintf("the limit of your account for the %s %s is reached, %s of config:%s: %s of %s USD are spent and %s USD reserved by all threads; it renews on %s",
		period, b.Period, b.Limit, AllowanceID, b.Spent, b.Max, b.Reserved, b.Renews.UTC().Format("2006-01-02 at 15:04 UTC"))
}
