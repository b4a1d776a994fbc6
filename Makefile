# make build    one static binary, build/job-cleanup
# make test     installs what the tests need (as root, on Debian), then runs everything
# make test-vm  power loss and memory limits, in a machine of its own (qemu)
# make demo     the main job for real, in a systemd container
# make man      the manual pages, in build/man
# make install  the binary, units, manual pages and completions, below DESTDIR
#               and PREFIX
# make package  deb and rpm, in build
# make lint bench fuzz clean

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# Roots of containers, servers and the built linter are kept here between runs.
export JOB_CLEANUP_TEST_CACHE ?= $(if $(filter 0,$(shell id -u)),/var/cache,$(or $(XDG_CACHE_HOME),$(HOME)/.cache))/job-cleanup-test

LINT_VERSION := 2.15.0
LINT         := $(JOB_CLEANUP_TEST_CACHE)/golangci-lint-$(LINT_VERSION)/golangci-lint

# A go-md2man from elsewhere will do too: make MD2MAN=go-md2man.
MD2MAN_VERSION := 2.0.7
MD2MAN_BUILT   := $(JOB_CLEANUP_TEST_CACHE)/go-md2man-$(MD2MAN_VERSION)/go-md2man
MD2MAN         ?= $(MD2MAN_BUILT)

# The packager; one from elsewhere will do too: make NFPM=nfpm package.
NFPM_VERSION := 2.48.0
NFPM_BUILT   := $(JOB_CLEANUP_TEST_CACHE)/nfpm-$(NFPM_VERSION)/nfpm
NFPM         ?= $(NFPM_BUILT)

PACKAGE_VERSION ?= $(shell packaging/version)
PACKAGE_ARCH    ?= $(shell go env GOARCH)

BUILD := build
MAN   := $(BUILD)/man
ROOT  := $(BUILD)/package-root

# The date of the manual pages and packages, so that they are the same wherever they are made.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)

FUZZTIME ?= 20s

PREFIX  ?= /usr

.PHONY: build man install package test setup lint gotest test-vm bench fuzz demo clean

build:
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(BUILD)/job-cleanup ./cmd/job-cleanup

man: $(filter $(MD2MAN_BUILT),$(MD2MAN))
	go run ./packaging/man -md2man "$(MD2MAN)" -version "$(VERSION)" -epoch "$(SOURCE_DATE_EPOCH)" -out "$(MAN)"

$(MD2MAN_BUILT):
	GOBIN=$(@D) go install github.com/cpuguy83/go-md2man/v2@v$(MD2MAN_VERSION)

install: build man
	install -D -m 0755 $(BUILD)/job-cleanup $(DESTDIR)$(PREFIX)/bin/job-cleanup
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/lib/systemd/system units/*.service units/*.timer
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/lib/systemd/user units/user/*
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/job-cleanup/examples units/examples/*.service
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system-generators
	ln -sf ../../../bin/job-cleanup $(DESTDIR)$(PREFIX)/lib/systemd/system-generators/job-cleanup-generator
	install -D -m 0644 packaging/preset $(DESTDIR)$(PREFIX)/lib/systemd/system-preset/90-job-cleanup.preset
	install -D -m 0644 packaging/tmpfiles.conf $(DESTDIR)$(PREFIX)/lib/tmpfiles.d/job-cleanup.conf
	install -D -m 0644 packaging/job-cleanup.catalog $(DESTDIR)$(PREFIX)/lib/systemd/catalog/job-cleanup.catalog
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/job-cleanup README.md CHANGELOG.md
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $(MAN)/*.1
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/man/man5 $(MAN)/*.5
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/man/man7 $(MAN)/*.7
	install -D -m 0644 packaging/completions/job-cleanup.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/job-cleanup
	install -D -m 0644 packaging/completions/_job-cleanup $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_job-cleanup
	install -D -m 0644 packaging/completions/job-cleanup.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/job-cleanup.fish

package: $(filter $(NFPM_BUILT),$(NFPM))
	rm -rf $(ROOT) $(BUILD)/job-cleanup[_-]*.deb $(BUILD)/job-cleanup[_-]*.rpm
	$(MAKE) --no-print-directory install DESTDIR=$(ROOT) PREFIX=/usr VERSION=$(PACKAGE_VERSION)
	mv $(ROOT)/usr/share/doc/job-cleanup/CHANGELOG.md $(ROOT)/usr/share/doc/job-cleanup/changelog
	gzip -9n $(ROOT)/usr/share/man/man*/* $(ROOT)/usr/share/doc/job-cleanup/changelog
	$(if $(SOURCE_DATE_EPOCH),find $(ROOT) -exec touch -h -d @$(SOURCE_DATE_EPOCH) {} +)
	for kind in deb rpm; do \
		SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) PACKAGE_VERSION=$(PACKAGE_VERSION) PACKAGE_ARCH=$(PACKAGE_ARCH) ROOT=$(ROOT) \
			$(NFPM) package --config packaging/nfpm.yaml --packager $$kind --target $(BUILD); \
	done

$(NFPM_BUILT):
	GOBIN=$(@D) go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v$(NFPM_VERSION)

test: setup lint gotest

setup: $(MD2MAN_BUILT) $(NFPM_BUILT)
	test/setup.sh
	go run ./test/servers/prepare

lint: $(LINT)
	@unformatted=$$(gofmt -l cmd pkg test packaging); if [ -n "$$unformatted" ]; then echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	$(LINT) run

# The race detector needs cgo; the product never does. -count=1: the tests in
# containers depend on more than what go's test cache looks at. -parallel: they
# mostly wait.
gotest:
	CGO_ENABLED=1 go run ./test/noskip $(if $(CI),-required test/required.txt) -- -race -count=1 -parallel 4 -timeout 20m ./...

$(LINT):
	GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(LINT_VERSION)

# A quarter of an hour on two idle cores, more where others need them too.
test-vm:
	test/setup.sh qemu-system-x86 qemu-utils
	JOB_CLEANUP_VM=1 go test -count=1 -v -timeout 3h ./test/vm $(VMFLAGS)

bench: setup
	go run ./test/bench

fuzz:
	for package in $$(go list ./pkg/...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

demo: setup
	go run ./test/demo

clean:
	rm -rf build
