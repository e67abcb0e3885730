package activities_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
	"unicode/utf8"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"harness/activities"
	"harness/artifacts"
	"harness/internal/runs/runstest"
	"harness/sandbox"
)

// Every constant ErrX of the package is an error type with a retry decision.
func TestEveryTypeHasARetryDecision(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	table := activities.RetryTable()
	found := 0
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Err") {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		found++
		class := strings.Trim(lit.Value, `"`)
		if _, ok := table[class]; !ok {
			t.Errorf("%s has no retry decision", spec.Names[0].Name)
		}
		if "Err"+class != spec.Names[0].Name {
			t.Errorf("%s is shown as %q", spec.Names[0].Name, class)
		}
		return true
	})
	if found != len(table) {
		t.Errorf("%d constants, %d retry decisions", found, len(table))
	}
	for class, retry := range table {
		var app *temporal.ApplicationError
		if err := activities.NewError(class, errors.New("x")); !errors.As(err, &app) || app.NonRetryable() == retry || app.Type() != class {
			t.Errorf("NewError(%s) = %#v, want retryable %v", class, err, retry)
		}
	}
}

func TestClassify(t *testing.T) {
	typed := activities.NewError(activities.ErrQuotaExceeded, errors.New("x"))
	for _, c := range []struct {
		err   error
		class string
	}{
		{sandbox.ErrImageNotFound, activities.ErrImageNotFound},
		{sandbox.ErrImageUnsupported, activities.ErrImageUnsupported},
		{sandbox.ErrCreate, activities.ErrSandboxCreate},
		{sandbox.ErrLost, activities.ErrSandboxLost},
		{sandbox.ErrClosed, activities.ErrSandboxLost},
		{sandbox.ErrUnhealthy, activities.ErrRuntimeUnhealthy},
		{sandbox.ErrInvalidSpec, activities.ErrInvalidSpec},
		{artifacts.ErrNotFound, activities.ErrDatasetIntegrity},
		{artifacts.ErrCorrupt, activities.ErrDatasetIntegrity},
		{artifacts.ErrTooLarge, activities.ErrDatasetIntegrity},
		{artifacts.ErrBadKey, activities.ErrDatasetIntegrity},
		{activities.ErrStopping, activities.ErrWorkerStopping},
		{errors.New("anything else"), activities.ErrInternal},
		{context.DeadlineExceeded, activities.ErrInternal},
		{typed, activities.ErrQuotaExceeded},
	} {
		got := activities.Classify(fmt.Errorf("do a thing: %w", c.err))
		if class, msg := activities.ErrorClass(got); class != c.class || !strings.Contains(msg, "do a thing") {
			t.Errorf("%v: class %s, message %q; want %s", c.err, class, msg, c.class)
		}
	}
	if activities.Classify(nil) != nil {
		t.Error("no error became one")
	}
	for _, err := range []error{context.Canceled, temporal.NewCanceledError()} {
		if got := activities.Classify(err); !errors.Is(got, err) {
			t.Errorf("Classify(%v) = %v, cancellation must pass", err, got)
		}
	}
}

func TestErrorClassOfWhatWorkflowsSee(t *testing.T) {
	app := temporal.NewApplicationError
	for _, c := range []struct {
		name  string
		err   error
		class string
	}{
		{"a type of ours", app("m", activities.ErrImagePull), activities.ErrImagePull},
		{"a panic", app("boom", "PanicError"), activities.ErrInternal},
		{"silence", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil), activities.ErrSandboxLost},
		{"too long", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil), activities.ErrSandboxLost},
		{"given up while failing", temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, app("m", activities.ErrArtifactStore)), activities.ErrArtifactStore},
		{"anything", errors.New("x"), activities.ErrInternal},
	} {
		if class, msg := activities.ErrorClass(c.err); class != c.class || msg == "" {
			t.Errorf("%s: class %s, message %q; want %s", c.name, class, msg, c.class)
		}
	}
}

func TestErrorMessagesFitTemporal(t *testing.T) {
	for _, text := range []string{strings.Repeat("é", 4000), "bad \xff\xfe bytes", "\xc3"} {
		_, msg := activities.ErrorClass(activities.NewError(activities.ErrInternal, errors.New(text)))
		if !utf8.ValidString(msg) || len(msg) > 3000 {
			t.Errorf("message of %d bytes, valid UTF-8 %v", len(msg), utf8.ValidString(msg))
		}
	}
}

// What ended an activity's context decides what its error means.
func TestEnding(t *testing.T) {
	fault := errors.New("some consequence")
	with := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		return ctx
	}
	if err := activities.Ending(with(temporal.NewCanceledError()), fault); !temporal.IsCanceledError(err) {
		t.Errorf("cancelled by a person: %v", err)
	}
	for _, c := range []struct {
		ctx   context.Context
		class string
	}{
		{t.Context(), activities.ErrInternal},
		{with(activities.ErrStopping), activities.ErrWorkerStopping},
		{with(worker.ErrWorkerShutdown), activities.ErrWorkerStopping},
		{with(serviceerror.NewNotFound("workflow execution already completed")), activities.ErrSandboxLost},
		{with(serviceerror.NewUnavailable("no server")), activities.ErrSandboxLost},
	} {
		if class, msg := activities.ErrorClass(activities.Ending(c.ctx, fault)); class != c.class {
			t.Errorf("ended by %v: class %s (%s), want %s", context.Cause(c.ctx), class, msg, c.class)
		}
	}
	if err := activities.Ending(with(temporal.NewCanceledError()), nil); err != nil {
		t.Errorf("a result that came in time is thrown away: %v", err)
	}
}

func TestPanicsAreFinal(t *testing.T) {
	a, err := activities.New(activities.Config{Store: runstest.Store(t)})
	if err != nil {
		t.Fatal(err)
	}
	err = activities.Guarded(a, func() { _ = []int{}[len(t.Name())] })
	var app *temporal.ApplicationError
	if !errors.As(err, &app) || app.Type() != activities.ErrUnprocessable || !app.NonRetryable() {
		t.Errorf("error %v", err)
	}
}
