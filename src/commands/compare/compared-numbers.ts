/** Reads the numbers of a comparison from a file or from recorded decisions, without duplicates. */
import type { Callgate } from '../../app/callgate.js'
import type { TableArguments } from '../../data/feeds/table-options.js'
import type { PhoneNumber } from '../../domain/phone-number.js'
import { parseWarmupNumber } from '../../sources/warming/read-warmup-numbers.js'
import { CommandFailure, type Terminal } from '../command.js'
import { formatCount } from '../format.js'
import { readTableOptions } from '../import/table-options.js'
import { describeRefused, numbersFileColumns, readNumbersFile } from '../numbers-file.js'
import { parseDuration } from '../option-values.js'

export interface ComparedNumber {
  readonly number: PhoneNumber
  readonly postalCode?: string | undefined
  readonly projectId?: string | undefined
  readonly campaignId?: string | undefined
}

/** The project and campaign that apply to the numbers of a file. */
export interface ComparisonScope extends TableArguments {
  readonly project?: string
  readonly campaign?: string
}

interface ComparisonContext {
  readonly callgate: Pick<Callgate, 'journal' | 'settings' | 'runtime'>
  readonly accountId: string
  readonly terminal: Pick<Terminal, 'note'>
}

export async function readListedNumbers(
  file: string,
  scope: ComparisonScope,
  { callgate, terminal }: ComparisonContext,
): Promise<readonly ComparedNumber[]> {
  const { project: projectId, campaign: campaignId } = scope
  const { numbers, refused } = await readNumbersFile(file, {
    serviceCodes: toServiceCodes(callgate),
    table: readTableOptions(scope, numbersFileColumns),
  })
  if (refused.length > 0) {
    terminal.note(
      `${formatCount(refused.length, 'line')} skipped\n${describeRefused(refused).join('\n')}\n`,
    )
  }
  const questions = numbers.map(({ number, postalCode }) => ({
    number,
    postalCode,
    projectId,
    campaignId,
  }))
  return [...distinct(questions).values()]
}

/** Numbers with the postal code, project and campaign of their decisions, without service codes. */
export async function readRecordedNumbers(
  time: string,
  { callgate, accountId }: ComparisonContext,
): Promise<readonly ComparedNumber[]> {
  const { journal, runtime } = callgate
  const codes = toServiceCodes(callgate)
  const since = runtime.clock.now() - parseDurationMs(time)
  const collected = new Map<string, ComparedNumber>()
  for (const decision of journal.index?.decisionsSince(accountId, since) ?? []) {
    const { number, postalCode, projectId, campaignId } = decision
    const read = parseWarmupNumber({ number, postalCode }, codes)
    if (typeof read !== 'string') distinct([{ ...read, projectId, campaignId }], collected)
  }
  if (collected.size > 0) return [...collected.values()]
  throw new CommandFailure(
    `--recorded '${time}': no decisions of account ${accountId} in that time`,
  )
}

function distinct(
  questions: readonly ComparedNumber[],
  collected = new Map<string, ComparedNumber>(),
): ReadonlyMap<string, ComparedNumber> {
  for (const question of questions) {
    const { number, postalCode, projectId, campaignId } = question
    collected.set(JSON.stringify([number, postalCode, projectId, campaignId]), question)
  }
  return collected
}

function toServiceCodes({ settings }: ComparisonContext['callgate']): ReadonlySet<string> {
  return new Set(settings.gate.serviceCodes)
}

function parseDurationMs(text: string): number {
  const ms = parseDuration(text, ['m', 'h', 'd'])
  if (ms !== undefined && ms > 0) return ms
  throw new CommandFailure(`--recorded '${text}': must be a time such as 30m, 12h or 7d`, 2)
}
