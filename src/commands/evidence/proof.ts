/** `callgate evidence prove` and `check`: what shows an outsider that a record is in the signed journal, and whether it does. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { formatInstant } from '../../domain/time/dates.js'
import { getErrorMessage } from '../../errors.js'
import { describeBundle, isZip, openBundle } from '../../evidence/bundle/verify/check-bundle.js'
import { type Trusted, verifyBundle } from '../../evidence/bundle/verify/verify-bundle.js'
import { fileSource } from '../../evidence/byte-source.js'
import { type KeptHeads, listHeads } from '../../evidence/kept-heads.js'
import { proveRecord } from '../../evidence/prove-record.js'
import type { EvidenceResult } from '../../evidence/result.js'
import { DecisionIndex } from '../../gate/journal/decision-index.js'
import { type Checkpoint, openCheckpoint } from '../../transparency/checkpoint.js'
import { isPersonErased } from '../../transparency/log-entry.js'
import { openReceipt } from '../../transparency/receipt.js'
import { verifyRecordProof } from '../../transparency/record-proof.js'
import { NoteError, type VerifierKey } from '../../transparency/signed-note.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from '../command.js'
import { joinLines } from '../format.js'
import { parseWholeNumber } from '../import/import-options.js'
import { endByResult, exitCodesHelp } from './end-by-result.js'
import { addTo, openHeads, parseKey, readTextFile } from './verify.js'

export const registerProof: RegisterCommand = (group, terminal) => {
  const make = group
    .command('prove')
    .description(
      'print the proof that a record is in the signed journal; the proof contains the record',
    )
    .addOption(new Option('--id <decision>', 'the record of a decision'))
    .addOption(
      new Option('--record <n>', 'a record by its number, such as that in a receipt').conflicts(
        'id',
      ),
    )
  make.action(
    async (options: { readonly id?: string; readonly record?: string }, invoked: Command) => {
      const { dataDir } = loadCommandSettings(invoked)
      const folder = join(dataDir, 'journal')
      const seq = parseWholeNumber('--record', options.record) ?? findRecord(dataDir, options.id)
      terminal.out(proveRecord(folder, seq))
    },
  )

  const check = group
    .command('check')
    .description(
      'whether a bundle or a proof shows that its records are in the journal, or whether a receipt is signed',
    )
    .argument(
      '<file>',
      'a bundle of `callgate evidence pack`, a proof of `callgate evidence prove`, or a receipt',
    )
    .option(
      '--key <key>',
      'the verifier key of the journal, as you noted it or from somebody you trust',
    )
    .option(
      '--head <file>',
      'signed heads of the journal that you or others have kept; all in the file are compared. May be given again',
      addTo,
      [],
    )
    .option(
      '--witness <key>',
      'the verifier key of a witness that has cosigned the head. May be given again',
      addTo,
      [],
    )
    .option('--receipt <file>', 'the receipt that the proof should be about')
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      '\nAnyone with the private key can sign another history, so without a head from elsewhere the result is NOT PROVEN. A receipt ' +
        'is always NOT PROVEN: it does not show that the journal has its record.\n' +
        exitCodesHelp({
          proven: 'the records are in the journal',
          false: 'something is not as it was signed',
          notProven: 'nothing is false, but something could not be proven, which is named',
        }),
    )
  endByResult(check, terminal, async (path: string, options: CheckOptions) => {
    const checked = checkFile(path, options)
    const { result, lines } = checked
    const report = { result, ...checked.facts }
    terminal.out(options.json ? `${JSON.stringify(report, null, 2)}\n` : joinLines(lines))
    return result
  })
}

interface CheckOptions {
  readonly key?: string
  readonly head: readonly string[]
  readonly witness: readonly string[]
  readonly receipt?: string
  readonly json?: true
}

interface Checked {
  readonly result: EvidenceResult
  /** The last one begins with the result. */
  readonly lines: readonly string[]
  /** For JSON. */
  readonly facts: object
}

