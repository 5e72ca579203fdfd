# SPDX-License-Identifier: Apache-2.0
# In place of OpenWrt's, where that is not to be had: builds for this machine.
MESON_ARGS:=

define Build/Configure
	meson setup --buildtype plain -Dprefix=/usr -Ddefault_library=both $(MESON_ARGS) \
	    $(PKG_BUILD_DIR)/openwrt-build $(PKG_BUILD_DIR)
endef
define Build/Compile
	$(NINJA) -C $(PKG_BUILD_DIR)/openwrt-build
endef
define Build/Install
	DESTDIR=$(PKG_INSTALL_DIR) $(NINJA) -C $(PKG_BUILD_DIR)/openwrt-build install
endef
