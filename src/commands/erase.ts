/** `callgate erase ...`: takes a person's number out of the records, as far as the law allows. */
import { join } from 'node:path'
import type { Command } from 'commander'
import type { AppContext } from '../app/app-context.js'
import { eraseInJournal } from '../app/journal/erase-in-journal.js'
import { openErasures } from '../app/journal/erasures.js'
import { shipJournal } from '../app/journal/ship-journal.js'
import { createOperatorCaller, mainAccountId } from '../domain/caller.js'
import { parseDialString } from '../domain/phone-number.js'
import { formatInstant } from '../domain/time/dates.js'
import { DataFileError } from '../errors.js'
import { readBeginning } from '../gate/journal/journal-beginning.js'
import { JournalReader } from '../gate/journal/journal-reader.js'
import { eraseStoredRows } from '../gate/journal/projection/erase-rows.js'
import { NumberEraser } from '../gate/journal/removal/erase-records.js'
import { isPresent } from '../runtime/folders.js'
import { sleep } from '../runtime/runtime.js'
import { createReadLog } from '../service/audit/read-log.js'
import type { Erasure, ErasureRequest, Erasures } from '../service/erasure/erasure.js'
import type { ErasedRows } from '../service/erasure/row-erasure.js'
import { requireAccount, withAppContext } from './account-command.js'
import { CommandFailure, formatTable, type RegisterCommand, type Terminal } from './command.js'
import { joinLines } from './format.js'
import { findUser } from './option-values.js'

interface EraseOptions {
  readonly number?: string
  readonly account?: string
  readonly reason?: string
  readonly allowedCalls?: boolean
  readonly dryRun?: boolean
  readonly yes?: boolean
}

export const registerErase: RegisterCommand = (program, terminal) => {
  const erase = program
    .command('erase')
    .description('take a person’s number out of the records, as far as the law allows')
    .option('--number <number>', 'ten digits, with or without 1 before them')
    .option('--account <id>', 'only in this account (default: in all)')
    .option('--reason <text>', 'kept with the record of the erasure; must not have the number')
    .option(
      '--allowed-calls',
      'also in decisions that allowed a call, although 16 CFR 310.5 asks for their number for five years',
    )
    .option('--dry-run', 'report what would be done; change nothing')
    .option('--yes', 'do it: it cannot be undone')
    .action((options: EraseOptions, command: Command) =>
      withAppContext(command, (context) => eraseNumber(context, options, terminal)),
    )
  erase
    .command('list')
    .description('the erasures so far, without their numbers')
    .action((_options, command: Command) =>
      withAppContext(command, async (context) => {
        terminal.out(formatList(await openErasures(context).list()))
      }),
    )
}

async function eraseNumber(
  context: AppContext,
  options: EraseOptions,
  terminal: Terminal,
): Promise<void> {
  const request = toRequest(context, options)
  if (request.accountId !== undefined) await requireAccount(context, request.accountId)
  const erasures = openErasures(context)
  if (options.dryRun || !options.yes) {
    const rows = await erasures.preview(request)
    const { storage, runtime } = context
    const reader = createOperatorCaller(request.accountId ?? mainAccountId)
    await createReadLog(storage, runtime.clock)(reader, {
      what: 'erasure.previewed',
      subject: { kind: 'number', id: request.number },
      rows: rows.reduce((sum, { count }) => sum + count, 0),
    })
    terminal.out(formatReport(request, rows, countDecisions(context, request)))
    terminal.note('nothing was changed; --yes erases the number, which cannot be undone\n')
    if (!options.dryRun) throw new CommandFailure('', 2)
    return
  }
  const { number, accountId: account, includesAllowed: allowedCalls, reason } = request
  const where = account === undefined ? 'in all accounts' : `in account ${account}`
  await context.changeRequests.require(createOperatorCaller(account ?? mainAccountId), {
    ...{ kind: 'erase', what: `erasing a number ${where}`, reason },
    request: { number, account, allowedCalls, reason },
  })
  const id = await erasures.request(request)
  terminal.note(`erasure ${id}: the database is done; erasing in the journal\n`)
  const { rows, decisions } = await finishErasure(context, erasures, id)
  terminal.out(formatReport(request, rows, decisions))
  terminal.out(`recorded without the number as erasure ${id} (callgate erase list)\n`)
}

function toRequest({ settings }: AppContext, options: EraseOptions): ErasureRequest {
  const { number: text = '', account, reason, allowedCalls = false } = options
  const parsed = parseDialString(text)
  if (parsed.kind !== 'nanp') {
    throw new CommandFailure(
      `--number '${text}': must be a number of the US or Canada with ten digits, such as 2125550106`,
      2,
    )
  }
  const { number } = parsed
  if (reason?.replace(/\D/g, '').includes(number)) {
    throw new CommandFailure('--reason must not have the number: it is kept', 2)
  }
  return {
    number,
    accountId: account,
    includesAllowed: allowedCalls,
    reason,
    requestedBy: findUser(),
    keepYears: settings.journal.keepYears,
  }
}

const getJournalFolder = ({ settings }: Pick<AppContext, 'settings'>) =>
  join(settings.dataDir, 'journal')

