/** Our own facts over a database and real subjects, as decisions read them, and what the rules say by them. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ListAges } from '../../src/data/number-list/list-ages.js'
import type { Question } from '../../src/domain/compliance.js'
import type { Clock, Instant } from '../../src/domain/time/clock.js'
import type { OwnRow } from '../../src/judge/judged.js'
import { ListFacts, type Lists } from '../../src/service/lists/list-facts.js'
import { chooseByAccount } from '../../src/service/sandbox/sandbox.js'
import { SandboxLists } from '../../src/service/sandbox/sandbox-lists.js'
import { OwnFactsReader } from '../../src/sources/own/read-own-facts.js'
import { openDatabase } from '../../src/storage/engine.js'
import { migrateSchema } from '../../src/storage/migrate.js'
import { type JudgedAs, judgeSources } from '../sources/own/own-facts-fixture.js'
import { readAll } from '../support/own-facts.js'
import {
  ageless,
  fakeLists,
  hoursOver,
  planWith,
  postalCodes,
  rules,
  testSandbox,
} from '../support/scrub-parts.js'
import { buildSubjects } from '../support/service-subjects.js'
import { testClock } from '../support/test-clock.js'

/** A landline in New York. */
export const ny = '2127361000'
/** Monday, noon in New York. */
export const noon = '2026-11-23T17:00:00Z'

export interface OwnFactsOptions {
  readonly clock?: Clock
  readonly sandboxAt?: Instant
  readonly lists?: Lists
  readonly ages?: ListAges
}

export async function openOwnFacts({
  clock = testClock(noon),
  sandboxAt,
  lists,
  ages = ageless,
}: OwnFactsOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-own-'))
  const storage = await openDatabase({
    dataDir: folder,
    lockWaitMs: 100,
    blockForLockMs: 0,
  })
  await migrateSchema(storage)
  const sandbox = testSandbox(clock, sandboxAt)
  const plan = planWith({ [ny]: { lineClass: 'wireline' } })
  const sandboxPlan = sandbox.planOver(plan)
  const views = {
    real: {
      clock,
      numberingPlan: plan,
      hours: hoursOver(plan),
      law: rules,
      lists: new ListFacts({ lists: lists ?? fakeLists({}), ages, clock }),
      fixedFacts: undefined,
    },
    sandbox: {
      clock: sandbox.clock,
      numberingPlan: sandboxPlan,
      hours: hoursOver(sandboxPlan),
      law: rules,
      lists: new SandboxLists(sandbox),
      fixedFacts: sandbox,
    },
  }
  const subjects = await buildSubjects(storage, { viewOf: chooseByAccount(views) })
  const { internalDnc, ebrRecords, projects } = subjects
  const errors: string[] = []
  const readerFor = (kind: 'real' | 'sandbox') =>
    new OwnFactsReader({
      internalDnc,
      ebrRecords,
      projects,
      postalCodes,
      views,
      kind,
      besideProvider: false,
      onError: (cause) => errors.push(String(cause)),
    })
  const readerOf = chooseByAccount({ real: readerFor('real'), sandbox: readerFor('sandbox') })
  const read = async (question: Question) => await readAll(readerOf(question.accountId), question)
  const judge = async (question: Question, as?: JudgedAs) => {
    const own = await read(question)
    return { own, ...judgeSources(question, { own }, as) }
  }
  /** Fails if there is no row. */
  const rowOf = async (question: Question): Promise<OwnRow> => {
    const { row, permission } = await judge(question)
    if (!row) throw new Error(`there is no row: ${JSON.stringify(permission)}`)
    return row
  }
  /** Fails if that is not known. */
  const isOnInternalList = async (question: Question): Promise<boolean> => {
    const { entry } = await read(question)
    if (entry === 'not-asked' || entry.why) throw new Error(JSON.stringify(entry))
    return entry.value?.removedAt === null
  }
  const close = async () => {
    await storage.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { read, judge, rowOf, isOnInternalList, readerOf, close, errors, ...subjects }
}

export type OpenOwnFacts = Awaited<ReturnType<typeof openOwnFacts>>

export async function withOwnFacts(
  options: OwnFactsOptions,
  work: (open: OpenOwnFacts) => Promise<void>,
): Promise<void> {
  const open = await openOwnFacts(options)
  try {
    await work(open)
  } finally {
    await open.close()
  }
}
