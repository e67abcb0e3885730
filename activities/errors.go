package activities

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"

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
	ErrImageUnsupported: false, ErrPolicyViolation: false, ErrQuotaExceeded: false,
	ErrImagePull: true, ErrRegistryThrottled: true, ErrSandboxCreate: true,
	ErrSandboxLost: true, ErrRuntimeUnhealthy: true, ErrArtifactStore: true,
	ErrAgentUnavailable: true, ErrWorkerStopping: true, ErrInternal: true,
}

// maxMessage keeps a failure well under what Temporal stores of one (4 KiB).
const maxMessage = 2000

// NewError is the constructor of all activity errors.
func NewError(class string, err error) error {
	msg := err.Error()
	if len(msg) > maxMessage {
		msg = msg[:maxMessage] + "..."
	}
	return temporal.NewApplicationErrorWithOptions(msg, class, temporal.ApplicationErrorOptions{
		NonRetryable: !retryable[class],
	})
}

// Classify turns an error of a lower layer into an activity error; nil, typed
// and cancellation errors pass unchanged.
func Classify(err error) error {
	var app *temporal.ApplicationError
	switch {
	case err == nil || errors.As(err, &app) || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, errStopping):
		return NewError(ErrWorkerStopping, err)
	case errors.Is(err, sandbox.ErrInvalidSpec):
		return NewError(ErrInvalidSpec, err)
	case errors.Is(err, sandbox.ErrImageNotFound):
		return NewError(ErrImageNotFound, err)
	case errors.Is(err, sandbox.ErrImageUnsupported):
		return NewError(ErrImageUnsupported, err)
	case errors.Is(err, sandbox.ErrCreate):
		return NewError(ErrSandboxCreate, err)
	case errors.Is(err, sandbox.ErrLost):
		return NewError(ErrSandboxLost, err)
	case errors.Is(err, sandbox.ErrUnhealthy):
		return NewError(ErrRuntimeUnhealthy, err)
	case errors.Is(err, artifacts.ErrNotFound), errors.Is(err, artifacts.ErrCorrupt), errors.Is(err, artifacts.ErrBadKey):
		return NewError(ErrDatasetIntegrity, err)
	}
	return NewError(ErrInternal, err)
}

// ErrorClass returns the type of an activity error as workflows see it, looking
// through Temporal's wrappers, and its message.
func ErrorClass(err error) (class, message string) {
	var app *temporal.ApplicationError
	if errors.As(err, &app) {
		return app.Type(), app.Message()
	}
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return ErrSandboxLost, fmt.Sprintf("the worker went silent (%s)", timeout.TimeoutType())
	}
	return ErrInternal, err.Error()
}

func storeError(what string, err error) error {
	if errors.Is(err, artifacts.ErrNotFound) || errors.Is(err, artifacts.ErrCorrupt) {
		return NewError(ErrDatasetIntegrity, fmt.Errorf("%s: %w", what, err))
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return NewError(ErrArtifactStore, fmt.Errorf("%s: %w", what, err))
}
