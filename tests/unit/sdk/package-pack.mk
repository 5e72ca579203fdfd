# SPDX-License-Identifier: Apache-2.0
# In place of OpenWrt's: `make show` prints what a package says of itself, and with a BUILD_VARIANT
# `make compile` unpacks its packages below ROOT.
define BuildTarget/ipkg
  show: show-$(1)
  show-$(1):
	@printf '%s\n' '[$(1)]' 'variant = $(VARIANT)' 'default = $(DEFAULT_VARIANT)' \
	    'depends = $(DEPENDS)' 'provides = $(filter-out @%,$(PROVIDES))' 'userid = $(USERID)' \
	    'version = $(VERSION)' 'title = $(TITLE)' \
	    'conffiles = $(strip $(Package/$(1)/conffiles))' 'meson = $(MESON_ARGS)' \
	    'build_depends = $(PKG_BUILD_DEPENDS)' 'license = $(PKG_LICENSE_FILES)'

  ifeq ($(BUILD_VARIANT),$(VARIANT))
  compile: unpack-$(1)
  unpack-$(1): $(STAMP_BUILT)
	mkdir -p $(ROOT)/$(1)
	$(call Package/$(1)/install,$(ROOT)/$(1))
  endif
endef
