/** `callgate evidence prove` and `check`: what shows an outsider that a record is in the signed journal, and whether it does. */
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import { formatInstant } from '../../domain/time/dates.js'
import { proveRecord } from '../../evidence/prove-record.js'
import { DecisionIndex } from '../../gate/journal/decision-index.js'
import { openReceipt } from '../../transparency/receipt.js'
import { verifyRecordProof } from '../../transparency/record-proof.js'
import { NoteError, type VerifierKey } from '../../transparency/signed-note.js'
import { CommandFailure, loadCommandSettings, type RegisterCommand } from '../command.js'
import { parseWholeNumber } from '../import/import-options.js'
import { asResult, exitByResult } from './misuse.js'
import { parseKey, readTextFile } from './verify.js'

export const registerProof: RegisterCommand = (group, terminal) => {
  const make = group
    .command('prove')
    .description('print the proof that a record is in the signed journal; it has the record in it')
    .addOption(new Option('--id <decision>', 'the record of a decision'))
    .addOption(
      new Option('--record <n>', 'a record by its number, as a receipt has it').conflicts('id'),
    )
  exitByResult(make).action(
    asResult(
      async (options: { readonly id?: string; readonly record?: string }, invoked: Command) => {
        const { dataDir } = loadCommandSettings(invoked)
        const folder = join(dataDir, 'journal')
        const seq = parseWholeNumber('--record', options.record) ?? findRecord(dataDir, options.id)
        terminal.out(proveRecord(folder, seq))
      },
    ),
  )

  const check = group
    .command('check')
    .description('whether a proof shows that its record is in the journal, or a receipt is signed')
    .argument('<file>', 'a proof of `callgate evidence prove`, or a receipt')
    .requiredOption('--key <key>', 'the verifier key of the journal, from somebody you trust')
    .option('--receipt <file>', 'the receipt that the proof should be about')
  exitByResult(check).action(
    asResult(async (path: string, options: { readonly key: string; readonly receipt?: string }) => {
      const key = parseKey(options.key)
      const receipt = options.receipt === undefined ? undefined : readNote(options.receipt)
      try {
        terminal.out(checkFile(readNote(path), key, receipt))
      } catch (cause) {
        if (!(cause instanceof NoteError)) throw cause
        terminal.out(`FALSE: ${cause.message}\n`)
        throw new CommandFailure('', 1)
      }
    }),
  )
}

/** As it was signed: what is copied from a page, or saved on Windows, has other line ends, or none at its end. */
function readNote(path: string): string {
  const text = readTextFile(path).replaceAll('\r\n', '\n')
  return text.endsWith('\n') ? text : `${text}\n`
}

function findRecord(dataDir: string, id: string | undefined): number {
  if (id === undefined) throw new CommandFailure('say which record: --id or --record')
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
function checkFile(text: string, key: VerifierKey, receipt: string | undefined): string {
  if (!text.startsWith('c2sp.org/')) {
    const { seq, body } = openReceipt(text, key)
    return `signed: a receipt of record ${seq}: ${body}\n`
  }
  const { entry, body, checkpoint } = verifyRecordProof(text, key)
  const stated = receipt === undefined ? undefined : openReceipt(receipt, key)
  if (stated && (stated.seq !== entry.seq || stated.body !== body.toString())) {
    throw new NoteError(`the receipt is about another record than number ${entry.seq}`)
  }
  const about = `record ${entry.seq}, written ${formatInstant(entry.at)}`
  return `proven: ${about}, is one of the ${checkpoint.size} records signed in ${key.name}: ${body}\n`
}
