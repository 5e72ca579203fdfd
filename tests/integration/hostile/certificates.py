# SPDX-License-Identifier: Apache-2.0
"""Certificates for listeners with `tls`, and clients that believe every server."""

import os
import ssl
import subprocess


def self_signed(directory, name="site"):
    """(certificate, key): two files in the directory, good for two days."""
    certificate, key = (os.path.join(directory, name + ending) for ending in (".pem", ".key"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-subj", "/CN=" + name, "-days", "2", "-out", certificate, "-keyout", key],
        check=True, capture_output=True, timeout=60)
    os.chmod(key, 0o600)
    return certificate, key


def config_lines(directory):
    """For section [daemon]: a certificate for listeners with `tls`."""
    certificate, key = self_signed(directory)
    return f"tls_certificate = {certificate}\ntls_key = {key}\n"


def any_server():
    """A client's context that believes every certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
