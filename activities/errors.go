package activities

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"harness/artifacts"
	"harness/sandbox"
)

// Error types as Temporal shows them. Whether one is retried is fixed here.
const (
	// Never retried.
	ErrInvalidSpec      = "InvalidSpec"
	ErrDatasetIntegrity = "DatasetIntegrity"
	ErrImageNotFound    = "ImageNotFound"
	ErrImageUnsupported = "ImageUnsupported"
	ErrPolicyViolation  = "PolicyViolation"
	ErrQuotaExceeded    = "QuotaExceeded"
	ErrUnprocessable    = "Unprocessable" // our own code fails on these bytes, and would again
	// Retried with back-off.
	ErrImagePull         = "ImagePull"
	ErrRegistryThrottled = "RegistryThrottled"
	ErrSandboxCreate     = "SandboxCreate"
	ErrSandboxLost       = "SandboxLost"
	ErrRuntimeUnhealthy  = "RuntimeUnhealthy"
	ErrArtifactStore     = "ArtifactStore"
	ErrAgentUnavailable  = "AgentUnavailable"
	ErrWorkerStopping    = "WorkerStopping"
	ErrInternal          = "Internal"
)

// retryable is the one place that says which types are worth another try.
var retryable = map[string]bool{
	ErrInvalidSpec: false, ErrDatasetIntegrity: false, ErrImageNotFound: false,
	ErrImageUnsupported: false, ErrPolicyViolation: false, ErrQuotaExceeded: false, ErrUnprocessable: false,
	ErrImagePull: true, ErrRegistryThrottled: true, ErrSandboxCreate: true,
	ErrSandboxLost: true, ErrRuntimeUnhealthy: true, ErrArtifactStore: true,
	ErrAgentUnavailable: true, ErrWorkerStopping: true, ErrInternal: true,
}

// maxMessage keeps a failure well under what Temporal stores of one (4 KiB).
const maxMessage = 2000

// NewError is the constructor of all activity errors.
func NewError(class string, err error) error {
	// Parts of it may come from outside, and Temporal takes nothing but UTF-8.
	msg := err.Error()
	if len(msg) > maxMessage {
		msg = msg[:maxMessage] + "..."
	}
	msg = strings.ToValidUTF8(msg, "\uFFFD")
	return temporal.NewApplicationErrorWithOptions(msg, class, temporal.ApplicationErrorOptions{
		NonRetryable: !retryable[class],
	})
}

// Classify turns an error of a lower layer into an activity error; nil and
// cancellation errors pass unchanged. A typed error keeps its type, also when
// it was wrapped: Temporal looks at the outermost error only.
func Classify(err error) error {
	var app *temporal.ApplicationError
	switch {
	case err == nil || errors.Is(err, context.Canceled) || temporal.IsCanceledError(err):
		return err
	case errors.As(err, &app):
		if err == error(app) { //nolint:errorlint // is it the outermost?
			return err
		}
		return NewError(app.Type(), err)
	case damaged(err):
		return NewError(ErrDatasetIntegrity, err)
	}
	for _, known := range []struct {
		err   error
		class string
	}{
		{errStopping, ErrWorkerStopping},
		{sandbox.ErrInvalidSpec, ErrInvalidSpec},
		{sandbox.ErrImageNotFound, ErrImageNotFound},
		{sandbox.ErrImageUnsupported, ErrImageUnsupported},
		{sandbox.ErrCreate, ErrSandboxCreate},
		{sandbox.ErrLost, ErrSandboxLost},
		{sandbox.ErrClosed, ErrSandboxLost},
		{sandbox.ErrUnhealthy, ErrRuntimeUnhealthy},
	} {
		if errors.Is(err, known.err) {
			return NewError(known.class, err)
		}
	}
	return NewError(ErrInternal, err)
}

// damaged reports whether what should be stored is missing or not what it
// should be: asking again gives the same.
func damaged(err error) bool {
	return errors.Is(err, artifacts.ErrNotFound) || errors.Is(err, artifacts.ErrCorrupt) ||
		errors.Is(err, artifacts.ErrBadKey) || errors.Is(err, artifacts.ErrTooLarge)
}

// storeError is a fault met at the artifact store while doing what.
func storeError(what string, err error) error {
	err = fmt.Errorf("%s: %w", what, err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case damaged(err):
		return NewError(ErrDatasetIntegrity, err)
	}
	return NewError(ErrArtifactStore, err)
}

// ErrorClass returns the type of an activity error as workflows see it, looking
// through Temporal's wrappers, and its message. The type is one of the
// constants above, whatever the error.
func ErrorClass(err error) (class, message string) {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		if _, known := retryable[app.Type()]; known {
			return app.Type(), app.Message()
		}
		return ErrInternal, fmt.Sprintf("%s: %s", app.Type(), app.Message()) // e.g. a panic
	}
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		if timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT {
			return ErrSandboxLost, "the worker went silent"
		}
		return ErrSandboxLost, fmt.Sprintf("it did not end in time (%s)", timeout.TimeoutType())
	}
	return ErrInternal, err.Error()
}

// ending says why an activity that runs sandboxes failed: by what ended its
// context, if anything did, else by err itself.
func ending(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case err == nil || cause == nil:
		return Classify(err)
	case temporal.IsCanceledError(cause):
		return temporal.NewCanceledError()
	case errors.Is(cause, errStopping) || errors.Is(cause, worker.ErrWorkerShutdown):
		return NewError(ErrWorkerStopping, cause)
	}
	return NewError(ErrSandboxLost, fmt.Errorf("gave up after losing touch with Temporal: %w", cause))
}

// guard turns a panic over bytes that a candidate made into an error that is not
// retried: they would do it again, and nobody else's trial is to suffer.
func (a *Activities) guard(what string, err *error) {
	if r := recover(); r != nil {
		a.log.Error("panic over a trial's bytes", "doing", what, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		*err = NewError(ErrUnprocessable, fmt.Errorf("%s: panic: %v", what, r))
	}
}
