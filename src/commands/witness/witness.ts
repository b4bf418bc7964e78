/** `callgate witness`: keeps the newest heads of the journals of others until a signal arrives. */
import { realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DataFileError, getErrorMessage } from '../../errors.js'
import { HeadStore } from '../../evidence/witness/head-store.js'
import { parseLogKey, TrustedLogs } from '../../evidence/witness/trusted-logs.js'
import { Witness } from '../../evidence/witness/witness.js'
import { openWitnessKey } from '../../evidence/witness/witness-key.js'
import { openWitnessServer } from '../../evidence/witness/witness-server.js'
import { openLog } from '../../observability/log.js'
import { ensureFolder, isPresent } from '../../runtime/folders.js'
import { systemClock } from '../../runtime/runtime.js'
import { waitForSignal } from '../../runtime/signals.js'
import { lockServing } from '../../storage/sqlite.js'
import { formatVerifierKey, type VerifierKey } from '../../transparency/signed-note.js'
import { CommandFailure, type RegisterCommand } from '../command.js'
import { parseListen } from '../option-values.js'

interface WitnessCommandOptions {
  readonly name: string
  readonly folder: string
  readonly key?: string
  readonly log: readonly string[]
  readonly logs?: string
  readonly listen: string
}

export const registerWitness: RegisterCommand = (program) => {
  program
    .command('witness')
    .description('keep the newest signed heads of journals of other servers (C2SP tlog-witness)')
    .requiredOption('--name <name>', 'name of this witness, such as witness.example.com/w1')
    .requiredOption('--folder <path>', 'where the heads are kept; made when missing')
    .option(
      '--key <file>',
      'private key of Ed25519 in PEM; made when missing (default: <folder>/key.pem)',
    )
    .option('--log <verifier key>', 'a journal to keep the heads of; repeatable', collect, [])
    .option('--logs <file>', 'a file with a verifier key on each line; read again when it changes')
    .option('--listen <host:port>', 'where the servers connect', '127.0.0.1:8486')
    .addHelpText(
      'after',
      '\nRun it on another machine than the server, for people who cannot write to the journal.\n' +
        'The verifier key of a journal is in the file journal/tree/key of its data folder.\n' +
        '\nExample:\n' +
        '  callgate witness --name witness.example.com/w1 --folder /var/lib/callgate-witness --logs logs.txt\n',
    )
    .action(async (options: WitnessCommandOptions) => {
      const address = parseListen('--listen', options.listen)
      const keys = options.log.map(parseLogOption)
      if (keys.length === 0 && options.logs === undefined) {
        throw new CommandFailure('--log or --logs is missing: name the journals to keep', 2)
      }
      const folder = openFolder(resolve(options.folder))
      const lock = lockFolder(folder)
      try {
        await serveWitness({ ...options, ...address, keys, folder })
      } finally {
        lock.close()
      }
    })
}

const collect = (value: string, known: readonly string[]) => [...known, value]

function parseLogOption(text: string): VerifierKey {
  try {
    return parseLogKey(text)
  } catch (cause) {
    throw new CommandFailure(`--log: ${getErrorMessage(cause)}`, 2)
  }
}

/** On the disk of the journal, the heads would be lost or rolled back with it. */
function openFolder(folder: string): string {
  ensureFolder(folder)
  const real = realpathSync(folder)
  for (let at = real; ; at = dirname(at)) {
    if (isPresent(join(at, 'journal', 'origin')) || isPresent(join(at, 'origin'))) {
      const rule = `is in ${at}, which has a journal; a witness must not share its fate`
      throw new CommandFailure(`--folder '${folder}': ${rule}. Name a folder elsewhere`, 2)
    }
    if (at === dirname(at)) return real
  }
}

function lockFolder(folder: string): { close(): void } {
  try {
    return lockServing(folder)
  } catch (cause) {
    if (!(cause instanceof DataFileError)) throw cause
    throw new CommandFailure(`--folder '${folder}': another witness uses it; stop that one`)
  }
}

interface ServeOptions extends WitnessCommandOptions {
  readonly host: string
  readonly port: number
  readonly keys: readonly VerifierKey[]
}

async function serveWitness(options: ServeOptions): Promise<void> {
  const { folder, keys, logs: file } = options
  const ended = waitForSignal()
  const { log, output } = openLog('info')
  const key = openKey(options)
  const onError = (err: unknown) =>
    log.error('the file of --logs cannot be read; its keys from before are used', { err })
  const logs = new TrustedLogs({ keys, file, onError })
  const witness = new Witness({ key, store: new HeadStore(folder), logs, clock: systemClock })
  const server = await openWitnessServer({ ...options, witness, log }).catch((cause: unknown) => {
    throw new CommandFailure(`--listen '${options.listen}': ${getErrorMessage(cause)}`, 2)
  })
  try {
    output.write(`callgate: witness listens on ${server.url}\n`)
    output.write(`its verifier key: ${formatVerifierKey(key)}\n`)
    await ended
  } finally {
    await server.close()
  }
}

function openKey({ name, folder, key = join(folder, 'key.pem') }: ServeOptions) {
  try {
    return openWitnessKey(resolve(key), name)
  } catch (cause) {
    if (cause instanceof DataFileError) throw cause
    throw new CommandFailure(`--name '${name}': ${getErrorMessage(cause)}`, 2)
  }
}
