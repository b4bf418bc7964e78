/**
 * Looking at relationship and consent records, and taking them out of force. The published API has
 * neither call; a consent that was given in error must have an end all the same.
 */
import type { Selectable } from 'kysely'
import type { Caller } from '../../domain/caller.js'
import { announceNumbers, type ChangeListener } from '../../domain/changes.js'
import { type Clock, formatInstant } from '../../domain/clock.js'
import type { ConsentRecord, ConsentRecordsRequest } from '../../domain/consent-records.js'
import { asPhoneNumber, type PhoneNumber } from '../../domain/phone-number.js'
import { forEachInSlices, yieldToEventLoop } from '../../domain/slices.js'
import { type FieldProblem, invalidRequest } from '../../errors.js'
import type { ChangeHead } from '../../storage/change-head.js'
import type { OpenDatabase } from '../../storage/engine.js'
import type { EbrRecordRow } from '../../storage/tables.js'
import { currentLists } from '../projects/project-scope.js'
import type { ScopeResolver } from '../projects/projects.js'
import { requireOwnLists, requireScope } from '../projects/require-scope.js'
import { writeForAccount } from '../sql/account-write.js'
import { chunksOf } from '../sql/chunks.js'
import { storedInForce, supersede, wholeInForce } from './ebr-rows.js'

export interface ConsentRecordsOptions {
  readonly storage: Pick<OpenDatabase, 'db' | 'traits' | 'patiently'>
  readonly projects: ScopeResolver
  readonly changes: ChangeListener
  readonly clockOf: (accountId: string) => Clock
  readonly changeHead: Pick<ChangeHead, 'next'>
}

const mostProblems = 20

export class ConsentRecords {
  readonly #options: ConsentRecordsOptions

  constructor(options: ConsentRecordsOptions) {
    this.#options = options
  }

  /** The stored records in force of the numbers; fixed facts of a sandbox are not among them. */
  async list(
    { accountId }: Caller,
    request: ConsentRecordsRequest,
  ): Promise<readonly ConsentRecord[]> {
    const { storage, projects } = this.#options
    const scope = await requireScope(projects, accountId, request)
    const owner = { accountId, projectCode: scope.ebrProject }
    const found: ConsentRecord[] = []
    for (const chunk of chunksOf(await distinct(request.numbers), storage.traits)) {
      await yieldToEventLoop()
      const rows = await wholeInForce(storage.db, owner, chunk).execute()
      found.push(...rows.map(recordOf))
    }
    return found
  }

  /**
   * Takes the records of the numbers out of force; they are kept as evidence. Gives how many there
   * were. Returns when the change is on disk and announced.
   */
  async remove(caller: Caller, request: ConsentRecordsRequest): Promise<number> {
    const { accountId } = caller
    const { storage, projects, changes, clockOf, changeHead } = this.#options
    const scope = await requireScope(projects, accountId, request)
    const numbers = await distinct(request.numbers)
    const { traits } = storage
    const at = clockOf(accountId).now()
    const removed = await writeForAccount(storage, accountId, async (transaction) => {
      const { ebrProject } = await currentLists(transaction, scope)
      requireOwnLists(caller, ebrProject)
      const owner = { accountId, projectCode: ebrProject }
      const ids: number[] = []
      for (const chunk of chunksOf(numbers, traits)) {
        await yieldToEventLoop()
        const rows = await storedInForce(transaction, owner, chunk).execute()
        ids.push(...rows.map(({ id }) => id))
      }
      await changeHead.next(transaction)
      await supersede(transaction, { at, traits }, ids)
      return ids.length
    })
    await announceNumbers(changes, accountId, numbers)
    return removed
  }
}

async function distinct(texts: readonly string[]): Promise<readonly PhoneNumber[]> {
  const numbers = new Set<PhoneNumber>()
  const problems: FieldProblem[] = []
  await forEachInSlices(texts, (text) => {
    const number = asPhoneNumber(text)
    if (number) numbers.add(number)
    else problems.push({ field: 'phoneList', value: text, rule: 'must be exactly 10 digits' })
  })
  if (problems.length > 0) throw invalidRequest(problems.slice(0, mostProblems))
  return [...numbers]
}

function recordOf(row: Selectable<EbrRecordRow>): ConsentRecord {
  return {
    phoneNumber: row.number,
    type: row.type,
    dateOfLastContact: row.contact_at === null ? row.contact_on : formatInstant(row.contact_at),
    dateObligationEnds: row.obligation_ends_on,
    referenceNum: row.reference_num,
    brand: row.brand,
    email: row.email,
    recordedOn: formatInstant(row.recorded_at),
    recordedBy: row.key_id,
  }
}
