package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

const hubCommit = "1234567890123456789012345678901234567890"

// hubCmd is the script command `hub FOLDER`: a Hugging Face hub whose dataset
// org/name holds the folder's files. A file with "lies" in its name is sent with
// other content than is listed.
func hubCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hub FOLDER")
	}
	files := map[string]string{}
	root := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ok := strings.CutPrefix(r.URL.Path, "/api/datasets/org/name/")
		name, isFile := strings.CutPrefix(r.URL.Path, "/datasets/org/name/resolve/"+hubCommit+"/")
		text := files[name]
		switch {
		case ok && path == "revision/main":
			fmt.Fprintf(w, `{"sha":%q}`, hubCommit)
		case ok && path == "tree/"+hubCommit:
			var list []map[string]any
			for name, text := range files {
				sum := sha256.Sum256([]byte(text))
				list = append(list, map[string]any{"type": "file", "path": name, "lfs": map[string]any{"oid": hex.EncodeToString(sum[:]), "size": len(text)}})
			}
			_ = json.NewEncoder(w).Encode(list)
		case isFile && strings.Contains(name, "lies"):
			_, _ = fmt.Fprint(w, strings.Repeat("x", len(text)))
		case isFile:
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	ts.Defer(srv.Close)
	ts.Setenv("HF_ENDPOINT", srv.URL)
	ts.Setenv("HF_TOKEN", "")
	ts.Setenv("HF_HUB_OFFLINE", "")
}
