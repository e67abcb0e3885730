# The commands of this project; `make` alone lists them.
#
# HARNESS_HOME   where the local stack keeps its data (default /var/lib/harness,
#                ~/.local/share/harness when not root)
# HARNESS_TOOLS  where pinned tools are installed     (default $HARNESS_HOME/tools)
# HARNESS_TASKS  real tasks for the demo              (default ../shared/data/release-pinned/tasks.jsonl)

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

HARNESS_HOME ?= $(shell [ "$$(id -u)" = 0 ] && echo /var/lib/harness || echo "$$HOME/.local/share/harness")
HARNESS_TOOLS ?= $(HARNESS_HOME)/tools
export HARNESS_HOME HARNESS_TOOLS
export PATH := $(PATH):/usr/local/go/bin:/usr/sbin:/sbin

# A tagged commit names itself; others are the VERSION file and the commit, where git may read it.
VERSION := $(shell git describe --tags --match 'v*' --dirty 2>/dev/null || \
	printf 'v%s-dev%s' "$$(cat VERSION)" "$$(git describe --always --dirty 2>/dev/null | sed 's/^/+/')")
LDFLAGS := -s -w -X harness/internal/buildinfo.version=$(VERSION)
GO_BUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'

# Packages that hold tests which need root and containerd, or a Temporal server.
TAGGED = $(shell grep -rlE '^//go:build .*\b(integration|e2e)\b' --include='*_test.go' . | xargs -r -n1 dirname | sort -u)
BENCHED = $(shell grep -rlE '^func Benchmark' --include='*_test.go' . | xargs -r -n1 dirname | sort -u)

.PHONY: help setup setup-run setup-test setup-lint build demo test faults fuzz oracle unit lint bench clean

help: ## this list
	@printf 'harness: evaluates coding agents on repository tasks\n\n'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile
	@printf '\nStart with: make demo\n'

setup: ## install all tools, pinned (once about 8 minutes, then a second)
	@deploy/setup.sh all

setup-run:
	@deploy/setup.sh run

setup-test:
	@deploy/setup.sh test

setup-lint:
	@deploy/setup.sh lint

build: ## leave bin/harness
	@mkdir -p bin
	$(GO_BUILD) -o bin/harness ./cmd/harness

demo: setup-run build ## evaluate the example tasks and some real ones in gVisor, and show the results
	@$(GO_BUILD) -o bin/democheck ./scripts/democheck
	@scripts/demo.sh

unit: ## the everyday tests: no root, no server, under a minute
	go test -timeout 5m ./...

# One package at a time: integration tests share this machine's containerd, and
# what they measure would be disturbed by others. -count=1 because a cached pass
# says nothing of the machine as it is now.
test: setup-test build ## install what tests need, then run all of them
	go vet -tags integration,e2e,oracle ./...
	$(HARNESS_TOOLS)/bin/workflowcheck ./workflows/...
	internal/oracle/run.sh
	internal/oracle/export/run.sh
	scripts/fuzz.sh 5s
	go test -timeout 5m ./...
	go test -tags integration,e2e -count=1 -p 1 -timeout 15m $(TAGGED)

faults: setup-test ## kill each part at each moment of a run, and compare the tables (15 minutes)
	HARNESS_FAULTS=full go test -tags e2e -count=1 -timeout 60m -v ./internal/faults

FUZZTIME ?= 60s
fuzz: ## run each fuzz target for FUZZTIME (default 60s)
	scripts/fuzz.sh $(FUZZTIME)

oracle: ## grade mutated logs with the official releases and ours, and have them read our runs (a minute; needs Python)
	internal/oracle/run.sh
	internal/oracle/export/run.sh

lint: setup-lint ## golangci-lint with the layer rules, and gofmt
	$(HARNESS_TOOLS)/bin/golangci-lint run ./...

bench: ## the packages' benchmarks
	go test -run '^$$' -bench . -benchmem $(BENCHED)

clean: ## remove what building left here (tools, images and results stay)
	rm -rf bin dist
	go clean -testcache
