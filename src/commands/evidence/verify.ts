/** `callgate evidence verify`: whether the records of a journal are those that were signed. */
import { closeSync, existsSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { getErrorMessage } from '../../errors.js'
import { type Verification, verifyJournal } from '../../evidence/verify/verify-journal.js'
import { readAt } from '../../gate/journal/segment-file.js'
import { systemClock } from '../../runtime/runtime.js'
import {
  formatVerifierKey,
  parseVerifierKey,
  type VerifierKey,
} from '../../transparency/signed-note.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from '../command.js'
import { formatCount } from '../format.js'
import { asResult, exitByResult } from './misuse.js'

interface VerifyOptions {
  readonly journal?: string
  readonly key?: string
  readonly head: readonly string[]
  readonly json?: true
}

const addTo = (value: string, values: readonly string[]): readonly string[] => [...values, value]

export const registerVerify: RegisterCommand = (group, terminal) => {
  const command = group
    .command('verify')
    .description(
      'find a record that was changed, left out, added, moved or cut off since it was signed, and an index beside the ' +
        'journal that disagrees. Changes nothing; the server may be running',
    )
    .option('--journal <folder>', 'a journal, also a copy (default: that of the data folder)')
    .option('--key <key>', 'the verifier key of the journal, as you noted it before')
    .option(
      '--head <file>',
      'a signed checkpoint of the journal that was kept elsewhere, as by a witness, or a file that has several, of which the ' +
        'last is compared; may be given again',
      addTo,
      [],
    )
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\nWithout --key, the key beside the journal is used, which only shows that the journal agrees with itself. Without ' +
        '--head, an older copy of the whole journal in its place is not found, nor one written anew by someone ' +
        'who has its private key.\n\nExits with 0 if all of it is proven, 1 if something is not as it was signed, 2 if ' +
        'something could not be checked, and 3 for wrong usage.',
    )
  exitByResult(command).action(
    asResult(async (options: VerifyOptions, invoked: Command) => {
      const given = options.journal ?? join(loadCommandSettings(invoked).dataDir, 'journal')
      const folder = resolve(given)
      const index = join(dirname(folder), 'index.sqlite')
      const indexPath = existsSync(index) ? index : undefined
      const key = options.key === undefined ? undefined : parseKey(options.key)
      const heads = options.head.map((name) => ({ name, signed: readEnd(name) }))
      const now = systemClock.now()
      const verification = verifyJournal({ folder, key, heads, indexPath, now })
      terminal.out(options.json ? toJson(verification) : format(verification, heads.length))
      const code = exitCodeOf(verification)
      if (code !== 0) throw new CommandFailure('', code)
    }),
  )
}

export function parseKey(text: string): VerifierKey {
  try {
    return parseVerifierKey(text)
  } catch (cause) {
    throw new CommandFailure(`--key: ${getErrorMessage(cause)}`)
  }
}

export function readTextFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new CommandFailure(`${path}: ${getErrorMessage(cause)}`)
  }
}

/** A file with the heads of a year may be too long for memory, and only its last head counts. */
function readEnd(path: string): string {
  try {
    const file = openSync(path, 'r')
    try {
      const { size } = fstatSync(file)
      return readAt(file, Math.max(0, size - maxHeadsBytes), maxHeadsBytes).toString('utf8')
    } finally {
      closeSync(file)
    }
  } catch (cause) {
    throw new CommandFailure(`--head ${path}: ${getErrorMessage(cause)}`)
  }
}

const maxHeadsBytes = 1_048_576

function exitCodeOf({ findings }: Verification): 0 | 1 | 2 {
  if (findings.some(({ level }) => level === 'false')) return 1
  return findings.length > 0 ? 2 : 0
}

function toJson({ findings, hasMore, head, counts }: Verification): string {
  const [own] = head?.signatures ?? []
  const signed = head && {
    origin: head.origin,
    size: head.size,
    root: head.root.toString('base64'),
    key: own && formatVerifierKey(own.key),
  }
  return `${JSON.stringify({ head: signed, counts, findings, hasMore }, null, 2)}\n`
}

/** What is not proven, although nothing is wrong. */
function describeProven({ erased, unsigned }: Verification['counts']): string {
  const rest = [
    erased > 0 ? `of ${erased} it is only proven that a number was erased from them` : undefined,
    unsigned > 0 ? `the last ${unsigned} are not signed yet` : undefined,
  ].filter((part) => part !== undefined)
  if (rest.length === 0) return 'Proven: every record is as it was signed.'
  return `Proven: the records are as they were signed; ${rest.join('; ')}.`
}

const results = {
  1: 'FALSE: something is not as it was signed.',
  2: 'NOT PROVEN: what was checked is as it was signed, but not everything could be checked.',
}

function format(verification: Verification, heads: number): string {
  const { findings, hasMore, head, counts } = verification
  const { proven, erased, removed, unsigned } = counts
  const lines = findings.map(({ level, message, seqs }) => {
    const range =
      seqs === undefined
        ? ''
        : ` (${seqs[0] === seqs[1] ? `record ${seqs[0]}` : `records ${seqs[0]} to ${seqs[1]}`})`
    return `${level === 'false' ? 'FALSE' : 'not checked'}: ${message}${range}`
  })
  if (hasMore) lines.push('There are more findings than are listed.')
  const code = exitCodeOf(verification)
  if (head) lines.push(`${head.origin}: ${formatCount(head.size, 'record')} signed`)
  lines.push(
    `${proven} as they were signed, ${erased} without an erased number, ${removed} removed after their time, ` +
      `${unsigned} not signed yet; compared with ${formatCount(heads, 'head')} from elsewhere`,
    code === 0 ? describeProven(counts) : results[code],
  )
  return `${lines.join('\n')}\n`
}
