/** `callgate reload`: tells the running server to take changed settings and rules over, and shows what changed. */
import { connect } from 'node:net'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { ValueChange } from '../app/configuration.js'
import type { ReloadResult } from '../app/reloader.js'
import { checkSettings, SettingsError } from '../config/load.js'
import { getErrorCode, getErrorMessage } from '../errors.js'
import { CommandFailure, type RegisterCommand } from './command.js'
import { reloadRequest, resolveReloadSocket } from './serve/reload-socket.js'

export const registerReload: RegisterCommand = (program, terminal) => {
  program
    .command('reload')
    .description(
      'let the running server of this data folder read its settings, calling rules and sandbox file again; ' +
        'exits with 2 if they are wrong and the previous ones stay in use',
    )
    .option('--json', 'print the result as JSON')
    .action(async ({ json = false }: { readonly json?: boolean }, command: Command) => {
      const { config } = command.optsWithGlobals<{ config?: string }>()
      // Only the data folder is needed here: the server reads the settings itself, and reports what is wrong.
      const { settings, problems, isDataDirKnown } = checkSettings({ file: config })
      if (!isDataDirKnown) throw new SettingsError(problems)
      const result = await requestReload(resolve(settings.dataDir), problems)
      terminal.out(json ? `${JSON.stringify(result, undefined, 2)}\n` : formatResult(result))
      if (result.problems.length === 0) return
      const list = json ? '' : result.problems.map((problem) => `\n  - ${problem}`).join('')
      throw new CommandFailure(`not reloaded; the previous settings stay in use:${list}`, 2)
    })
}

/** A server answers within a second or two; several reloads may wait for each other. */
const timeoutMs = 60_000

/** With `problems` in the settings, the data folder may be another one. */
async function requestReload(dataDir: string, problems: readonly string[]): Promise<ReloadResult> {
  const path = resolveReloadSocket(dataDir)
  const answer = await readAnswer(path).catch((cause: unknown) => {
    if (problems.length > 0) throw new SettingsError(problems)
    throw new CommandFailure(describeFailure(cause, dataDir))
  })
  try {
    return JSON.parse(answer) as ReloadResult
  } catch {
    throw new CommandFailure('the server ended before it had reloaded; see its log')
  }
}

function readAnswer(path: string): Promise<string> {
  return new Promise((settle, reject) => {
    const socket = connect(path, () => socket.write(reloadRequest))
    let answer = ''
    socket.setTimeout(timeoutMs, () => {
      socket.destroy(new Error(`no answer within ${timeoutMs / 1_000} s`))
    })
    socket.on('data', (bytes: Buffer) => {
      answer += bytes.toString()
    })
    socket.once('error', reject)
    socket.once('end', () => settle(answer))
    socket.once('close', () => settle(answer))
  })
}

function describeFailure(cause: unknown, dataDir: string): string {
  const code = getErrorCode(cause)
  if (code === 'ENOENT' || code === 'ECONNREFUSED') {
    return (
      `no server is running on the data folder ${dataDir}; set CALLGATE_DATA_DIR or --config as for the server, ` +
      'or start it with: callgate serve'
    )
  }
  if (code === 'EACCES') {
    return `the server on the data folder ${dataDir} runs as another user; run this command as that user`
  }
  return `the server on the data folder ${dataDir} cannot be reached: ${getErrorMessage(cause)}`
}

function formatResult({ problems, applied, needRestart, versions }: ReloadResult): string {
  if (problems.length > 0) return ''
  const lines = [
    ...(applied.length === 0 ? ['nothing has changed that can be reloaded'] : ['reloaded:']),
    ...applied.map(formatChange),
    ...(needRestart.length === 0 ? [] : ['needs a restart, not in use yet:']),
    ...needRestart.map(formatChange),
    `in use: settings ${versions.settings}, calling rules ${versions.rules}`,
  ]
  return `${lines.join('\n')}\n`
}

const formatChange = ({ field, from, to }: ValueChange): string => `  ${field}: ${from} -> ${to}`
