package main

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Who commits a repository into its image, when, and with which words: the
// image builder's values, so that the id of the only commit is known before the
// image exists. Eval scripts say HEAD and do not depend on it.
const (
	commitIdentity = "harness <harness@localhost> 1767225600 +0000" // 2026-01-01T00:00:00Z
	commitMessage  = "Base of the task\n"
)

// commitID computes the id that git gives to a first commit of dir's content.
func commitID(dir string) (string, error) {
	tree, err := treeID(dir)
	if err != nil {
		return "", err
	}
	body := fmt.Sprintf("tree %x\nauthor %s\ncommitter %s\n\n%s", tree, commitIdentity, commitIdentity, commitMessage)
	return hex.EncodeToString(objectID("commit", []byte(body))), nil
}

func treeID(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	// git sorts a folder as if its name ended in "/".
	key := func(e fs.DirEntry) []byte {
		if e.IsDir() {
			return []byte(e.Name() + "/")
		}
		return []byte(e.Name())
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return bytes.Compare(key(a), key(b)) })
	var body bytes.Buffer
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		var mode string
		var id []byte
		switch {
		case e.IsDir():
			mode = "40000"
			id, err = treeID(path)
		case e.Type().IsRegular():
			mode, id, err = blobID(path)
		default:
			err = fmt.Errorf("%s is neither a file nor a folder", path)
		}
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&body, "%s %s\x00%s", mode, e.Name(), id)
	}
	return objectID("tree", body.Bytes()), nil
}

func blobID(path string) (mode string, id []byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	mode = "100644"
	if info.Mode()&0o100 != 0 {
		mode = "100755"
	}
	return mode, objectID("blob", data), nil
}

func objectID(kind string, body []byte) []byte {
	sum := sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", kind, len(body), body))
	return sum[:]
}
