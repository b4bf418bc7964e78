/** The recorded decisions of a time: of this server by its journal, or of all servers by their PostgreSQL. */
import { join } from 'node:path'
import type { Command } from 'commander'
import type { CallOutcome } from '../../domain/call-outcome.js'
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay } from '../../domain/time/dates.js'
import { describeProblem } from '../../errors.js'
import { readRange } from '../../gate/journal/projection/read-range.js'
import {
  type RecordedDecision,
  readRecordedCalls,
  readRecordedDecisions,
  type TimeRange,
} from '../../gate/journal/recorded-decisions.js'
import { readRecord } from '../../gate/record/read-record.js'
import { withAppContext } from '../account-command.js'
import { CommandFailure, loadCommandSettings } from '../command.js'
import { parseTimeOption } from '../option-values.js'

/** In the journal, what becomes of a call is noted after it; later notes are not read. */
const outcomeDelayMs = msPerDay

/** Throws {@link CommandFailure} for wrong texts. */
export function parsePeriod(from: string, to: string | undefined, now: Instant): TimeRange {
  const since = parseTimeOption('--from', from, now)
  const until = to === undefined ? now : parseTimeOption('--to', to, now)
  if (since < until) return { since, until }
  const rule = `must be before ${to === undefined ? 'now' : `--to '${to}'`}`
  throw new CommandFailure(describeProblem({ field: '--from', value: from, rule }), 2)
}

/** Calls back with each decision, and with its amendment after it; in PostgreSQL, with the last record alone. */
export async function forEachDecision(
  command: Command,
  range: TimeRange,
  onDecision: (recorded: RecordedDecision) => Promise<void>,
): Promise<void> {
  const { storage, dataDir } = loadCommandSettings(command)
  if (storage.engine !== 'postgres') {
    for (const recorded of readRecordedDecisions(join(dataDir, 'journal'), range)) {
      await onDecision(recorded)
    }
    return
  }
  await withAppContext(command, async (context) => {
    for await (const { body } of readRange(context.storage.db, range)) {
      const document = readRecord('decision', { body })
      await onDecision({ document, body, isAmendment: false })
    }
  })
}

/** Calls back with each decision, and with what was noted about calls, in any order. */
export async function forEachCall(
  command: Command,
  range: TimeRange,
  observer: {
    onDecision(recorded: Pick<RecordedDecision, 'document'>): void
    onOutcome(decisionId: string, outcome: Partial<CallOutcome>): void
  },
): Promise<void> {
  const { storage, dataDir } = loadCommandSettings(command)
  if (storage.engine !== 'postgres') {
    for (const one of readRecordedCalls(join(dataDir, 'journal'), range, outcomeDelayMs)) {
      if ('outcome' in one) observer.onOutcome(one.id, one.outcome)
      else observer.onDecision(one)
    }
    return
  }
  await withAppContext(command, async (context) => {
    for await (const stored of readRange(context.storage.db, range)) {
      const document = readRecord('decision', stored)
      observer.onDecision({ document })
      observer.onOutcome(document.id, stored.outcome)
    }
  })
}
