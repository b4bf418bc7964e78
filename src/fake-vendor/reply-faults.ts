/** Replies that stand in place of the right one, as vendors and what stands before them give them. */
import { defaultServerError, type ReplyFault } from './fault.js'
import { jsonType, textType, type VendorReply } from './vendor-reply.js'

export interface ReplyFaultTools {
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

export function faultReply(fault: ReplyFault, tools: ReplyFaultTools): VendorReply {
  switch (fault.kind) {
    case 'garbage':
      // No text of UTF-8 begins so, whatever follows.
      return reply(200, jsonType, Buffer.concat([Buffer.of(0xff), tools.randomBytes(garbageBytes)]))
    case 'empty':
      return reply(200, jsonType, '')
    case 'login-page':
      return reply(200, 'text/html; charset=utf-8', loginPage)
    case 'csv-error':
      return reply(200, textType, '212555010 is not a valid number\n')
    case 'unauthorized':
      return reply(401, textType, 'The API key is not valid')
    case 'rate-limited':
      return tooMany(fault.retryAfterSeconds)
    case 'server-error':
      return reply(fault.status ?? defaultServerError, textType, 'The server has failed')
    case 'redirect': {
      const moved = reply(302, textType, 'It is elsewhere')
      const Location = fault.location ?? `${tools.url}/elsewhere`
      return { ...moved, headers: { ...moved.headers, Location } }
    }
  }
}

/** Status 429; seconds are those of `Retry-After`, which is left out when absent. */
export function tooMany(seconds: number | undefined): VendorReply {
  const refused = reply(429, textType, 'Too many requests')
  if (seconds === undefined) return refused
  return { ...refused, headers: { ...refused.headers, 'Retry-After': String(seconds) } }
}

function reply(status: number, contentType: string, body: string | Buffer): VendorReply {
  return { status, headers: { 'Content-Type': contentType }, body: Buffer.from(body) }
}
