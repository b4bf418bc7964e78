/**
 * A vendor in virtual time, as the transport to it: it answers the four questions by simple rules,
 * late, counts what it is asked, keeps its own rate, and fails when it is told to.
 *
 * Rules: every number is in New York. Calls are permitted from 8:00 to 21:00 there, by a person and
 * by a machine; no number is on a list, unless `facts` say so.
 */
import { toJsonText } from '../../src/api/scrub/scrub-row.js'
import type { QuestionName } from '../../src/domain/compliance.js'
import type { ScrubRow } from '../../src/domain/scrub-row.js'
import { toLocalTime } from '../../src/domain/time/time-zones.js'
import {
  type ProviderReply,
  type ProviderRequest,
  type Transport,
  TransportError,
} from '../../src/sources/remote/client/transport.js'
import { scrubRow } from './fake-service.js'
import type { VirtualTime } from './virtual-time.js'

/**
 * - `down`: no connection;
 * - `silent`: the request is taken and never answered;
 * - `503`: answered with that status after the usual time;
 * - `slow`: answered well, after `slowMs` (ten times the usual when absent).
 */
type VendorFault = 'down' | 'silent' | '503' | 'slow'

interface VendorRequest {
  readonly question: QuestionName
  /** Milliseconds since the vendor was opened. */
  readonly atMs: number
  readonly numbers: readonly string[]
  readonly met: VendorFault | 'well' | '429'
}

export interface VendorFacts {
  readonly onList?: true
  readonly litigator?: true
}

export interface VirtualVendorOptions {
  readonly time: VirtualTime
  readonly latencyMs: number
  readonly slowMs?: number
  /** Of each question, in any sixty seconds; more are answered 429. */
  readonly requestsPerMinute?: number
  /** Milliseconds since the vendor was opened; outside of them all is well. */
  readonly faults?: readonly {
    readonly fromMs: number
    readonly untilMs: number
    readonly fault: VendorFault
    /** All when absent. */
    readonly questions?: readonly QuestionName[]
  }[]
  /** By number: on the internal list (letter `P`), or a litigator's (letter `D`). */
  readonly facts?: Readonly<Record<string, VendorFacts>>
}

export interface VirtualVendor extends Transport {
  /** Every request that arrived, refused ones too, in order. */
  readonly requests: readonly VendorRequest[]
  requestsOf(question: QuestionName): readonly VendorRequest[]
  /** The most requests of one question that arrived within any sixty seconds. */
  mostInAMinute(question: QuestionName): number
  /** Requests that wait for their reply. */
  underWay(): number
}

const opens = 8 * 3600
const closes = 21 * 3600

export function virtualVendor(options: VirtualVendorOptions): VirtualVendor {
  const { time, latencyMs, requestsPerMinute = 100, faults = [], facts = {} } = options
  const slowMs = options.slowMs ?? 10 * latencyMs
  const openedMs = time.monotonicMs()
  const requests: VendorRequest[] = []
  const byQuestion: Record<QuestionName, VendorRequest[]> = {
    scrub: [],
    'internal-dnc': [],
    litigator: [],
    'legal-time': [],
  }
  const most = new Map<QuestionName, number>()
  let waiting = 0

  const arrive = (question: QuestionName, numbers: readonly string[]): VendorRequest => {
    const atMs = time.monotonicMs() - openedMs
    const known = byQuestion[question]
    let inMinute = 1
    for (let at = known.length - 1; at >= 0; at -= 1) {
      if ((known[at]?.atMs ?? 0) <= atMs - 60_000) break
      inMinute += 1
    }
    most.set(question, Math.max(most.get(question) ?? 0, inMinute))
    const fault = faults.find(
      ({ fromMs, untilMs, questions }) =>
        atMs >= fromMs && atMs < untilMs && (questions?.includes(question) ?? true),
    )?.fault
    const met = fault ?? (inMinute > requestsPerMinute ? '429' : 'well')
    const request = { question, atMs, numbers, met } as const
    requests.push(request)
    known.push(request)
    return request
  }

  const rowOf: Readonly<Record<QuestionName, (number: string) => unknown>> = {
    scrub: (number) => scrubbed(number, facts[number] ?? {}, time),
    'internal-dnc': (phone) => {
      const day = facts[phone]?.onList ? '2026-11-02' : null
      return { phone, onList: day !== null, addedOn: day, lastModifiedOn: day }
    },
    litigator: (number) => ({
      Phone: Number(number),
      IsLitigator: facts[number]?.litigator === true,
    }),
    'legal-time': (number) => legalTime(number, time),
  }

  const replyTo = ({ question, numbers, met }: VendorRequest): ProviderReply => {
    const text = { contentType: 'text/plain', retryAfter: undefined, body: 'try again later' }
    if (met === '503') return { status: 503, ...text }
    if (met === '429') return { status: 429, ...text, retryAfter: '5' }
    const body = JSON.stringify(numbers.map(rowOf[question]))
    return { status: 200, contentType: 'application/json', retryAfter: undefined, body }
  }

  const send = (sent: ProviderRequest, signal: AbortSignal): Promise<ProviderReply> => {
    const request = arrive(...read(sent))
    waiting += 1
    return new Promise<ProviderReply>((resolve, reject) => {
      let callOff = () => {}
      const abort = () => {
        callOff()
        reject(new TransportError('aborted', 'given up'))
      }
      if (signal.aborted) return abort()
      signal.addEventListener('abort', abort, { once: true })
      if (request.met === 'silent') return
      const isDown = request.met === 'down'
      const afterMs = isDown ? 1 : request.met === 'slow' ? slowMs : latencyMs
      callOff = time.after(afterMs, () => {
        signal.removeEventListener('abort', abort)
        if (isDown) reject(new TransportError('unreachable', 'connection refused'))
        else resolve(replyTo(request))
      })
    }).finally(() => {
      waiting -= 1
    })
  }

  return {
    send,
    close: async () => undefined,
    requests,
    requestsOf: (question) => byQuestion[question],
    mostInAMinute: (question) => most.get(question) ?? 0,
    underWay: () => waiting,
  }
}

