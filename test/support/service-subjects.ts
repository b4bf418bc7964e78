/** The service's SQL subjects over one database, with two real accounts `main` and `other`. */
import { randomBytes } from 'node:crypto'
import { type Caller, noLimits, type Role } from '../../src/domain/caller.js'
import type { ChangeObserver } from '../../src/domain/change-notifier.js'
import { type PhoneNumber, toPhoneNumber } from '../../src/domain/phone-number.js'
import type { CandidatePlace, NumberFacts } from '../../src/domain/place.js'
import type { EbrLaw } from '../../src/law/records/ebr-expiry.js'
import type { ViewOf } from '../../src/service/account-view.js'
import { Accounts } from '../../src/service/accounts/accounts.js'
import { ApiKeys } from '../../src/service/accounts/api-keys.js'
import { EbrRecordList } from '../../src/service/consent/ebr-record-list.js'
import { EbrRecords } from '../../src/service/consent/ebr-records.js'
import { InternalDnc } from '../../src/service/internal-dnc/internal-dnc.js'
import { Projects } from '../../src/service/projects/projects.js'
import { ChangeHead } from '../../src/storage/change-head.js'
import type { OpenDatabase } from '../../src/storage/open-database.js'
import { noWebhooks } from './no-webhooks.js'
import { type TestClock, testClock } from './test-clock.js'

export interface Announced extends ChangeObserver {
  /** Texts such as `main:2125550100`, or `everything`. */
  readonly heard: string[]
}

export function recordChanges(): Announced {
  const heard: string[] = []
  return {
    heard,
    numbersChanged: (account, numbers) => {
      for (const number of numbers) heard.push(`${account}:${number}`)
    },
    everythingChanged: () => heard.push('everything'),
  }
}

/** Months by region as in the texts: NJ honours nothing but an open obligation. */
export const testLaw: EbrLaw = {
  findEbrRule: (region) => {
    const months: Record<string, { S: number; I: number }> = {
      NY: { S: 18, I: 3 },
      CT: { S: 12, I: 3 },
      CA: { S: 18, I: 1 },
      IN: { S: 0, I: 0 },
      NJ: { S: 0, I: 0 },
      ON: { S: 18, I: 6 },
    }
    const own = months[region]
    return own && { ...own, obligationExempts: region === 'NJ', citation: `the law of ${region}` }
  },
}

const placesByAreaCode: Readonly<Record<string, readonly string[]>> = {
  '212': ['NY'],
  '203': ['CT'],
  '201': ['NJ'],
  '213': ['CA'],
  '317': ['IN'],
  '416': ['ON'],
}

/** Knows a handful of area codes, each in one region. */
const testPlan = {
  lookup(number: PhoneNumber): NumberFacts {
    const areaCode = number.slice(0, 3)
    const regions = placesByAreaCode[areaCode]
    if (!regions) {
      const says = [{ code: 'area-code-not-in-service', params: { areaCode } }] as const
      return { status: 'unknown-prefix', says, areaCodeInUse: false }
    }
    const candidates: CandidatePlace[] = regions.map((region) => ({ region, zone: 'Etc/UTC' }))
    return {
      status: 'ok',
      place: { country: 'US', candidates, source: 'area-code' },
      locality: '',
      carrier: undefined,
      lineClass: 'unknown',
      originalClass: 'unknown',
    }
  },
}

export interface Subjects {
  readonly clock: TestClock
  readonly changes: Announced
  readonly changeHead: ChangeHead
  readonly accounts: Accounts
  readonly apiKeys: ApiKeys
  readonly projects: Projects
  readonly internalDnc: InternalDnc
  readonly ebrRecords: EbrRecords
  readonly ebrRecordList: EbrRecordList
}

export interface SubjectsOptions {
  readonly clock?: TestClock
  readonly viewOf?: ViewOf<'clock' | 'fixedFacts'>
}

/** Nothing needs a second person. */
export const alone = {
  changeRequests: { isNeededFor: () => false, require: async () => undefined },
  mayWidenLaw: false,
} as const

/** Builds the subjects as a process does at its start; the accounts are made when missing. */
export async function buildSubjects(
  storage: OpenDatabase,
  { clock = testClock(), viewOf = () => ({ clock, fixedFacts: undefined }) }: SubjectsOptions = {},
): Promise<Subjects> {
  const { db } = storage
  const changes = recordChanges()
  const accounts = new Accounts({ storage, clock, randomBytes })
  for (const id of ['main', 'other', 'sandbox']) {
    await accounts.ensure({ id, kind: id === 'sandbox' ? 'sandbox' : 'real', name: id })
  }
  const projects = new Projects({
    ...{ storage, clock, timers: clock, changes, webhooks: noWebhooks, ...alone },
  })
  const changeHead = new ChangeHead(storage, clock)
  const shared = { storage, projects, changes, changeHead, viewOf }
  const internalDnc = new InternalDnc({ ...shared, ...alone, accounts })
  return {
    clock,
    changes,
    changeHead,
    accounts,
    projects,
    apiKeys: new ApiKeys({
      db,
      reads: storage.reads,
      retryWhileLocked: storage.retryWhileLocked,
      author: storage.author,
      clock: changeHead.createExpiryClock(clock),
      timers: clock,
      randomBytes,
    }),
    internalDnc,
    ebrRecords: new EbrRecords({
      ...shared,
      internalDnc,
      changeRequests: { isNeededFor: () => false, ask: () => Promise.reject(new Error('nobody')) },
      viewOf: (id) => ({ ...viewOf(id), law: testLaw, numberingPlan: testPlan }),
    }),
    ebrRecordList: new EbrRecordList(shared),
  }
}

export function caller(accountId = 'main', role: Role = 'Administrator'): Caller {
  return { accountId, role, keyId: `key-of-${accountId}`, limits: noLimits }
}

export const n = toPhoneNumber
