/** `callgate evidence verify`: whether the records of a journal are those that were signed. */
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { Instant } from '../../domain/time/clock.js'
import { formatInstant } from '../../domain/time/dates.js'
import { getErrorMessage } from '../../errors.js'
import { fileSource } from '../../evidence/byte-source.js'
import type { KeptHeads } from '../../evidence/kept-heads.js'
import { type Verification, verifyJournal } from '../../evidence/verify/verify-journal.js'
import { originPath, readOriginName } from '../../gate/journal/journal-origin.js'
import { isPresent } from '../../runtime/folders.js'
import { systemClock } from '../../runtime/runtime.js'
import {
  formatVerifierKey,
  parseVerifierKey,
  type VerifierKey,
} from '../../transparency/signed-note.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from '../command.js'
import { formatCount, formatNumber } from '../format.js'
import { endByResult, exitCodesHelp } from './end-by-result.js'

interface VerifyOptions {
  readonly journal?: string
  readonly key: readonly string[]
  readonly head: readonly string[]
  readonly witness: readonly string[]
  readonly json?: true
}

/** Of options that may be given again. */
export const addTo = (value: string, values: readonly string[]): readonly string[] => [
  ...values,
  value,
]

export const registerVerify: RegisterCommand = (group, terminal) => {
  const command = group
    .command('verify')
    .description(
      'compare the journal with its signed heads, and with heads that were kept elsewhere: finds records that were changed, added, ' +
        'moved or left out, and an index that disagrees. Changes nothing; the server may be running',
    )
    .option('--journal <folder>', 'a journal, also a copy (default: that of the data folder)')
    .option(
      '--key <key>',
      'the verifier key of the journal, as you noted it before; given again, those of the names that it had before',
      addTo,
      [],
    )
    .option(
      '--head <file>',
      'signed heads of the journal that were kept elsewhere, as by a witness; all in the file are compared. May be given again',
      addTo,
      [],
    )
    .option(
      '--witness <key>',
      'the verifier key of a witness; the head that it has cosigned is treated as kept elsewhere. May be given again',
      addTo,
      [],
    )
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\nWithout --key, the key beside the journal is used, which only shows that the journal agrees with itself. Without a head ' +
        'from elsewhere, neither an older copy of the whole journal is found, nor a journal that somebody with the ' +
        'private key has rewritten. In both cases the result is NOT PROVEN.\n' +
        exitCodesHelp({
          proven: 'every record is as it was signed',
          false: 'something is not as it was signed',
          notProven: 'nothing is false, but something could not be proven, which is named',
        }),
    )
  endByResult(command, terminal, async (options: VerifyOptions, invoked: Command) => {
    const given = options.journal ?? join(loadCommandSettings(invoked).dataDir, 'journal')
    const folder = resolve(given)
    const index = join(dirname(folder), 'index.sqlite')
    const indexPath = isPresent(index) ? index : undefined
    const keys = options.key.map((text) => parseKey('--key', text))
    const name = readName(folder)
    const key = keys.find((one) => one.name === name) ?? keys[0]
    const formerKeys = keys.filter((one) => one !== key)
    const witnesses = options.witness.map((witness) => parseKey('--witness', witness))
    const heads = options.head.map(openHeads)
    const now = systemClock.now()
    const checked = { folder, key, formerKeys, heads, witnesses, indexPath, now }
    const verification = verifyJournal(checked)
    terminal.out(options.json ? toJson(verification) : format(verification, key))
    return verification.result
  })
}

/** A journal without a name is a finding. */
const readName = (folder: string) =>
  isPresent(originPath(folder)) ? readOriginName(folder) : undefined

export function parseKey(option: string, text: string): VerifierKey {
  try {
    return parseVerifierKey(text)
  } catch (cause) {
    throw new CommandFailure(`${option}: ${getErrorMessage(cause)}`, 2)
  }
}

export function openHeads(path: string): KeptHeads {
  try {
    return { name: path, source: fileSource(path) }
  } catch (cause) {
    throw new CommandFailure(`--head ${path}: ${getErrorMessage(cause)}`)
  }
}

export function readTextFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new CommandFailure(`${path}: ${getErrorMessage(cause)}`)
  }
}

function toJson({ result, findings, hasMore, head, outside, counts }: Verification): string {
  const [own] = head?.signatures ?? []
  const signed = head && {
    origin: head.origin,
    size: head.size,
    root: head.root.toString('base64'),
    key: own && formatVerifierKey(own.key),
  }
  const kept = outside && { ...outside, at: formatTime(outside.at) }
  const report = { result, head: signed, outside: kept, counts, findings, hasMore }
  return `${JSON.stringify(report, null, 2)}\n`
}

const formatTime = (at: Instant | undefined) => (at === undefined ? undefined : formatInstant(at))

/** What is not proven, although nothing is wrong. */
function describeRest({ counts: { erased, unsigned }, head, outside }: Verification): string {
  const after = (head?.size ?? 0) - (outside?.size ?? 0)
  const rest = [
    after > 0 ? `${formatCount(after, 'later record')} only by its key` : undefined,
    erased > 0 ? `of ${formatCount(erased, 'record')} only what an erasure has left` : undefined,
    unsigned > 0 ? `the last ${formatNumber(unsigned)} are not signed yet` : undefined,
  ].filter((part) => part !== undefined)
  return rest.length === 0 ? '' : `; ${rest.join('; ')}`
}

function describeResult(verification: Verification, key: VerifierKey | undefined): string {
  const { result, outside } = verification
  if (result === 'FALSE') return 'FALSE: something is not as it was signed.'
  if (outside === undefined || result !== 'PROVEN') {
    return `${result}: nothing is false, but something could not be proven.`
  }
  const { name, size, at } = outside
  const written = at === undefined ? '' : `, the last written ${formatTime(at)}`
  const upTo = `the head of ${formatCount(size, 'record')} from ${name}${written}`
  return `PROVEN: as signed by ${key?.name}, up to ${upTo}${describeRest(verification)}.`
}

function format(verification: Verification, key: VerifierKey | undefined): string {
  const { findings, hasMore, head, counts } = verification
  const { proven, erased, removed, unsigned, copies } = counts
  const lines = findings.map(({ level, message, seqs }) => {
    const range =
      seqs === undefined
        ? ''
        : ` (${seqs[0] === seqs[1] ? `record ${seqs[0]}` : `records ${seqs[0]} to ${seqs[1]}`})`
    return `${level === 'false' ? 'FALSE' : 'NOT PROVEN'}: ${message}${range}`
  })
  if (hasMore) lines.push('There are more findings than are listed.')
  if (head) lines.push(`${head.origin}: ${formatCount(head.size, 'record')} signed`)
  lines.push(
    `${proven} as they were signed, ${erased} without an erased number, ${removed} removed after their time, ` +
      `${unsigned} not signed yet${copies > 0 ? `, ${copies} there once more` : ''}`,
    describeResult(verification, key),
  )
  return `${lines.join('\n')}\n`
}
