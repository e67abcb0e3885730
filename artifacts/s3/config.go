package s3

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	"harness/artifacts"
)

// maxPrefix keeps prefix and key together within the 1,024 bytes of S3.
const maxPrefix = 1024 - artifacts.MaxKeyBytes - 1

// Config says which bucket holds the artifacts and how it is reached.
type Config struct {
	Bucket string
	// Prefix is the folder in the bucket, without slashes around it; "" is the whole bucket.
	Prefix string
	// Endpoint is the server's URL, "http://host:port" or "https://host". "" is Amazon S3.
	Endpoint string
	// Region "" asks the server.
	Region string
	// AccessKey and SecretKey are both set, or both empty: then AWS's shared
	// credentials file and, on Amazon, the machine's role are used.
	AccessKey, SecretKey, SessionToken string
	// Style is how the bucket is addressed: "path", "virtual", or "" to let the endpoint decide
	// (virtual on Amazon, path elsewhere).
	Style string
	// CAFile holds PEM certificates to trust in place of the system's.
	CAFile string
	// CreateBucket makes the bucket when it is absent.
	CreateBucket bool
	// Retries of one request after a transient fault, about a second apart; 0 means 10.
	Retries int
	// SpoolDir takes objects over a mebibyte while their size is not known; "" is the system's temporary folder.
	SpoolDir string
}

// FromURL reads s3://bucket/prefix with the optional parameters endpoint, region,
// style, create and retries, and what they leave open from the environment:
// HARNESS_S3_ENDPOINT, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION,
// AWS_DEFAULT_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN and AWS_CA_BUNDLE. Credentials are never taken from the URL.
func FromURL(raw string, getenv func(string) string) (Config, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return Config{}, fmt.Errorf("read S3 address: %w", err)
	}
	if u.Scheme != "s3" || u.Host == "" {
		return Config{}, fmt.Errorf("read S3 address %q: want s3://bucket/prefix", u.Redacted())
	}
	if u.User != nil {
		return Config{}, fmt.Errorf("read S3 address %q: credentials don't belong into it; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", u.Redacted())
	}
	first := func(names ...string) string {
		for _, n := range names {
			if v := getenv(n); v != "" {
				return v
			}
		}
		return ""
	}
	c := Config{
		Bucket:       u.Host,
		Prefix:       strings.Trim(u.Path, "/"),
		Endpoint:     first("HARNESS_S3_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
		Region:       first("AWS_REGION", "AWS_DEFAULT_REGION"),
		AccessKey:    getenv("AWS_ACCESS_KEY_ID"),
		SecretKey:    getenv("AWS_SECRET_ACCESS_KEY"),
		SessionToken: getenv("AWS_SESSION_TOKEN"),
		CAFile:       getenv("AWS_CA_BUNDLE"),
	}
	for name, values := range u.Query() {
		v := values[len(values)-1]
		switch name {
		case "endpoint":
			c.Endpoint = v
		case "region":
			c.Region = v
		case "style":
			c.Style = v
		case "create":
			c.CreateBucket, err = strconv.ParseBool(v)
		case "retries":
			c.Retries, err = strconv.Atoi(v)
		default:
			err = errors.New("it is not known (endpoint, region, style, create and retries are)")
		}
		if err != nil {
			return Config{}, fmt.Errorf("read S3 address %q: parameter %s: %w", raw, name, err)
		}
	}
	return c, c.Validate()
}

// Validate reports everything in the configuration that can't work.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("S3 store: "+format, args...)) }
	if n := len(c.Bucket); n < 3 || n > 63 || strings.Trim(c.Bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
		bad("bucket %q: want 3 to 63 of a-z, 0-9, \".\" and \"-\"", c.Bucket)
	}
	if len(c.Prefix) > maxPrefix {
		bad("prefix has %d bytes, at most %d are allowed", len(c.Prefix), maxPrefix)
	} else if c.Prefix != "" {
		if err := artifacts.CheckKey(c.Prefix); err != nil {
			bad("prefix: %w", err)
		}
	}
	if c.Endpoint != "" {
		u, err := url.Parse(c.Endpoint)
		switch {
		case err != nil:
			bad("endpoint: %w", err)
		case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			bad("endpoint %q: want http://host:port or https://host", u.Redacted())
		case u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "":
			bad("endpoint %q: only scheme, host and port are allowed", u.Redacted())
		}
	}
	if (c.AccessKey == "") != (c.SecretKey == "") {
		bad("set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither")
	}
	switch c.Style {
	case "", "path", "virtual":
	default:
		bad("style %q: want path or virtual", c.Style)
	}
	if c.Retries < 0 || c.Retries > 100 {
		bad("retries = %d: want 0 to 100", c.Retries)
	}
	return errors.Join(errs...)
}

// URL names the store for people, without credentials.
func (c Config) URL() string { return strings.TrimSuffix("s3://"+c.Bucket+"/"+c.Prefix, "/") }

// String hides the credentials.
func (c Config) String() string { return c.URL() + " at " + c.endpoint() }

// LogValue hides the credentials.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (c Config) endpoint() string {
	if c.Endpoint == "" {
		return "https://s3.amazonaws.com"
	}
	return c.Endpoint
}

func (c Config) retries() int {
	if c.Retries == 0 {
		return 10
	}
	return c.Retries
}
