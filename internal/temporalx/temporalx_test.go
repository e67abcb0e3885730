package temporalx_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"harness/internal/temporalx"
)

// With no server there, the message names the address and what to look at.
func TestDialNobody(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = temporalx.Dial(ctx, address, "space", "test", slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "space") || !strings.Contains(err.Error(), "is the server up") {
		t.Errorf("error %v", err)
	}
}
