/** Replies that replace the correct one, as sent by real vendors and their proxies. */
import { defaultServerError, type ReplyFault } from './fault.js'
import { jsonType, textType, type VendorReply } from './vendor-reply.js'

export interface ReplyFaultDeps {
  /** Address of the vendor itself, without a slash at its end. */
  readonly url: string
  readonly randomBytes: (size: number) => Buffer
}

const garbageBytes = 64

const loginPage = `<!DOCTYPE html>
<html><head><title>Sign in</title></head>
<body><form method="post" action="/login"><input name="user"><input name="password" type="password">
</form></body></html>
`

export function createFaultReply(fault: ReplyFault, deps: ReplyFaultDeps): VendorReply {
  switch (fault.kind) {
    case 'garbage':
      // This byte is never the first of valid UTF-8 text.
      return createReply(
        200,
        jsonType,
        Buffer.concat([Buffer.of(0xff), deps.randomBytes(garbageBytes)]),
      )
    case 'empty':
      return createReply(200, jsonType, '')
    case 'login-page':
      return createReply(200, 'text/html; charset=utf-8', loginPage)
    case 'csv-error':
      return createReply(200, textType, '212555010 is not a valid number\n')
    case 'unauthorized':
      return createReply(401, textType, 'The API key is not valid')
    case 'rate-limited':
      return createRateLimitReply(fault.retryAfterSeconds)
    case 'server-error':
      return createReply(fault.status ?? defaultServerError, textType, 'The server has failed')
    case 'redirect': {
      const moved = createReply(302, textType, 'Moved')
      const Location = fault.location ?? `${deps.url}/elsewhere`
      return { ...moved, headers: { ...moved.headers, Location } }
    }
  }
}

/** Status 429, with `Retry-After` if `seconds` is given. */
export function createRateLimitReply(seconds: number | undefined): VendorReply {
  const refused = createReply(429, textType, 'Too many requests')
  if (seconds === undefined) return refused
  return { ...refused, headers: { ...refused.headers, 'Retry-After': String(seconds) } }
}

function createReply(status: number, contentType: string, body: string | Buffer): VendorReply {
  return { status, headers: { 'Content-Type': contentType }, body: Buffer.from(body) }
}