/** In the journal, which is only read. */
function countDecisions(context: AppContext, request: ErasureRequest) {
  const eraser = new NumberEraser(request)
  const folder = getJournalFolder(context)
  if (!isPresent(folder)) return eraser.counts
  const reader = new JournalReader(folder, readBeginning(folder).firstSeq)
  try {
    for (let records = reader.read(); records.length > 0; records = reader.read()) {
      for (const record of records) eraser.eraseRecord(record)
    }
  } finally {
    reader.close()
  }
  return eraser.counts
}

const pollMs = 100
/** Journals of years take longer. */
const maxWaitMs = 60_000

/** A running server erases in its journal, which it writes; without one this process does. */
async function finishErasure(
  context: AppContext,
  erasures: Erasures,
  id: string,
): Promise<Erasure> {
  const { isShared } = context.storage.traits
  if (isShared) await eraseShipped(context, id)
  let isOwnDone = false
  for (let waitedMs = 0; !isShared || waitedMs < maxWaitMs; waitedMs += pollMs) {
    // Its own journal first: one that was never copied holds up nothing.
    if (!isOwnDone && (await lockJournal(context))) {
      await eraseUnfinished(context, erasures)
      isOwnDone = true
    }
    if (isShared) await erasures.finishShared(id)
    const erasure = await erasures.find(id)
    if (erasure === undefined) throw new CommandFailure(`erasure ${id} is gone from the database`)
    if (erasure.decisions !== undefined) return erasure
    await sleep(pollMs)
  }
  throw new CommandFailure(
    `erasure ${id}: the database is done, but not the journals of all servers. It ends by itself once each server has ` +
      'run for a while (callgate erase list). For a server that is gone, run: callgate decisions ship <its data folder>. If ' +
      'its folder is lost: callgate decisions list, then callgate decisions give-up <journal>',
  )
}

/** Nobody else looks after what is copied of a journal whose server is gone. */
async function eraseShipped({ storage: { db } }: AppContext, id: string): Promise<void> {
  const shipped = await db
    .selectFrom('journals')
    .select('origin')
    .where('shipped', '=', 1)
    .execute()
  for (const { origin } of shipped) await eraseStoredRows(db, origin, id)
}

/** False while a server has it. */
async function lockJournal({ storage }: AppContext): Promise<boolean> {
  try {
    await storage.lockForServing()
    return true
  } catch (cause) {
    if (cause instanceof DataFileError) return false
    throw cause
  }
}

async function eraseUnfinished(context: AppContext, erasures: Erasures): Promise<void> {
  const folder = getJournalFolder(context)
  const hasJournal = isPresent(folder)
  if (context.storage.traits.isShared) {
    if (hasJournal) await shipJournal(folder, context)
    return
  }
  const unfinished = await erasures.findUnfinished('')
  const finished = hasJournal
    ? await eraseInJournal(folder, unfinished, context)
    : unfinished.map(({ id }) => ({ id, erased: 0, kept: 0 }))
  for (const { id, ...counts } of finished) await erasures.finishJournal(id, '', counts)
}

const notReached = [
  'the log: its numbers are masked when it is written',
  'imported lists and facts: they are their publishers’; answers of a provider are in memory for a while',
  'backups, exports, reject files, recordings, and the records of the PBX and the dialer: erase it there',
]

function formatReport(
  { includesAllowed }: ErasureRequest,
  rows: readonly ErasedRows[],
  decisions: Erasure['decisions'],
): string {
  const { erased = 0, kept = 0 } = decisions ?? {}
  const whyKept =
    'until removed after journal.keepYears: they show that a call was permitted, and 16 CFR 310.5(a)(2) ' +
    'asks for the called number for 5 years; --allowed-calls erases them too'
  const decisionRows: readonly ErasedRows[] = [
    { what: 'decisions', count: erased, result: 'reduced', why: 'without the number' },
    { what: 'decisions that allowed a call', count: kept, result: 'kept', why: whyKept },
  ]
  const all = [...rows, ...decisionRows].filter(({ count }) => count > 0)
  return joinLines([
    ...(all.length > 0 ? all.map(formatRows) : ['no records have the number']),
    ...(includesAllowed ? ['decisions that allowed a call were included (--allowed-calls)'] : []),
    'not changed:',
    ...notReached.map((line) => `  ${line}`),
  ])
}

function formatRows({ what, count, result, why }: ErasedRows): string {
  return `${result.padEnd(8)} ${String(count).padStart(5)} ${what}${why === undefined ? '' : `: ${why}`}`
}

function formatList(erasures: readonly Erasure[]): string {
  if (erasures.length === 0) return 'no erasures\n'
  return formatTable(
    ['erasure', 'requested', 'by', 'account', 'records', 'decisions', 'kept', 'reason'],
    erasures.map(({ id, requestedAt, requestedBy, accountId, rows, decisions, reason }) => {
      const count = (wanted: boolean) =>
        rows.reduce((sum, row) => ((row.result !== 'kept') === wanted ? sum + row.count : sum), 0)
      return [
        id,
        formatInstant(requestedAt),
        requestedBy,
        accountId ?? '(all)',
        String(count(true)),
        decisions ? String(decisions.erased) : 'in progress',
        String(count(false) + (decisions?.kept ?? 0)),
        reason ?? '',
      ]
    }),
  )
}
