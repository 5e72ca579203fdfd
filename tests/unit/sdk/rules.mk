# SPDX-License-Identifier: Apache-2.0
# What OpenWrt's rules.mk sets and packaging/openwrt/hearsay/Makefile, package.mk and meson.mk use, for
# a "router" that is this machine. TOPDIR and ROOT, where the packages are unpacked, are given.
INCLUDE_DIR:=$(TOPDIR)/include
SCRIPT_DIR:=$(TOPDIR)/scripts
TMP_DIR:=$(TOPDIR)/tmp
BUILD_DIR:=$(TOPDIR)/build_dir
STAGING_DIR:=$(TOPDIR)/staging_dir
STAGING_DIR_HOST:=$(STAGING_DIR)/host
STAGING_DIR_HOSTPKG:=$(STAGING_DIR)/hostpkg
PKG_INFO_DIR:=$(STAGING_DIR)/pkginfo
PACKAGE_DIR:=$(TOPDIR)/bin

CONFIG_ARCH:=$(shell uname -m)
CONFIG_KERNEL_SECCOMP:=y
CONFIG_PACKAGE_hearsay:=m
CONFIG_PACKAGE_hearsay-web:=m
ARCH:=$(CONFIG_ARCH)
BOARD:=router
CPU_TYPE:=generic

PYTHON:=python3
NINJA:=ninja
PKG_CONFIG:=$(STAGING_DIR_HOST)/bin/pkg-config
TARGET_PATH_PKG:=$(PATH)
TARGET_CC:=$(or $(CC),cc)
TARGET_AR:=ar
TARGET_NM:=nm
TARGET_LINKER:=bfd
TARGET_CFLAGS:=-O0
HOSTCC:=$(TARGET_CC)
INSTALL_DIR:=install -d -m0755
INSTALL_BIN:=install -m0755
INSTALL_DATA:=install -m0644
INSTALL_CONF:=install -m0600
CP:=cp -fpR

find_md5=echo $(words $(wildcard $(1)))
confvar=x
locked=$(1)
