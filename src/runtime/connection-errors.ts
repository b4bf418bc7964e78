/** Recognizes connection errors by code, since their messages may contain parts of the request. */

/** System, DNS and TLS errors of a connection that was never established, including OpenSSL's. */
export const unreachableCode =
  /^(ECONNREFUSED|EHOST\w+|ENET\w+|ETIMEDOUT|EADDR\w+|EACCES|EPERM|EPROTO|EAI_\w+|CERT_\w+|ERR_TLS_\w+|ERR_SSL_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+)$/

/** Errors of c-ares, https://nodejs.org/api/dns.html#error-codes. */
export const unknownHostCode =
  /^(ENOTFOUND|ENODATA|EFORMERR|ESERVFAIL|ENOTIMP|EREFUSED|EBADNAME|EBADRESP|ETIMEOUT|EDESTRUCTION|ECANCELLED|ENONAME)$/
