package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

type entry struct {
	h    tar.Header
	body string
}

func tarOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if e.h.Typeflag == 0 {
			e.h.Typeflag = tar.TypeReg
		}
		if e.h.Typeflag == tar.TypeReg {
			e.h.Size = int64(len(e.body))
		}
		if err := w.WriteHeader(&e.h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(name, body string) entry {
	return entry{tar.Header{Name: name, Mode: 0o644}, body}
}
func dir(name string) entry {
	return entry{h: tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}}
}
func link(kind byte, name, target string) entry {
	return entry{h: tar.Header{Name: name, Typeflag: kind, Linkname: target}}
}

func TestRewriteLayerRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		entries []entry
		want    string
	}{
		"parent path":            {[]entry{file("testbed/../../etc/passwd", "x")}, `holds ".."`},
		"outside":                {[]entry{file("etc/passwd", "x")}, "outside the outputs"},
		"absolute outside":       {[]entry{file("/etc/passwd", "x")}, "outside the outputs"},
		"beside the root":        {[]entry{file("testbed2/a", "x")}, "outside the outputs"},
		"through a link":         {[]entry{dir("testbed"), link(tar.TypeSymlink, "testbed/l", "/etc"), file("testbed/l/passwd", "x")}, "not a folder"},
		"below a file":           {[]entry{file("testbed/a", "x"), file("testbed/a/b", "y")}, "not a folder"},
		"twice":                  {[]entry{file("testbed/a", "x"), file("testbed/./a", "y")}, "comes twice"},
		"whiteout":               {[]entry{file("testbed/.wh.a", "")}, "would delete"},
		"opaque folder":          {[]entry{file("testbed/.wh..wh..opq", "")}, "would delete"},
		"hard link out":          {[]entry{link(tar.TypeLink, "testbed/a", "etc/shadow")}, "no file that came before"},
		"hard link up":           {[]entry{link(tar.TypeLink, "testbed/a", "../etc/shadow")}, `holds ".."`},
		"hard link to a link":    {[]entry{link(tar.TypeSymlink, "testbed/s", "/etc/shadow"), link(tar.TypeLink, "testbed/a", "testbed/s")}, "no file that came before"},
		"device":                 {[]entry{{h: tar.Header{Name: "testbed/d", Typeflag: tar.TypeBlock}}}, "block device"},
		"char device":            {[]entry{{h: tar.Header{Name: "testbed/d", Typeflag: tar.TypeChar}}}, "character device"},
		"pipe":                   {[]entry{{h: tar.Header{Name: "testbed/p", Typeflag: tar.TypeFifo}}}, "named pipe"},
		"long name":              {[]entry{file("testbed/"+strings.Repeat("a/", 600)+"b", "x")}, "at most 1024"},
		"too many":               {[]entry{file("testbed/1", ""), file("testbed/2", ""), file("testbed/3", ""), file("testbed/4", ""), file("testbed/5", "")}, "more than 4 entries"},
		"too large":              {[]entry{file("testbed/1", strings.Repeat("x", 101))}, "more than 100 bytes"},
		"endless symlink target": {[]entry{link(tar.TypeSymlink, "testbed/s", strings.Repeat("x", 2000))}, "target that can't be"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := rewriteLayer(context.Background(), io.Discard, bytes.NewReader(tarOf(t, tc.entries...)),
				layerPolicy{roots: []string{"/testbed"}, maxEntries: 4, maxBytes: 100})
			if !errors.Is(err, errLayer) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestRewriteLayerNormalises(t *testing.T) {
	late := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	early := time.Date(2020, 1, 1, 0, 0, 0, 5, time.UTC)
	in := func(at time.Time, uid int) []byte {
		return tarOf(t,
			entry{h: tar.Header{Name: "./testbed/", Typeflag: tar.TypeDir, Mode: 0o2775, Uid: uid, Uname: "me", ModTime: at}},
			entry{tar.Header{Name: "./testbed/run", Mode: 0o4755, Uid: uid, ModTime: at, PAXRecords: map[string]string{"SCHILY.xattr.security.capability": "x"}}, "#!"},
			entry{h: tar.Header{Name: "testbed/s", Typeflag: tar.TypeSymlink, Linkname: "/opt/venv/bin/python"}},
			link(tar.TypeLink, "testbed/h", "./testbed/run"),
		)
	}
	rewrite := func(b []byte) []byte {
		var out bytes.Buffer
		stats, err := rewriteLayer(context.Background(), &out, bytes.NewReader(b), layerPolicy{roots: []string{"/testbed"}, maxEntries: 10, maxBytes: 100})
		if err != nil || stats.Entries != 4 || stats.Bytes != 2 {
			t.Fatalf("rewriteLayer = %+v, %v", stats, err)
		}
		return out.Bytes()
	}
	out := rewrite(in(late, 1000))
	if !bytes.Equal(out, rewrite(in(late.AddDate(1, 0, 0), 7))) {
		t.Error("owners or times of the build are in the layer")
	}
	if bytes.Equal(out, rewrite(in(early, 0))) {
		t.Error("times before the epoch are lost")
	}
	tr := tar.NewReader(bytes.NewReader(out))
	for _, want := range []tar.Header{
		{Name: "testbed/", Typeflag: tar.TypeDir, Mode: 0o755 | 0o020},
		{Name: "testbed/run", Typeflag: tar.TypeReg, Mode: 0o755, Size: 2},
		{Name: "testbed/s", Typeflag: tar.TypeSymlink, Mode: 0o777, Linkname: "/opt/venv/bin/python"},
		{Name: "testbed/h", Typeflag: tar.TypeLink, Linkname: "testbed/run"},
	} {
		h, err := tr.Next()
		if err != nil {
			t.Fatal(err)
		}
		if h.Name != want.Name || h.Typeflag != want.Typeflag || h.Mode != want.Mode || h.Linkname != want.Linkname || h.Size != want.Size {
			t.Errorf("got %s %c %o %s %d, want %s %c %o %s %d", h.Name, h.Typeflag, h.Mode, h.Linkname, h.Size, want.Name, want.Typeflag, want.Mode, want.Linkname, want.Size)
		}
		if h.Uid != 0 || h.Uname != "" || h.ModTime.After(Epoch) || len(h.PAXRecords) != 0 {
			t.Errorf("%s: uid %d, user %q, time %v, records %v", h.Name, h.Uid, h.Uname, h.ModTime, h.PAXRecords)
		}
	}
}

func TestRewriteLayerOfBase(t *testing.T) {
	in := tarOf(t,
		dir("./dev"), entry{h: tar.Header{Name: "./dev/null", Typeflag: tar.TypeChar}},
		dir("./var"), dir("./var/lib"), dir("./var/lib/apt"), dir("./var/lib/apt/lists"), file("./var/lib/apt/lists/x", "x"),
		file("./etc/machine-id", "1"), file("./etc/hostname", "builder"),
		entry{tar.Header{Name: "./etc/shadow", Mode: 0o640, Gid: 42}, "root:*"},
		entry{h: tar.Header{Name: "./tmp", Typeflag: tar.TypeDir, Mode: 0o1777}},
	)
	var out bytes.Buffer
	if _, err := rewriteLayer(context.Background(), &out, bytes.NewReader(in), layerPolicy{maxEntries: 100, maxBytes: 100, keepOwners: true, drop: dropFromBase}); err != nil {
		t.Fatal(err)
	}
	got := map[string]*tar.Header{}
	for tr := tar.NewReader(&out); ; {
		h, err := tr.Next()
		if err != nil {
			break
		}
		got[h.Name] = h
	}
	for _, gone := range []string{"dev/null", "var/lib/apt/lists/x", "etc/machine-id", "etc/hostname"} {
		if got[gone] != nil {
			t.Errorf("%s is in the base", gone)
		}
	}
	if h := got["etc/shadow"]; h == nil || h.Gid != 42 || h.Mode != 0o640 {
		t.Errorf("etc/shadow = %+v", h)
	}
	if h := got["tmp/"]; h == nil || h.Mode != 0o1777 {
		t.Errorf("tmp = %+v", h)
	}
}

func FuzzRewriteLayer(f *testing.F) {
	f.Add([]byte("not a tar"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = rewriteLayer(t.Context(), io.Discard, bytes.NewReader(b), layerPolicy{roots: []string{"/a"}, maxEntries: 100, maxBytes: 1 << 20})
	})
}
