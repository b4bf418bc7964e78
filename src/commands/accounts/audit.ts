/** `callgate audit`: who changed what, and who read about whom. */
import { createOperatorCaller } from '../../domain/caller.js'
import { formatInstant } from '../../domain/time/dates.js'
import { AuditTrail } from '../../service/audit/audit-trail.js'
import { createReadLog } from '../../service/audit/read-log.js'
import type { AuditRecord } from '../../storage/audit/audit-log.js'
import { type AccountRequest, forAccount } from '../account-command.js'
import { formatTable, type RegisterCommand } from '../command.js'
import { parseTimeRange } from '../option-values.js'

interface AuditOptions {
  readonly since: string
  readonly until?: string
  readonly action?: string
  readonly who?: string
  readonly subject?: string
  readonly cursor?: string
  readonly json?: boolean
}

export const registerAudit: RegisterCommand = (program, terminal) => {
  program
    .command('audit')
    .description(
      'show who changed what in an account and who read about whom, newest first, 200 rows at most; that is a row too',
    )
    .option('--account <id>', 'of this account; main has those of the whole server as well', 'main')
    .option('--since <time>', 'instant, date or how long ago, such as 7d', '30d')
    .option('--until <time>', 'instant, date or how long ago; now when absent')
    .option('--action <word>', 'only this action, such as opt-out.added')
    .option('--who <id>', 'only of this one: key:<id>, user:<name> or system')
    .option('--subject <id>', 'only about this; ten digits also find who read about that number')
    .option('--cursor <text>', 'the next page, as the one before says')
    .option('--json', 'as JSON')
    .action(
      forAccount(async (context, { accountId, options }: AccountRequest<AuditOptions>) => {
        const { storage, runtime } = context
        const { since, until, json, ...filter } = options
        const now = runtime.clock.now()
        const range = parseTimeRange({ since, until }, now)
        // A row of the same millisecond is not left out.
        const to = until === undefined ? undefined : range.until
        const trail = new AuditTrail(storage, createReadLog(storage, runtime.clock))
        const question = { ...filter, from: range.since, to }
        const { records, cursor } = await trail.list(createOperatorCaller(accountId), question)
        const shown = records.map((record) => ({ ...record, at: formatInstant(record.at) }))
        if (json) {
          terminal.out(`${JSON.stringify({ records: shown, cursor }, undefined, 2)}\n`)
          return
        }
        terminal.out(describe(records))
        if (cursor !== null) terminal.note(`older rows: --cursor ${cursor}\n`)
      }),
    )
}

function describe(records: readonly AuditRecord[]): string {
  return formatTable(
    ['no', 'at', 'who', 'through', 'action', 'subject', 'before', 'after', 'reason'],
    records.map(({ seq, at, who, door, action, subject, before, after, reason }) => [
      String(seq),
      formatInstant(at),
      who,
      door,
      action,
      [subject.kind, subject.id].filter(Boolean).join(' '),
      describeJson(before),
      describeJson(after),
      reason ?? '-',
    ]),
  )
}

const describeJson = (value: unknown) => (value === null ? '-' : JSON.stringify(value))