function checkFile(path: string, options: CheckOptions): Checked {
  const trusted = {
    key: options.key === undefined ? undefined : parseKey('--key', options.key),
    heads: options.head.map(openHeads),
    witnesses: options.witness.map((witness) => parseKey('--witness', witness)),
  }
  if (isBundle(path)) return checkBundle(path, trusted)
  const { key } = trusted
  if (key === undefined)
    throw new CommandFailure('--key: must be given for a proof or a receipt', 2)
  const text = readNote(path)
  try {
    const receipt = options.receipt === undefined ? undefined : readNote(options.receipt)
    if (text.startsWith('c2sp.org/')) return checkProof(text, { ...trusted, key }, receipt)
    const { seq, body } = openReceipt(text, key)
    const rule =
      'its signature is right, but a receipt does not show that the journal has the record'
    const line = `NOT PROVEN: a receipt of record ${seq}: ${rule}: ${body}`
    return { result: 'NOT PROVEN', lines: [line], facts: { receipt: { seq, body } } }
  } catch (cause) {
    if (!(cause instanceof NoteError)) throw cause
    const { message } = cause
    return { result: 'FALSE', lines: [`FALSE: ${message}`], facts: { problem: message } }
  }
}

function isBundle(path: string): boolean {
  try {
    return statSync(path).isDirectory() || isZip(fileSource(path))
  } catch (cause) {
    throw new CommandFailure(`${path}: ${getErrorMessage(cause)}`)
  }
}

function checkBundle(path: string, trusted: Trusted): Checked {
  try {
    const found = verifyBundle(openBundle(path), trusted)
    const { result, ...facts } = found
    return { result, lines: describeBundle(found), facts }
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    const { message } = cause
    return { result: 'FALSE', lines: [`FALSE: ${message}`], facts: { problem: message } }
  }
}

/** As it was signed: what is copied from a page, or saved on Windows, has other line ends, or none at its end. */
function readNote(path: string): string {
  const text = readTextFile(path).replaceAll('\r\n', '\n')
  return text.endsWith('\n') ? text : `${text}\n`
}

function findRecord(dataDir: string, id: string | undefined): number {
  if (id === undefined) throw new CommandFailure('say which record: --id or --record', 2)
  const index = new DecisionIndex(join(dataDir, 'index.sqlite'), join(dataDir, 'journal'))
  try {
    const seq = index.findSeq(id)
    if (seq !== undefined) return seq
    throw new CommandFailure(`decision '${id}' is not in this journal`)
  } finally {
    index.close()
  }
}

/** Throws {@link NoteError} if it shows nothing. */
function checkProof(
  text: string,
  { key, heads = [], witnesses = [] }: Trusted & { readonly key: VerifierKey },
  receipt: string | undefined,
): Checked {
  const { entry, body, checkpoint } = verifyRecordProof(text, key, witnesses)
  const stated = receipt === undefined ? undefined : openReceipt(receipt, key)
  if (stated && (stated.seq !== entry.seq || stated.body !== body.toString())) {
    throw new NoteError(`the receipt is about another record than number ${entry.seq}`)
  }
  const outside = [
    ...witnesses.filter((one) => checkpoint.signatures.some((signed) => signed.key === one)),
    ...heads.filter((kept) => hasHead(kept, checkpoint, key)),
  ].map(({ name }) => name)
  const erased = isPersonErased(body) ? ' (what was about the person is erased)' : ''
  const about = `record ${entry.seq}, written ${formatInstant(entry.at)}${erased}`
  const where = `is one of the ${checkpoint.size} records signed in ${key.name}`
  const facts = { record: entry.seq, size: checkpoint.size, outside, body: body.toString() }
  if (outside.length > 0) {
    const line = `PROVEN: ${about}, ${where}, with the head from ${outside.join(', ')}: ${body}`
    return { result: 'PROVEN', lines: [line], facts }
  }
  const rule = 'but the head of the proof was not kept elsewhere (--head, --witness)'
  const line = `NOT PROVEN: ${about}, ${where}, ${rule}: ${body}`
  return { result: 'NOT PROVEN', lines: [line], facts }
}

/** Throws {@link NoteError} if it has another one of the same size. */
function hasHead(
  { name, source }: KeptHeads,
  { size, root }: Checkpoint,
  key: VerifierKey,
): boolean {
  let found = false
  for (const { origin, signed } of listHeads(source)) {
    if (origin !== key.name) continue
    const kept = openCheckpoint(signed, key)
    if (kept.size !== size) continue
    found = true
    if (kept.root.equals(root)) continue
    throw new NoteError(
      `${name} has another head of ${size} records: two views of the log were signed`,
    )
  }
  return found
}
