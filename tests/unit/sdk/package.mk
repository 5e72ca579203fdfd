# SPDX-License-Identifier: Apache-2.0
# In place of OpenWrt's, where that is not to be had: nothing of it but variants, and what they need.
PKG_BUILD_DIR:=$(BUILD_DIR)/$(PKG_NAME)-$(BUILD_VARIANT)/$(PKG_NAME)-$(PKG_VERSION)
PKG_INSTALL_DIR:=$(PKG_BUILD_DIR)/ipkg-install
STAMP_BUILT:=$(PKG_BUILD_DIR)/.built

include $(INCLUDE_DIR)/package-pack.mk

define BuildPackage
  $(foreach field,DEFAULT_VARIANT DEPENDS PROVIDES TITLE USERID VARIANT,$(eval $(field):=))
  $(eval VERSION:=$(PKG_VERSION)-r$(PKG_RELEASE))
  $(eval $(Package/$(1)))
  $(BuildTarget/ipkg)
endef

$(STAMP_BUILT):
	mkdir -p $(PKG_BUILD_DIR)
	$(Build/Prepare)
	$(Build/Configure)
	$(Build/Compile)
	$(Build/Install)
	touch $@
