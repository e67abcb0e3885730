package storetest

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"harness/artifacts"
	"harness/eval"
)

func testHelpers(t *testing.T, s artifacts.Store) {
	ctx := t.Context()
	ref, err := artifacts.PutBytes(ctx, s, "a/b", []byte("data"), artifacts.PutOptions{CreateOnly: true})
	if err != nil || ref != (eval.Ref{Key: "a/b", SHA256: sum("data"), Size: 4}) {
		t.Fatalf("PutBytes = %+v, %v", ref, err)
	}
	if b, err := artifacts.GetBytes(ctx, s, "a/b", 4); err != nil || string(b) != "data" {
		t.Errorf("GetBytes = %q, %v", b, err)
	}
	_, err = artifacts.GetBytes(ctx, s, "a/b", 3)
	wantErr(t, "GetBytes over its limit", err, artifacts.ErrTooLarge)
	if b, err := artifacts.GetRef(ctx, s, ref, 100); err != nil || string(b) != "data" {
		t.Errorf("GetRef = %q, %v", b, err)
	}
	_, err = artifacts.GetRef(ctx, s, ref, 3)
	wantErr(t, "GetRef over its limit", err, artifacts.ErrTooLarge)

	blob := noise(1<<20, 5)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			ref, err := artifacts.PutCAS(ctx, s, []byte(blob))
			if err != nil || ref.Key != eval.CASKey(sum(blob)) {
				t.Errorf("PutCAS = %+v, %v", ref, err)
			}
		})
	}
	wg.Wait()
	wantGet(t, s, eval.CASKey(sum(blob)), blob)

	// A truncated blob is healed by the next writer.
	put(t, s, eval.CASKey(sum(blob)), blob[:100])
	if _, err := artifacts.PutCAS(ctx, s, []byte(blob)); err != nil {
		t.Fatal(err)
	}
	wantGet(t, s, eval.CASKey(sum(blob)), blob)
}

func testHelpersFindDamage(t *testing.T, s artifacts.Store) {
	put(t, s, "k", "right")
	good := eval.Ref{Key: "k", SHA256: sum("right"), Size: 5}
	for name, ref := range map[string]eval.Ref{
		"digest": {Key: "k", SHA256: sum("wrong"), Size: 5},
		"longer": {Key: "k", SHA256: good.SHA256, Size: 4},
		"cut":    {Key: "k", SHA256: good.SHA256, Size: 6},
	} {
		_, err := artifacts.GetRef(t.Context(), s, ref, 100)
		wantErr(t, "GetRef "+name, err, artifacts.ErrCorrupt)
	}
	rc, err := artifacts.OpenRef(t.Context(), s, good)
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	if b, err := io.ReadAll(rc); err != nil || string(b) != "right" {
		t.Errorf("OpenRef = %q, %v", b, err)
	}
	rc, err = artifacts.OpenRef(t.Context(), s, eval.Ref{Key: "k", SHA256: strings.Repeat("0", 64), Size: 5})
	if err == nil {
		defer rc.Close()
		_, err = io.ReadAll(rc)
	}
	if !errors.Is(err, artifacts.ErrCorrupt) {
		t.Errorf("OpenRef of damaged bytes: %v", err)
	}
}
