/** `callgate opt-outs ...`: what people said when they opted out, as evidence, and for those who read what is not understood. */

import type { Command } from 'commander'
import { resolveShippedFile } from '../../config/load.js'
import { loadCallingRules } from '../../data/calling-rules/calling-rules-schema.js'
import { createOperatorCaller } from '../../domain/caller.js'
import { parseDialString } from '../../domain/phone-number.js'
import { formatDay, formatInstant } from '../../domain/time/dates.js'
import { createReadLog } from '../../service/audit/read-log.js'
import {
  listStatements,
  markAsRead,
  type StoredStatement,
} from '../../service/internal-dnc/opt-out-statements.js'
import { listUnclear, type UnclearOptOut } from '../../service/platform-events/unclear-opt-outs.js'
import { runTransaction } from '../../service/sql/account-transaction.js'
import { requireAccount, requireOwnAccounts, withAppContext } from '../account-command.js'
import { CommandFailure, formatTable, type RegisterCommand, type Terminal } from '../command.js'
import { parseWholeNumber } from '../import/import-options.js'
import { findUser } from '../option-values.js'

interface ListOptions {
  readonly account: string
  readonly number?: string
  readonly unclear?: true
  readonly limit: string
}

export const registerOptOuts: RegisterCommand = (program, terminal) => {
  const group = program.command('opt-outs').description('what people said when they opted out')
  registerList(group, terminal)

  group
    .command('read')
    .description('note that you have read the words; the opt-out stays in force')
    .argument('<ids...>', 'of `callgate opt-outs list --unclear`')
    .option('--account <id>', 'account', 'main')
    .action((ids: readonly string[], { account: accountId }: ListOptions, command: Command) =>
      withAppContext(command, async (context) => {
        requireOwnAccounts(context)
        await requireAccount(context, accountId)
        const { storage, runtime } = context
        const by = { at: runtime.clock.now(), by: findUser(), author: storage.author }
        for (const id of ids) {
          const isMarked = await runTransaction(storage, (db) =>
            markAsRead(db, { accountId, id }, by),
          )
          if (isMarked) continue
          throw new CommandFailure(`'${id}': no opt-out of ${accountId} with this id is to be read`)
        }
        terminal.note(`read: ${ids.length}; they stay in force\n`)
      }),
    )
}

function registerList(group: Command, terminal: Terminal): void {
  group
    .command('list')
    .description(
      'the latest first: when it came in and took effect, until when the law would have it honored, what it is for, ' +
        'how it came in, who entered it, what the call was about and the words',
    )
    .option('--account <id>', 'account', 'main')
    .option('--number <number>', 'only of this number')
    .option(
      '--unclear',
      'only what a person should review: opt-outs whose words were not understood, and unclear opt-outs, with their ids',
    )
    .option('--limit <count>', 'at most so many', '100')
    .action((options: ListOptions, command: Command) =>
      withAppContext(command, async (context) => {
        const { account: accountId, number, unclear: isUnread = false, limit } = options
        await requireAccount(context, accountId)
        const { revocation } = loadCallingRules(
          resolveShippedFile(context.settings.callingHours.rulesFile),
        )
        const { ruleDates } = context.settings.optOuts
        const only = number === undefined ? undefined : readNumber(number)
        const rows = await listStatements(context.storage.db, {
          accountId,
          number: only,
          isUnread,
          limit: parseWholeNumber('--limit', limit) ?? 0,
        })
        const { storage, runtime } = context
        await createReadLog(storage, runtime.clock)(createOperatorCaller(accountId), {
          what: 'opt-outs.read',
          subject: only === undefined ? { kind: 'opt-outs', id: '' } : { kind: 'number', id: only },
          rows: rows.length,
        })
        const findLastDay = (receivedAt: number) => revocation.find(receivedAt, ruleDates)?.lastDay
        const withId = (id: string, cells: readonly string[]) => (isUnread ? [id, ...cells] : cells)
        terminal.out(
          formatTable(
            withId('ID', header),
            rows.map((row) => withId(row.id, toCells(row, findLastDay))),
          ),
        )
        if (!isUnread) return
        const waiting = await listUnclear(context.storage.db, accountId)
        const ofNumber = waiting.filter((row) => only === undefined || row.number === only)
        if (ofNumber.length === 0) return
        terminal.out(
          '\nNot in force; confirm or dismiss them on the console page Opt-outs, Unclear, or with POST /v1/unclear-opt-outs/<id>:\n',
        )
        terminal.out(formatTable(['ID', ...unclearHeader], ofNumber.map(toUnclearCells)))
      }),
    )
}

const header = [
  'RECEIVED',
  'IN FORCE',
  'LAW',
  'NUMBER',
  'SCOPE',
  'CHANNEL',
  'SOURCE',
  'BY',
  'GOODS',
  'WORDS',
]

const unclearHeader = ['HEARD', 'PLATFORM', 'KIND', 'NUMBER', 'DECISION', 'WORDS']

function toUnclearCells(row: UnclearOptOut): readonly string[] {
  const { id, platform, kind, number, decision_id } = row
  const heard = formatInstant(row.heard_at)
  return [id, heard, platform, kind, number ?? '-', decision_id ?? '-', toPlainText(row.said)]
}

function toCells(
  row: StoredStatement,
  findLastDay: (receivedAt: number) => number | undefined,
): readonly string[] {
  const lastDay = findLastDay(row.received_at)
  return [
    formatInstant(row.received_at),
    formatInstant(row.heard_at),
    lastDay === undefined ? '-' : formatDay(lastDay),
    row.number,
    row.scope === 'everything' ? 'everything' : `project ${row.list}`,
    row.channel,
    row.source,
    row.key_id,
    toPlainText(row.goods),
    toPlainText(row.said),
  ]
}

/** The words are those of strangers. */
function toPlainText(text: string | null): string {
  return text?.replaceAll(/\p{C}/gu, ' ') ?? '-'
}

function readNumber(text: string): string {
  const parsed = parseDialString(text)
  if (parsed.kind === 'nanp') return parsed.number
  throw new CommandFailure(`--number '${text}': must be a number of the North American plan`, 2)
}
