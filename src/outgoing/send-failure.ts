/** What a failed attempt is called, by the code of its cause alone: messages may hold what was sent. */
import { SendError, type SendFailure } from '../service/webhooks/sender.js'

/** System, DNS and TLS errors of a connection that was never there; OpenSSL's own are of this kind. */
const unreachable =
  /^(ECONNREFUSED|EHOST\w+|ENET\w+|ETIMEDOUT|EADDR\w+|EACCES|EPERM|EPROTO|EAI_\w+|CERT_\w+|ERR_TLS_\w+|ERR_SSL_\w+|DEPTH_ZERO_\w+|SELF_SIGNED_\w+|UNABLE_TO_\w+)$/

/** Errors of c-ares, https://nodejs.org/api/dns.html#error-codes. */
const noSuchName =
  /^(ENOTFOUND|ENODATA|EFORMERR|ESERVFAIL|ENOTIMP|EREFUSED|EBADNAME|EBADRESP|ETIMEOUT|EDESTRUCTION|ECANCELLED|ENONAME)$/

const failures: readonly (readonly [SendFailure, RegExp, string])[] = [
  ['unreachable', noSuchName, 'the name was not found'],
  ['unreachable', unreachable, 'no connection'],
  ['too-large', /^UND_ERR_HEADERS_OVERFLOW$/, 'the head of the answer is too long'],
  ['unreadable', /^(HPE_\w+|HTTPParserError|UND_ERR_RES_\w+)$/, 'the answer is no HTTP'],
  ['bad-header', /^UND_ERR_INVALID_ARG$/, 'a header cannot be sent'],
]

export function sendError(cause: unknown): SendError {
  if (cause instanceof SendError) return cause
  const code = codeOf(cause)
  const [failure, , text] = failures.find(([, pattern]) => pattern.test(code)) ?? cutOff
  return new SendError(failure, `${text} (${code})`)
}

const cutOff = ['cut-off', /./, 'the connection ended before the answer did'] as const

/** The name where there is no code, as with some errors of undici. */
function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'no error'
  const code: unknown = Reflect.get(cause, 'code')
  return typeof code === 'string' && code !== '' ? code : cause.name
}
