# SPDX-License-Identifier: Apache-2.0
# A thin front to meson. `make` builds, `make help` lists the rest.
#
# Heard: CC, CFLAGS, LDFLAGS; MESON_ARGS, options for every build directory; PREFIX and DESTDIR for
# install.

BUILD ?= build
BUILD_ASAN ?= build-asan
MESON_ARGS ?=
# With a `char` without sign, as ARM, PowerPC and s390x have it.
ASAN_ARGS = -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1 -Dc_args=-funsigned-char
# Of `make check`: what a mistake in the code mostly breaks. The suite `long` marks single tests that are left out.
CHECK_SUITES = unit model fault integration static
# Of `make check-all`: what `make check` leaves out, and what runs again under sanitizers.
REST_SUITES = install scale hub browser eval openwrt fuzz long
ASAN_SUITES = unit model fault fuzz integration
# Of `make fuzz`: seconds for each target; which targets, all when none is named.
BUILD_FUZZ ?= build-fuzz
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?=
# Of `make small`, which takes a quarter of an hour, and a Debian of 1.3 GB in there.
BUILD_SMALL ?= build-small
# Of `make deb`, which runs the tests, too: DEB_BUILD_OPTIONS=nocheck leaves them out.
BUILD_DEB ?= build-deb
# Of `make torture`: a few minutes for the first two, and half an hour for each round.
TORTURE_CUTS ?= 50000
TORTURE_KILLS ?= 100
TORTURE_ROUNDS ?= 20
TORTURE_HUB_ROUNDS ?= 20
# Random faults at a hub: about 40 minutes for 200, with each of two nats-servers.
TORTURE_FAULT_ROUNDS ?= 200
# Of `make play`: the address of the page, loopback when none is named.
PLAY_LISTEN ?=

export PREFIX # scripts/configure takes it over without building anew

# Of `make matrix`, `make peers` and `make reproduce`: which rows, all when none is named; see
# scripts/matrix, scripts/peers, scripts/reproduce.
BUILD_MATRIX ?= build-matrix
# Of `make peers`: the sources of other libraries, programs that ask them, and as root a Debian of 0.7 GB with pgvector.
BUILD_PEERS ?= build-peers
# Of `make check-release`: 3 GB for each release of Debian.
BUILD_RELEASE ?= build-release
ROWS ?=

# Debian's Python has the modules that scripts/install-packages installs.
PYTHON = $(or $(wildcard /usr/bin/python3),python3)
RUN_TESTS = $(PYTHON) -B scripts/run-tests
CHECK_LOGS = $(BUILD)/meson-logs/check.json $(BUILD)/meson-logs/check-rest.json $(BUILD_ASAN)/meson-logs/check-asan.json

# meson's list of what it has installed.
INSTALL_LOG = $(BUILD)/meson-logs/install-log.txt

# Each recipe uses all processors by itself.
.NOTPARALLEL:
.PHONY: all build demo demo-hub torture-hub play check check-all check-rest build-for-asan check-asan test bench count count-update peers eval reproduce fuzz torture small matrix check-release lint deb install uninstall clean format help

all: build

build: ## build everything into build/ (the default)
	@sh scripts/configure $(BUILD) $(MESON_ARGS)
	@echo "building in $(BUILD)"
	@ninja -C $(BUILD)

demo: ## install what is missing, build, and show messages left and found again
	@sh scripts/install-packages build
	@sh scripts/configure $(BUILD) $(MESON_ARGS)
	@echo "building hearsayd and hearsay in $(BUILD)"
	@ninja -C $(BUILD) --quiet daemon/hearsayd client/hearsay
	@sh scripts/demo $(BUILD)

demo-hub: ## install what is missing, build, and show three access points, a reader and a hub
	@sh scripts/install-packages build hub
	@sh scripts/configure $(BUILD) $(MESON_ARGS)
	@echo "building hearsayd, hearsay and hearsay-bridge in $(BUILD)"
	@ninja -C $(BUILD) --quiet daemon/hearsayd client/hearsay client/hearsay-bridge
	@python3 -B scripts/demo-hub $(BUILD)

play: ## install what is missing, build, and serve the page with sample messages; PLAY_LISTEN=ADDRESS for phones
	@sh scripts/install-packages build
	@sh scripts/configure $(BUILD) $(MESON_ARGS)
	@echo "building hearsayd, hearsay and hearsay-web in $(BUILD)"
	@ninja -C $(BUILD) --quiet daemon/hearsayd client/hearsay client/hearsay-web scripts/libearlier.so
	@PLAY_LISTEN="$(PLAY_LISTEN)" python3 -B scripts/play $(BUILD)

check: ## install what is missing, build, and run the tests that take minutes, not hours
	@sh scripts/install-packages build test
	@sh scripts/configure --tests $(BUILD) $(MESON_ARGS)
	@$(RUN_TESTS) --log check $(addprefix --suite ,$(CHECK_SUITES)) --no-suite long $(BUILD)

