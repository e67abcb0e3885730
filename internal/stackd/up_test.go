package stackd

import (
	"errors"
	"strings"
	"testing"

	"harness/eval"
	"harness/internal/localstack"
	"harness/internal/session"
)

func TestCheckRunning(t *testing.T) {
	up := localstack.State{Mode: localstack.ModeUp, Store: "/home/artifacts", Slots: 2}
	for _, c := range []struct {
		name string
		o    Options
		says string // "" when it fits
	}{
		{"nothing asked", Options{}, ""},
		{"the same", Options{Slots: 2, Session: session.Config{Store: "/home/artifacts"}}, ""},
		{"s3", Options{S3: true}, "has no S3 server"},
		{"another store", Options{Session: session.Config{Store: "/other"}}, "keeps its artifacts in /home/artifacts"},
		{"other slots", Options{Slots: 3}, "has 2 slots"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.o.checkRunning(up)
			var mismatch *session.MismatchError
			switch {
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says != "" && (!errors.As(err, &mismatch) || !strings.Contains(err.Error(), c.says)):
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPrint(t *testing.T) {
	var b strings.Builder
	if err := Print(&b, localstack.State{Mode: localstack.ModeUp, Version: "v1", Temporal: "127.0.0.1:1", TemporalUI: "http://127.0.0.1:2", Slots: 2}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"version   v1\n", "web UI    http://127.0.0.1:2\n", "slots     2"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "s3") {
		t.Errorf("it shows what there is not:\n%s", b.String())
	}
}

func TestSlots(t *testing.T) {
	if got := (Options{Slots: 7, Limits: eval.DefaultLimits()}).slots(); got != 7 {
		t.Errorf("got %d slots, want what was asked for", got)
	}
	if got := (Options{Limits: eval.DefaultLimits()}).slots(); got < 1 {
		t.Errorf("got %d slots", got)
	}
}