const questionOfPath: Readonly<Record<string, QuestionName>> = {
  '/app/main/rpc/scrub': 'scrub',
  '/app/main/rpc/pdnc': 'internal-dnc',
  '/v1.5/scrub/litigator': 'litigator',
  '/v1.5/geoscrub/istimelegaltocall': 'legal-time',
}

/** The question and the numbers of a request; throws for one that is none of the API. */
function read({ url, body, headers }: ProviderRequest): [QuestionName, readonly string[]] {
  const { pathname, searchParams } = new URL(url)
  const question = questionOfPath[pathname.toLowerCase()]
  if (!question) throw new TypeError(`the vendor has no ${pathname}`)
  const isJson = /json/.test(headers['content-type'] ?? headers['Content-Type'] ?? '')
  const sent: Record<string, unknown> = isJson
    ? JSON.parse(body || '{}')
    : Object.fromEntries(new URLSearchParams(body ?? ''))
  const fields = { ...Object.fromEntries(searchParams), ...sent }
  const list = Object.entries(fields).find(([name]) =>
    ['phonelist', 'istimelegaltocall'].includes(name.toLowerCase()),
  )?.[1]
  const items = Array.isArray(list) ? list : String(list ?? '').split(',')
  return [question, items.map(numberOf)]
}

function numberOf(item: unknown): string {
  const text = typeof item === 'object' && item !== null && 'PhoneNumber' in item
  return String(text ? item.PhoneNumber : item).slice(0, 10)
}

const newYork = 'America/New_York'

function isOpen(time: VirtualTime): { readonly open: boolean; readonly leftSeconds: number } {
  const { secondOfDay } = toLocalTime(newYork, time.now())
  const open = secondOfDay >= opens && secondOfDay < closes
  return { open, leftSeconds: open ? closes - secondOfDay : 0 }
}

function scrubbed(phone: string, facts: VendorFacts, time: VirtualTime): unknown {
  const letter = facts.onList ? 'P' : facts.litigator ? 'D' : 'C'
  const permitted = letter === 'C' && isOpen(time).open
  const row: ScrubRow = {
    ...scrubRow,
    phone,
    letter,
    reserved: '',
    reason: letter === 'D' ? 'Litigator' : ';;;',
    ebrType: '',
    postalCode: '',
    timeZoneSource: 'NPANXX',
    wirelessPortDate: '',
    isWirelessOrVoip: false,
    lineType: 'AllOther',
    carrierInfo: '',
    utcOffsetMinutes: toLocalTime(newYork, time.now()).offsetMinutes,
    allowed: { manual: permitted, autodialed: permitted, ai: false },
  }
  return JSON.parse(toJsonText([row], 8))
}

function legalTime(number: string, time: VirtualTime): unknown {
  const { open, leftSeconds } = isOpen(time)
  return {
    PhoneNumber: number,
    IsCallPermitted: open,
    SecondsInCallWindow: leftSeconds,
    Status: 'OK',
    StatusMessage: null,
  }
}