check-all: check check-rest check-asan ## check, all other tests, and most again under sanitizers
	@$(PYTHON) -B scripts/count_tests.py $(CHECK_LOGS)

check-rest:
	@sh scripts/install-packages build test browser hub openwrt
	@sh scripts/configure --tests $(BUILD) $(MESON_ARGS)
	@sh scripts/take-nats-server $(BUILD)
	@$(RUN_TESTS) --log check-rest $(addprefix --suite ,$(REST_SUITES)) $(BUILD)

# So that .ci/run can build the sanitized half while the other suites run, which mostly wait.
build-for-asan:
	@sh scripts/configure --tests $(BUILD_ASAN) $(ASAN_ARGS) $(MESON_ARGS)
	@$(RUN_TESTS) --build-only $(addprefix --suite ,$(ASAN_SUITES)) $(BUILD_ASAN)

check-asan:
	@sh scripts/install-packages build test
	@sh scripts/configure --tests $(BUILD_ASAN) $(ASAN_ARGS) $(MESON_ARGS)
	@UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1:$$UBSAN_OPTIONS \
	    $(RUN_TESTS) --log check-asan --slower 12 $(addprefix --suite ,$(ASAN_SUITES)) $(BUILD_ASAN)

test: ## build what TEST needs, and run it: TEST=bloom, or TEST="bloom query"
	@sh scripts/install-packages build test
	@sh scripts/configure --tests $(BUILD) $(MESON_ARGS)
	@$(RUN_TESTS) $(BUILD) $(or $(TEST),$(error name a test: make test TEST=bloom))

bench: ## install what is missing, build, and measure; see docs/performance.md
	@sh scripts/install-packages build test bench
	@sh scripts/configure --tests $(BUILD) $(MESON_ARGS)
	@echo "building and measuring in $(BUILD)"
	@ninja -C $(BUILD)
	@$(BUILD)/tests/bench/hearsay-bench $(or $(BENCH_ARGS),all)

count: ## install what is missing, build, and compare counts with docs/counts.json; see docs/notes/counts.md
	@sh scripts/install-packages build test count
	@sh scripts/configure --tests $(BUILD) $(MESON_ARGS)
	@echo "building in $(BUILD), and counting"
	@ninja -C $(BUILD) --quiet tests/count/hearsay-count daemon/hearsayd
	@meson test -C $(BUILD) --no-rebuild --benchmark --suite count --verbose --logbase countlog

count-update: ## the same, and write what is counted to docs/counts.json
	@sh scripts/install-packages build test count
	@sh scripts/configure --tests $(BUILD) $(MESON_ARGS)
	@echo "building in $(BUILD), and counting"
	@ninja -C $(BUILD) --quiet count-update

eval: ## build, and evaluate contexts on real data (EVAL_ARGS); see docs/evaluation.md
	@sh scripts/install-packages build test bench
	@sh scripts/configure --tests $(BUILD) $(MESON_ARGS)
	@echo "building and evaluating in $(BUILD)"
	@ninja -C $(BUILD)
	@/usr/bin/python3 -B tests/eval/run.py --hearsayd $(BUILD)/daemon/hearsayd \
	    --hearsay $(BUILD)/client/hearsay $(or $(EVAL_ARGS),--dir $(BUILD)/eval)

peers: ## beside other libraries, and as root beside pgvector, which it installs and fetches; ROWS="campus server"; see docs/notes/peers.md
	@sh scripts/install-packages build test bench peers
	@sh scripts/configure --tests $(BUILD) $(MESON_ARGS)
	@echo "building in $(BUILD) and $(BUILD_PEERS), and measuring"
	@ninja -C $(BUILD) --quiet
	@sh scripts/peers $(BUILD) $(BUILD_PEERS) $(ROWS)

reproduce: ## measure the tables and plots of docs/ anew, and compare; ROWS="thesis places"; with DATA=FOLDER who meets whom among your own sightings; see docs/reproduce.md
	@sh scripts/install-packages build test bench
	@sh scripts/configure --tests $(BUILD) $(MESON_ARGS)
	@echo "building in $(BUILD), and measuring into $(BUILD)/reproduce"
	@$(if $(DATA),/usr/bin/python3 -B tests/eval/run.py --own '$(DATA)' --dir $(BUILD)/reproduce/own,ninja -C $(BUILD) --quiet && /usr/bin/python3 -B scripts/reproduce $(BUILD) $(BUILD)/reproduce $(ROWS))

fuzz: ## look for inputs that break something, FUZZ_SECONDS (60) a target; FUZZ_TARGETS, FUZZ_ENGINE=afl
	@sh scripts/install-packages build test fuzz
	@sh scripts/fuzz $(BUILD_FUZZ) $(FUZZ_SECONDS) $(FUZZ_TARGETS)

