// Package temporalx connects to a Temporal server: dialling with our defaults,
// and the search attributes that workflows set.
package temporalx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

// DefaultNamespace is used when none is given.
const DefaultNamespace = "default"

// Dial connects to the server at address ("host:port") and checks that it answers.
func Dial(ctx context.Context, address, namespace, identity string, logger *slog.Logger) (client.Client, error) {
	if namespace == "" {
		namespace = DefaultNamespace
	}
	c, err := client.DialContext(ctx, client.Options{
		HostPort: address, Namespace: namespace, Identity: identity,
		Logger: log.NewStructuredLogger(logger),
	})
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal at %s (namespace %s): %w; is the server up and the address right?", address, namespace, err)
	}
	return c, nil
}

// EnsureSearchAttributes registers keyword attributes that the namespace lacks and
// waits until the server knows them. It needs a server that allows it; on one that
// does not, the error names the attributes so that an operator can add them.
func EnsureSearchAttributes(ctx context.Context, c client.Client, namespace string, names []string) error {
	if namespace == "" {
		namespace = DefaultNamespace
	}
	missing, err := missingAttributes(ctx, c, namespace, names)
	if err != nil || len(missing) == 0 {
		return err
	}
	want := map[string]enumspb.IndexedValueType{}
	for _, n := range missing {
		want[n] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		SearchAttributes: want, Namespace: namespace,
	})
	var exists *serviceerror.AlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("add search attributes %v (keywords) to namespace %s: %w; an operator can add them with `temporal operator search-attribute create`", missing, namespace, err)
	}
	// The server's own caches learn of new attributes with a delay.
	for {
		if missing, err = missingAttributes(ctx, c, namespace, names); err != nil || len(missing) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for search attributes %v: %w", missing, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func missingAttributes(ctx context.Context, c client.Client, namespace string, names []string) ([]string, error) {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return nil, fmt.Errorf("list search attributes of namespace %s: %w", namespace, err)
	}
	var missing []string
	for _, n := range names {
		if _, ok := have.CustomAttributes[n]; !ok {
			missing = append(missing, n)
		}
	}
	slices.Sort(missing)
	return missing, nil
}
