/**
 * What a check of evidence comes to: the first word of its last line, `result` in its JSON, and its exit code, in every
 * command and in the verifier of bundles. Runs there, with nothing else.
 */
export type EvidenceResult = 'PROVEN' | 'NOT PROVEN' | 'NOT CHECKED' | 'FALSE'

/** Not 1: every runtime gives that by accident, when a program crashes. */
export const exitCodes: Readonly<Record<EvidenceResult, number>> = {
  PROVEN: 0,
  'NOT PROVEN': 2,
  'NOT CHECKED': 3,
  FALSE: 10,
}

/** EX_USAGE of BSD. */
export const usageExitCode = 64