torture: ## power cuts (TORTURE_CUTS) and kill -9 under load (TORTURE_KILLS), many more than in check; tests that wait, TORTURE_ROUNDS (20) times beside a load
	@sh scripts/install-packages build test browser hub torture
	@sh scripts/configure --tests $(BUILD) $(MESON_ARGS)
	@echo "building and torturing in $(BUILD)"
	@ninja -C $(BUILD) --quiet
	@HEARSAY_POWER_CUTS=$(TORTURE_CUTS) HEARSAY_KILL_ROUNDS=$(TORTURE_KILLS) \
	    meson test -C $(BUILD) --no-rebuild --verbose --timeout-multiplier 0 fault-power crash
	@sh scripts/beside-load $(BUILD) $(TORTURE_ROUNDS)

torture-hub: ## kill -9 and lost power at a hub, TORTURE_HUB_ROUNDS (20) of each; a hood of 50; TORTURE_FAULT_ROUNDS (200) random faults with each of two nats-servers
	@sh scripts/install-packages build test hub
	@sh scripts/configure --tests $(BUILD) $(MESON_ARGS)
	@sh scripts/take-nats-server $(BUILD)
	@echo "building and torturing in $(BUILD)"
	@ninja -C $(BUILD) --quiet
	@HEARSAY_HUB_ROUNDS=$(TORTURE_HUB_ROUNDS) \
	    meson test -C $(BUILD) --no-rebuild --verbose --timeout-multiplier 0 kill_hub
	@HEARSAY_HOOD_SITES=50 HEARSAY_HOOD_QUERIES=1000 \
	    meson test -C $(BUILD) --no-rebuild --verbose --timeout-multiplier 0 hood_hub
	@HEARSAY_FAULT_ROUNDS=$(TORTURE_FAULT_ROUNDS) HEARSAY_REPLICA_ROUNDS=$(TORTURE_FAULT_ROUNDS) \
	    meson test -C $(BUILD) --no-rebuild --verbose --timeout-multiplier 0 \
	    hub_replicas hub_replicas_testing hub_faults hub_faults_testing

small: ## as root: a 32-bit hearsayd in 64 MB with 100,000 messages; memory, sizes, bytes written
	@sh scripts/small $(BUILD_SMALL)

check-release: ## as root: Debian's packages made twice, upgraded, tried, purged in new Debians; SUITES="trixie" for one
	@sh scripts/install-packages release
	@RELEASE_DIR=$(BUILD_RELEASE) sh scripts/check-release $(SUITES)

matrix: ## compilers, sanitizers, valgrind, musl, other processors: hours; ROWS="musl mips" for some
	@MATRIX_DIR=$(BUILD_MATRIX) sh scripts/matrix $(ROWS)

deb: ## install what is missing, and make Debian's packages of what is committed, in $(BUILD_DEB)
	@sh scripts/install-packages build test deb
	@sh scripts/deb $(BUILD_DEB)

lint: ## install what is missing, build, and look at the code: layout, includes, cppcheck, clang-tidy
	@sh scripts/install-packages build test lint
	@sh scripts/configure --tests $(BUILD) $(MESON_ARGS)
	@ninja -C $(BUILD) --quiet
	@sh scripts/lint $(BUILD)

install: ## build the programs, and install them without debug information below DESTDIR and PREFIX (/usr/local)
	@sh scripts/configure --keep $(BUILD) $(MESON_ARGS)
	@echo "building the programs in $(BUILD)"
	@ninja -C $(BUILD) installed
	@echo "installing$(if $(PREFIX), with prefix $(PREFIX))$(if $(DESTDIR), into $(DESTDIR))"
	@meson install -C $(BUILD) --no-rebuild --quiet --strip $(if $(DESTDIR),--destdir "$(DESTDIR)")
	@# meson leaves static libraries as they are.
	@sed -n '/\.a$$/p' $(INSTALL_LOG) | xargs -r -d '\n' strip --strip-debug

uninstall: ## remove what the last install of this build directory installed
	@test -f $(INSTALL_LOG) || { echo "$(INSTALL_LOG) is missing: nothing was installed from $(BUILD)"; exit 1; }
	@echo "removing what was installed from $(BUILD)"
	@ninja -C $(BUILD) --quiet uninstall
	@rm $(INSTALL_LOG)

clean: ## remove what was built
	@echo "removing $(BUILD), $(BUILD_ASAN), $(BUILD_FUZZ), $(BUILD_MATRIX), $(BUILD_PEERS) and $(BUILD_SMALL)"
	@rm -rf $(BUILD) $(BUILD_ASAN) $(BUILD_FUZZ) $(BUILD_MATRIX) $(BUILD_PEERS) $(BUILD_SMALL)

format: ## lay out the C files with clang-format
	@echo "laying out the C files"
	@git ls-files '*.c' '*.h' | xargs clang-format -i

help: ## print this
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12
