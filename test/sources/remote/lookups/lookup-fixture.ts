/** A provider of look-ups over a transport in the test's hand; time is virtual. */
import { loadCallingRules } from '../../../../src/data/calling-rules/calling-rules-schema.js'
import { findRelease } from '../../../../src/law/reassigned-releases.js'
import type { LogFields, Logger } from '../../../../src/observability/log.js'
import type { LookupProviderOptions } from '../../../../src/sources/remote/lookups/lookup-options.js'
import { LookupProvider } from '../../../../src/sources/remote/lookups/lookup-provider.js'
import { fakeTransport, type SentRequest } from '../../../support/fake-provider.js'
import { virtualTime } from '../../../support/virtual-time.js'

const { reassignedReleases } = loadCallingRules('config/calling-rules.yaml').document

export const secretKey = 'the-very-secret-key-of-44-characters-0123456'

export function openLookups(more: Partial<LookupProviderOptions> = {}) {
  const time = virtualTime()
  const transport = fakeTransport(time)
  const lines: string[] = []
  const requested: string[] = []
  const circuits: string[] = []
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push(`${level}: ${message} ${JSON.stringify(fields)}`)
  const log: Logger = {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
  }
  const opened = new LookupProvider({
    name: 'acme',
    baseUrl: 'https://acme.test',
    timeoutMs: 5_000,
    requestsPerMinute: 6_000,
    servers: 1,
    keepMs: 86_400_000,
    clock: time,
    findRelease: (at) => findRelease(reassignedReleases, at),
    timers: time,
    log,
    transport,
    credentials: { kind: 'login-id', loginId: secretKey },
    random: () => 0.5,
    observer: {
      onRequest: (name, outcome) => requested.push(`${name} ${outcome}`),
      onCircuitChange: (name, open) => circuits.push(`${name} ${open ? 'open' : 'closed'}`),
    },
    ...more,
  })
  const provider = Object.assign(opened, opened.forAccount('main'))
  /** Ends the work's waits as time passes, and gives what became of it. */
  const outcome = async (work: Promise<unknown>, ms = 60_000): Promise<unknown> => {
    const ended = work.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    await time.advance(ms)
    return ended
  }
  return { provider, time, transport, lines, requested, circuits, outcome }
}

/** The last part of the path, and the query or the items of the body. */
export function textOf({ request }: SentRequest): string {
  const { pathname, searchParams } = new URL(request.url)
  return `${request.method} ${pathname}${searchParams.size > 0 ? `?${searchParams}` : ''}`
}

export function bodyOf({ request }: SentRequest): unknown {
  return JSON.parse(request.body ?? 'null')
}

export function replyJson(sent: SentRequest, value: unknown, status = 200): void {
  sent.reply({ status, body: JSON.stringify(value) })
}
