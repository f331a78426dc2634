package client

import (
	"github.com/ryeos/rye/registry/log"
	"github.com/ryeos/rye/registry/wire"
)

// receiptDiffers returns why the entry of a receipt is not the change that a signed
// statement demands, "" if it is.
func receiptDiffers(header string, r *wire.Receipt) string {
	e, err := log.ParseEntry([]byte(r.Entry))
	if err != nil {
		return "its log entry cannot be read: " + err.Error()
	}
	signed, err := wire.ParseHeader(header)
	if err != nil {
		return "the statement cannot be read: " + err.Error()
	}
	return printable(signed.Differs(e))
}
