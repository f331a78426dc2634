package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ryeos/rye/diag"
	"github.com/ryeos/rye/internal/atomicfile"
	"github.com/ryeos/rye/internal/jsonx"
	"github.com/ryeos/rye/registry/wire"
)

// logFiles are the files of the log below public/.
type logFiles struct{ base atomicfile.Base }

func logPath(p string) string {
	return publicDir + wire.LogPath + "/" + p
}

// Read implements log.Files.
func (f logFiles) Read(_ context.Context, p string, limit int64) ([]byte, error) {
	return readFile(f.base.Path(logPath(p)), limit)
}

// Write implements log.Files.
func (f logFiles) Write(p string, b []byte) error {
	return writePublic(f.base, wire.LogPath+"/"+p, b)
}

// writePublic replaces a static file. The path begins with a slash.
func writePublic(base atomicfile.Base, p string, b []byte) error {
	return base.Mode(0o755).Write(publicDir+p, b, 0o644)
}

func (s *Server) writePublic(p string, b []byte) error {
	return writePublic(s.base, p, b)
}

// writeChanged is writePublic for a file that may have these bytes.
func (s *Server) writeChanged(p string, b []byte) error {
	have, err := readFile(s.base.Path(publicDir+p), int64(len(b))+1)
	if err == nil && bytes.Equal(have, b) {
		return nil
	}
	return s.writePublic(p, b)
}

// writable returns an error for a bundle whose files cannot exist: its id is not valid, or
// its path leads through a file, or is a folder.
func (s *Server) writable(name string, id wire.ID) error {
	if _, err := wire.ParseID(name); err != nil {
		return err
	}
	for _, p := range []string{publicDir + wire.IndexPath + id.IndexPath(), foundFile(id)} {
		info, err := os.Stat(s.base.Path(p))
		if err == nil && !info.Mode().IsRegular() {
			return diag.New(diag.FileSystemError, "writing %s: it is not a file", p)
		}
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			info, err := os.Stat(s.base.Path(dir))
			if err == nil && !info.IsDir() {
				return diag.New(diag.FileSystemError, "writing %s: %s is not a folder", p, dir)
			}
		}
	}
	return nil
}

func (s *Server) readPublic(p string, limit int64) ([]byte, error) {
	return readFile(s.base.Path(publicDir+p), limit)
}

func readFile(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, diag.New(diag.TooLarge, "reading %s: it is longer than %d bytes", file, limit)
	}
	return b, err
}

func randomOf(r io.Reader) io.Reader {
	if r == nil {
		return rand.Reader
	}
	return r
}

func trimLine(b []byte) []byte {
	return bytes.TrimRight(b, "\r\n")
}

func cutLine(b []byte) (first, second string, ok bool) {
	first, second, ok = strings.Cut(strings.TrimSpace(string(b)), "\n")
	return first, second, ok && first != "" && second != ""
}

// Config is the file config.json, which the operator writes.
type Config struct {
	OIDC      []wire.OIDC  `json:"oidc"`
	Limits    ConfigLimits `json:"limits"`
	Protected []string     `json:"protected"` // ids whose names others may not imitate
	Allowed   []string     `json:"allowed"`   // ids that may imitate one
}

// ConfigLimits change limits; zero keeps the default.
type ConfigLimits struct {
	PublishPerHour     int   `json:"publish_per_hour"`     // by one key
	PublishPerDay      int   `json:"publish_per_day"`      // in one namespace
	WritesPerHour      int   `json:"writes_per_hour"`      // from one address
	NamespacesPerDay   int   `json:"namespaces_per_day"`   // from one address
	ArchiveBytes       int64 `json:"archive_bytes"`        // at most 64 MiB
	TransferDelayHours int   `json:"transfer_delay_hours"` // of a namespace, at least 1
}

func readConfig(dir string) (Config, error) {
	var c Config
	file := filepath.Join(dir, configFile)
	b, err := readFile(file, 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, diag.New(diag.ConfigError, "reading %s: %w", file, err)
	}
	if err == nil {
		if _, found := jsonx.Parse(b); diag.Failed(found) {
			return c, diag.FromFindings("reading "+file, diag.WithPath(found, configFile))
		}
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return c, diag.New(diag.ConfigError, "reading %s: %w", file, err)
		}
	}
	l := &c.Limits
	for at, def := range map[*int]int{&l.PublishPerHour: 60, &l.PublishPerDay: 200, &l.WritesPerHour: 600, &l.NamespacesPerDay: 5, &l.TransferDelayHours: 7 * 24} {
		if *at < 0 {
			return c, diag.New(diag.ConfigError, "reading %s: a limit is negative", file)
		}
		if *at == 0 {
			*at = def
		}
	}
	if l.ArchiveBytes <= 0 || l.ArchiveBytes > wire.MaxArchive {
		l.ArchiveBytes = wire.MaxArchive
	}
	for _, o := range c.OIDC {
		if wire.NamespaceForm(o.Alias+"~x") != wire.FormOIDC ||
			!strings.HasPrefix(o.Issuer, "https://") && !strings.HasPrefix(o.Issuer, "http://127.0.0.1:") ||
			o.OwnerClaim == "" {
			return c, diag.New(diag.ConfigError, "reading %s: oidc: an entry needs alias, issuer (https://…) and owner_claim", file)
		}
	}
	for _, id := range append(append([]string{}, c.Protected...), c.Allowed...) {
		if _, err := wire.ParseID(id); err != nil {
			return c, diag.New(diag.ConfigError, "reading %s: %w", file, err)
		}
	}
	return c, nil
}

func (s *Server) discovery() []byte {
	return wire.NewDiscovery(s.host, s.key, s.config.OIDC, wire.Limits{ArchiveBytes: s.config.Limits.ArchiveBytes, Files: wire.MaxFiles, PublishPerHour: s.config.Limits.PublishPerHour}).Render()
}

// archiveFile returns the path of an archive below public/.
func archiveFile(digest string) string {
	return wire.ArchivePath + wire.ArchiveFile(digest)
}
