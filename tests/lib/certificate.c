/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/lib/certificate.h"

#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "tests/lib/check.h"

static void write_key(const char *path, EVP_PKEY *key)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static void write_certificate(const char *path, EVP_PKEY *key)
{
    X509 *one = X509_new();
    FILE *file = fopen(path, "we");

    assert_non_null(one);
    assert_non_null(file);
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(one), 1), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(one), -60));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(one), 3600));
    assert_int_equal(X509_set_pubkey(one, key), 1);
    X509_NAME *name = X509_get_subject_name(one);
    assert_int_equal(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                                (const unsigned char *)"server", -1, -1, 0),
                     1);
    assert_int_equal(X509_set_issuer_name(one, name), 1);
    assert_true(X509_sign(one, key, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_X509(file, one), 1);
    assert_int_equal(fclose(file), 0);
    X509_free(one);
}

void certificate_make(struct certificate *certificate)
{
    *certificate = (struct certificate){.directory = "certificate-XXXXXX"};
    assert_non_null(mkdtemp(certificate->directory));
    (void)snprintf(certificate->file, sizeof(certificate->file), "%.40s/cert.pem",
                   certificate->directory);
    (void)snprintf(certificate->key_file, sizeof(certificate->key_file), "%.40s/key.pem",
                   certificate->directory);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    assert_non_null(key);
    write_key(certificate->key_file, key);
    write_certificate(certificate->file, key);
    EVP_PKEY_free(key);
}

void certificate_remove(const struct certificate *certificate)
{
    (void)unlink(certificate->file);
    (void)unlink(certificate->key_file);
    (void)rmdir(certificate->directory);
}
