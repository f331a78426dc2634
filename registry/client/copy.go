package client

import (
	"context"
	"strings"

	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/openat"
	"github.com/ryeos/rye/registry/wire"
)

// copyHead begins the first line of the copy of an index, which has its ETag. One file has
// both: the ETag of another state would keep an old copy for good.
const copyHead = "rye.index/v1 "

const maxETag = 512

// readCopy returns the index of a bundle that this account keeps, with its ETag; nil if
// there is none, or a damaged one.
func readCopy(dir atomicfile.Base, id wire.ID) (lines []*wire.Line, etag string) {
	kept, err := openat.ReadRegular(
		dir.Path(indexDir+id.IndexPath()),
		wire.MaxIndex+maxETag+int64(len(copyHead))+1,
	)
	if err != nil {
		return nil, ""
	}
	head, body, ok := strings.Cut(string(kept), "\n")
	etag, ok2 := strings.CutPrefix(head, copyHead)
	if lines, err = wire.ParseIndex([]byte(body), id); err != nil ||
		!ok ||
		!ok2 ||
		len(lines) == 0 {
		return nil, ""
	}
	return lines, etag
}

// keepCopy keeps an index as it was served, unless another process kept a newer one since
// this one was asked for. It returns the newer of both.
func (h *Host) keepCopy(
	ctx context.Context,
	id wire.ID,
	lines []*wire.Line,
	f file,
) ([]*wire.Line, error) {
	l, err := h.dir.LockWithin(ctx, lockName, lockWait)
	if err != nil {
		return lines, ctx.Err() // a copy saves requests only
	}
	defer l.Release()
	now, _ := readCopy(h.dir, id)
	if err := h.continues(id, now, lines); err != nil {
		if h.continues(id, lines, now) == nil {
			return now, nil
		}
		return nil, err
	}
	if len(f.etag) > maxETag || strings.ContainsAny(f.etag, "\r\n") {
		f.etag = ""
	}
	_ = h.dir.Write(
		indexDir+id.IndexPath(),
		append([]byte(copyHead+f.etag+"\n"), f.body...),
		0o600,
	) // a copy that saves requests
	return lines, nil
}
