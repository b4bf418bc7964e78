/** Reads and validates `config/sandbox.yaml`: the fixed facts of the sandbox account's lines. */
import { z } from 'zod'
import { listDocumentProblems } from '../../data/files/document-problems.js'
import { readYamlFile } from '../../data/files/yaml-file.js'
import { lineStatuses, phoneTypes } from '../../domain/lookups.js'
import { labelIssuers } from '../../domain/spam-labels.js'
import type { Instant } from '../../domain/time/clock.js'
import { msPerDay, parseDay } from '../../domain/time/dates.js'
import { DataFileError, describeProblem } from '../../errors.js'

const daysAgo = z.int().min(1).max(365)

/** Permanent disconnects according to one data source: none, or how long ago the latest was. */
const disconnect = z.union(
  [z.literal('never'), z.strictObject({ daysAgo })],
  'must be never, or daysAgo from 1 to 365',
)

const complaint = z.strictObject({
  daysAgo,
  subject: z.string().min(1),
  robocall: z.boolean(),
  city: z.string().min(1),
  state: z.string().regex(/^[A-Z]{2}$/, 'must be two capital letters'),
})

/** Facts for lookups and reputation; absent facts are unknown. */
const lookupsSchema = z.strictObject({
  identity: z
    .strictObject({
      phoneType: z.enum(phoneTypes),
      ocn: z.string().regex(/^[A-Z0-9]{4}$/, 'must be 4 capital letters or digits'),
      telcoName: z.string().min(1).max(50),
      daysAgo,
    })
    .optional(),
  lineStatus: z.enum(lineStatuses).optional(),
  resOrBusiness: z.enum(['R', 'B', 'U']).optional(),
  disconnects: z
    .strictObject({
      /** In the national database. */
      national: disconnect.optional(),
      /** In our own carrier data. */
      own: disconnect.optional(),
    })
    .optional(),
  /** The sources that label the number; all other sources answer without a label. */
  labels: z.array(z.enum(labelIssuers)).optional(),
  /** Newest first. */
  complaints: z.array(complaint).default([]),
})

const lineSchema = z.strictObject({
  /** Human-readable: what the line demonstrates. */
  about: z.string().min(1),
  lineClass: z.enum(['wireless', 'wireline', 'voip']),
  nationalList: z.boolean().default(false),
  litigator: z.boolean().default(false),
  internalList: z.strictObject({ daysAgo }).optional(),
  relationship: z.strictObject({ type: z.enum(['S', 'I', 'P', 'T']), daysAgo }).optional(),
  lookups: lookupsSchema.optional(),
})

const line = z.string().regex(/^01\d\d$/, 'must be a line from 0100 to 0199')

const fileSchema = z
  .strictObject({
    listsAsOf: z
      .string()
      .refine((text) => parseDay(text) !== undefined, 'must be a day such as 2026-01-01'),
    lines: z.record(line, lineSchema),
    otherNumbers: line.optional(),
  })
  .superRefine(({ lines, otherNumbers }, context) => {
    if (otherNumbers === undefined) return
    const found = lines[otherNumbers]
    // The internal list is enumerated, so it cannot include every real number.
    if (found && found.internalList === undefined) return
    const message = 'must be one of lines that is not on the internal list'
    context.addIssue({ code: 'custom', path: ['otherNumbers'], message })
  })

export type SandboxLine = Readonly<z.infer<typeof lineSchema>>
export type SandboxLookups = Readonly<z.infer<typeof lookupsSchema>>
export type SandboxDisconnect = z.infer<typeof disconnect>

export interface SandboxFile {
  readonly listsAsOf: Instant
  /** By the last four digits, `0100` to `0199`. */
  readonly lines: ReadonlyMap<string, SandboxLine>
  /** The line whose facts apply to all real numbers in service; if absent, they have no facts. */
  readonly otherNumbers?: string | undefined
}

/** Throws a {@link DataFileError} that lists every field that breaks a rule. */
export function readSandboxFile(path: string): SandboxFile {
  const document = readYamlFile(path)
  // Compiling the schema for a single use would take longer than the use.
  const result = fileSchema.safeParse(document, { jitless: true })
  if (!result.success) {
    const problems = listDocumentProblems(result.error, document).map(describeProblem)
    throw new DataFileError(path, problems.join('; '), result.error)
  }
  const { listsAsOf, lines, otherNumbers } = result.data
  return {
    listsAsOf: (parseDay(listsAsOf) ?? 0) * msPerDay,
    lines: new Map(Object.entries(lines)),
    otherNumbers,
  }
}
