/**
 * What callgate says of the sandbox lines of New York inside calling hours. The facts of the lines are
 * in `config/sandbox.yaml`; what follows from them is written out here, once for all tests.
 */
import type { CallRow } from '../../src/domain/compliance.js'

export interface SandboxLine {
  /** The number is 212-555-`line`. */
  readonly line: string
  readonly letter: CallRow['letter']
  readonly ebrType: CallRow['ebrType']
  readonly scrubReason: RegExp
  /** Of the decision about a manual, an autodialed and an AI call. */
  readonly reasons: readonly [manual: string, autodialed: string, ai: string]
}

export const callKinds = ['manual', 'autodialed', 'ai'] as const

const always = (reason: string) => [reason, reason, reason] as const
const notAi = ['permitted', 'permitted', 'no-consent'] as const
const manualOnly = ['permitted', 'no-consent', 'no-consent'] as const

const onNationalList = /^National \(USA\) \d{4}-\d{2}-\d{2};;;$/
const wirelessOnNationalList = /^National \(USA\) \d{4}-\d{2}-\d{2};;;W$/
const nothing = /^$/
const landline = /^;;;$/
const wireless = /^;;;W$/

/** The last is a fictional line without facts. */
export const sandboxLines: readonly SandboxLine[] = (
  [
    ['0100', 'C', '', landline, notAi],
    ['0101', 'W', '', wireless, manualOnly],
    ['0102', 'Y', '', landline, manualOnly],
    ['0103', 'D', '', onNationalList, always('national-dnc')],
    ['0104', 'P', '', nothing, always('internal-dnc')],
    ['0105', 'D', '', /^Litigator$/, always('litigator')],
    ['0106', 'G', 'P', wireless, always('permitted')],
    ['0107', 'O', 'P', onNationalList, always('permitted')],
    ['0108', 'H', 'P', wirelessOnNationalList, always('permitted')],
    ['0109', 'E', 'S', landline, notAi],
    ['0110', 'G', 'S', wireless, manualOnly],
    ['0111', 'P', 'P', nothing, always('consent-revoked')],
    ['0112', 'O', 'P', landline, always('permitted')],
    ['0113', 'W', '', wireless, manualOnly],
    ['0114', 'C', '', landline, notAi],
    ['0115', 'C', '', landline, notAi],
    ['0116', 'Y', '', landline, manualOnly],
    ['0117', 'W', '', wireless, manualOnly],
    ['0118', 'W', '', wireless, manualOnly],
    ['0119', 'C', '', landline, notAi],
    ['0120', 'I', '', nothing, always('unknown-prefix')],
  ] as const
).map(([line, letter, ebrType, scrubReason, reasons]) => ({
  line,
  letter,
  ebrType,
  scrubReason,
  reasons,
}))
