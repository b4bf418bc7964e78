/** Subjects that note what they were asked and answer plainly, for the rules of the wire alone. */
import { parsePhoneNumber } from '../../src/domain/phone-number.js'
import type { ScrubItem } from '../../src/domain/scrub-row.js'
import { AppError, invalidRequest } from '../../src/errors.js'
import type { EvaluatedRow } from '../../src/service/scrub/scrub-row.js'
import type { Service } from '../../src/service/service.js'

export const scrubRow: EvaluatedRow = {
  phone: '2125550106',
  letter: 'G',
  reserved: 'a1',
  reason: ';;;W',
  region: 'NY',
  country: 'US',
  locale: 'NEW YORK',
  carrierInfo: '6010;WIRELESS;"VERIZON WIRELESS:CELLCO, INC"',
  timeZoneCode: '35',
  callingWindow: '8:00-21:00;8:00-21:00;8:00-21:00',
  utcOffsetMinutes: -300,
  doNotCallToday: false,
  callingTimeRestrictions: '4',
  ebrType: 'P',
  isWirelessOrVoip: true,
  lineType: 'Wireless',
  ebrExpiresOn: '',
  postalCode: '10001',
  wirelessPortDate: '',
  timeZoneSource: 'PostalCode',
  allowed: { manual: true, autodialed: true, ai: false },
  holdsUntil: Number.POSITIVE_INFINITY,
  detail: undefined,
}

export interface FakeService extends Service {
  /** What the subjects were asked, oldest first. */
  readonly asked: { readonly call: string; readonly with: unknown }[]
}

type Asked =
  | 'accountKeys'
  | 'recordRead'
  | 'timeLegal'
  | 'scrub'
  | 'internalDnc'
  | 'consent'
  | 'litigators'

const refuse = () => Promise.reject(new AppError('not-found', 'nothing is known here'))

/** Knows nothing of whatever it is asked. */
const knowsNothing = new Proxy({}, { get: () => refuse })

const otherNames = [
  ...(['callTimes', 'timeZones', 'ebrRecordList', 'tokens', 'access', 'projects'] as const),
  ...(['projectRpc', 'legalEntities', 'lookups', 'reassigned', 'monitor'] as const),
  ...(['flagsRemoved', 'scans', 'approvals', 'callerIds', 'consentHistories', 'audit'] as const),
] satisfies readonly Exclude<keyof Service, Asked>[]

/** Subjects that have tests of their own. */
const others = Object.fromEntries(otherNames.map((name) => [name, knowsNothing])) as Omit<
  Service,
  Asked
>

const rowsOf = (items: readonly ScrubItem[]): EvaluatedRow[] =>
  items.map(({ phone, reserved = '' }) => ({ ...scrubRow, phone, reserved }))

export function fakeService(parts: Partial<Service> = {}): FakeService {
  const asked: { call: string; with: unknown }[] = []
  const note = (call: string, request: unknown) => void asked.push({ call, with: request })
  return {
    ...others,
    asked,
    accountKeys: refuse,
    timeLegal: {
      check: async (_caller, items) => {
        note('timeLegal.check', items)
        return items.map(({ phoneNumber: phone }) => ({
          phoneNumber: String(phone ?? ''),
          permitted: true,
          secondsLeft: 60,
          status: 'OK',
          message: null,
        }))
      },
    },
    scrub: {
      async *streamRows(_accountId, request) {
        note('scrub.rows', request)
        yield rowsOf(request.items.slice(0, 7_000))
        yield rowsOf(request.items.slice(7_000))
      },
    },
    internalDnc: {
      add: async (_caller, request) => note('internalDnc.add', request),
      remove: async (_caller, request) => note('internalDnc.remove', request),
      readStatus: async (_caller, request) => {
        note('internalDnc.status', request)
        const on = { onList: true, addedOn: '2026-01-02', lastModifiedOn: '2026-01-03' }
        const off = { onList: false, addedOn: null, lastModifiedOn: null }
        return request.numbers.map((phone) =>
          parsePhoneNumber(phone)
            ? { phone, ...on, invalid: false }
            : { phone, ...off, invalid: true },
        )
      },
      count: async (_caller, request) => {
        note('internalDnc.count', request)
        return { count: 2, lastModifiedOn: '2026-01-03' }
      },
    },
    ebrRecords: {
      record: async (_caller, request) => {
        note('consent.record', request)
        return { stored: request.records.length, warnings: [] }
      },
    },
    recordRead: async () => undefined,
    litigators: {
      check: async (_accountId, { numbers }) => {
        note('litigators.check', numbers)
        return numbers.map((text) => {
          const phone = parsePhoneNumber(text)
          if (phone) return { phone, isLitigator: false }
          throw invalidRequest([{ field: 'PhoneList', value: text, rule: 'must be 10 digits' }])
        })
      },
    },
    ...parts,
  }
}
