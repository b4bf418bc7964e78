/** Errors of connections by their code alone: messages may hold parts of what was sent. */

/** System, DNS and TLS errors of a connection that was never made, OpenSSL's own included. */
export const unreachableCode =
  /^(ECONNREFUSED|EHOST\w+|ENET\w+|ETIMEDOUT|EADDR\w+|EACCES|EPERM|EPROTO|EAI_\w+|CERT_\w+|ERR_TLS_\w+|ERR_SSL_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+)$/

/** Errors of c-ares, https://nodejs.org/api/dns.html#error-codes. */
export const unknownHostCode =
  /^(ENOTFOUND|ENODATA|EFORMERR|ESERVFAIL|ENOTIMP|EREFUSED|EBADNAME|EBADRESP|ETIMEOUT|EDESTRUCTION|ECANCELLED|ENONAME)$/
