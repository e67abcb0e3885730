package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/minio/minio-go/v7"

	"harness/artifacts"
)

// fault gives what the server or the network says its word in the contract. The
// end of ctx wins over what it made of the request.
func (s *Store) fault(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var resp minio.ErrorResponse
	if !errors.As(err, &resp) {
		return fmt.Errorf("reach the server: %w", err)
	}
	switch resp.Code {
	case minio.NoSuchKey:
		return artifacts.ErrNotFound
	case minio.NoSuchBucket:
		return fmt.Errorf("bucket %q does not exist: %w", s.cfg.Bucket, err)
	case "XMinioParentIsObject", "XMinioObjectExistsAsDirectory":
		// MinIO keeps keys as a tree, in which an object can't be a folder too.
		return fmt.Errorf("%w: another object is its folder or below it: %w", artifacts.ErrBadKey, err)
	case minio.AccessDenied, "InvalidAccessKeyId", "SignatureDoesNotMatch":
		return fmt.Errorf("the server refuses the credentials (check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY and the rights they give): %w", err)
	}
	return fmt.Errorf("the server answered %s: %w", resp.Code, err)
}

// isTaken: a create-only write met an object.
func isTaken(err error) bool {
	var resp minio.ErrorResponse
	return errors.As(err, &resp) && (resp.StatusCode == http.StatusPreconditionFailed || resp.Code == minio.PreconditionFailed)
}

// isConflict: a create-only write met another one that is under way.
func isConflict(err error) bool {
	var resp minio.ErrorResponse
	return errors.As(err, &resp) && resp.Code == "ConditionalRequestConflict"
}

// isTransient: the network or the server may do better in a moment.
func isTransient(err error) bool {
	var resp minio.ErrorResponse
	if !errors.As(err, &resp) {
		return true
	}
	return resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests
}
