package session

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"harness/artifacts"
	"harness/artifacts/s3"
	"harness/datasets/fetch"
	"harness/internal/localstack"
)

// getenvFor is the environment, with the keys of the local stack's own S3 server
// where url is one of its buckets.
func (c Config) getenvFor(url string) (func(string) string, error) {
	if !strings.HasPrefix(url, "s3://") {
		return os.Getenv, nil
	}
	keys, err := localstack.S3Keys(c.LocalStack(""), url)
	if err != nil {
		return nil, err
	}
	return func(name string) string {
		if v, ok := keys[name]; ok {
			return v
		}
		return os.Getenv(name)
	}, nil
}

// OpenObjects opens an address of S3 for reading, with the keys that a store of
// that address would have.
func (c Config) OpenObjects(ctx context.Context, url string) (fetch.Objects, error) {
	getenv, err := c.getenvFor(url)
	if err != nil {
		return nil, err
	}
	o, err := s3.OpenObjects(ctx, url, getenv)
	if err != nil {
		return nil, err
	}
	return objects{o}, nil
}

// objects gives the driver the shape that fetch wants.
type objects struct{ *s3.Objects }

var _ fetch.Objects = objects{}

func (o objects) List(ctx context.Context, limit int) ([]fetch.Object, error) {
	list, err := o.Objects.List(ctx, limit)
	out := make([]fetch.Object, len(list))
	for i, obj := range list {
		out[i] = fetch.Object(obj)
	}
	if errors.Is(err, artifacts.ErrNotFound) {
		err = &fetch.AddressError{Address: o.URL(), Reason: "there is no such object, and none below it"}
	}
	return out, err
}

func (o objects) Open(ctx context.Context, obj fetch.Object, offset int64) (io.ReadCloser, error) {
	return o.Objects.Open(ctx, s3.Object(obj), offset)
}
