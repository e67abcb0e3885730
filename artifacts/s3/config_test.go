package s3_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"harness/artifacts/s3"
)

func TestFromURL(t *testing.T) {
	env := map[string]string{
		"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_REGION": "eu-west-1",
		"AWS_ENDPOINT_URL": "https://general", "HARNESS_S3_ENDPOINT": "http://minio:9000",
	}
	got, err := s3.FromURL("s3://bucket/a/b/?style=path&create=true&retries=3", func(n string) string { return env[n] })
	want := s3.Config{
		Bucket: "bucket", Prefix: "a/b", Endpoint: "http://minio:9000", Region: "eu-west-1",
		AccessKey: "id", SecretKey: "hush", Style: "path", CreateBucket: true, Retries: 3,
	}
	if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Errorf("FromURL = %#v, %v\nwant %#v", got, err, want)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("open", "store", got)
	for _, text := range []string{got.String(), fmt.Sprint(got), log.String()} {
		if strings.Contains(text, "hush") || !strings.Contains(text, "s3://bucket/a/b") {
			t.Errorf("as text: %q", text)
		}
	}

	got, err = s3.FromURL("s3://bucket?endpoint=https://other&region=r", func(string) string { return "" })
	if err != nil || got.Endpoint != "https://other" || got.Region != "r" || got.Prefix != "" || got.URL() != "s3://bucket" {
		t.Errorf("FromURL = %#v, %v", got, err)
	}
}

func TestFromURLRefuses(t *testing.T) {
	for raw, want := range map[string]string{
		"bucket/prefix":                           "want s3://bucket/prefix",
		"s3://":                                   "want s3://bucket/prefix",
		"https://bucket/x":                        "want s3://bucket/prefix",
		"s3://id:hush@bucket/x":                   "credentials don't belong into it",
		"s3://bucket/x?endpont=y":                 "endpont",
		"s3://bucket/x?create=perhaps":            "create",
		"s3://bucket/x?style=odd":                 "want path or virtual",
		"s3://bucket/a/../b":                      "prefix",
		"s3://bucket/.harness-tmp/b":              "reserved",
		"s3://Bucket/":                            "bucket",
		"s3://bucket?endpoint=minio:9":            "want http://host:port",
		"s3://bucket?endpoint=http://h/p":         "only scheme",
		"s3://bucket?retries=-1":                  "retries",
		"s3://bucket/" + strings.Repeat("p", 124): "prefix has 124 bytes",
	} {
		_, err := s3.FromURL(raw, func(string) string { return "" })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("FromURL(%q): got %v, want %q in it", raw, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("FromURL(%q) shows the secret: %v", raw, err)
		}
	}
	_, err := s3.FromURL("s3://bucket", func(n string) string {
		if n == "AWS_ACCESS_KEY_ID" {
			return "id"
		}
		return ""
	})
	if err == nil || !strings.Contains(err.Error(), "AWS_SECRET_ACCESS_KEY") {
		t.Errorf("half of the credentials: %v", err)
	}
}
