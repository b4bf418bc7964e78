/** `callgate proxy`: stands between an AI voice platform and its clients until a signal arrives. */
import { type Command, Option } from 'commander'
import { readProxyKeyFromEnvironment } from '../../config/load.js'
import { apiKeyRule, isApiKey } from '../../config/secret-file.js'
import { type CallKind, callKinds } from '../../domain/decision.js'
import { getErrorMessage } from '../../errors.js'
import { openLog } from '../../observability/log.js'
import { GateClient } from '../../proxy/gate-client.js'
import { type PlatformName, platformNames } from '../../proxy/platforms/platform.js'
import { platforms } from '../../proxy/platforms/platforms.js'
import { openProxy } from '../../proxy/proxy-server.js'
import { Upstream } from '../../proxy/upstream.js'
import { parseUrl } from '../../runtime/parse-url.js'
import { systemTimers } from '../../runtime/runtime.js'
import { waitForSignal } from '../../runtime/signals.js'
import { CommandFailure, type RegisterCommand } from '../command.js'

interface ProxyCommandOptions {
  readonly platform: PlatformName
  readonly gate: string
  readonly upstream?: string
  readonly listen: string
  readonly kind: CallKind
  readonly project?: string
  readonly campaign?: string
  readonly allowScheduled: boolean
  readonly deadline: string
}

export const registerProxy: RegisterCommand = (program) => {
  program
    .command('proxy')
    .description('stand before an AI voice platform and forward only calls that the gate allows')
    .addOption(
      new Option('--platform <name>', 'the platform').choices(platformNames).makeOptionMandatory(),
    )
    .requiredOption('--gate <url>', 'the running callgate that decides')
    .option('--upstream <url>', 'the platform (default: its public address; LiveKit has none)')
    .option('--listen <host:port>', 'where clients of the platform connect', '127.0.0.1:8485')
    .addOption(new Option('--kind <kind>', 'kind of the calls').choices(callKinds).default('ai'))
    .option('--project <id>', 'project of the calls')
    .option('--campaign <id>', 'campaign of the calls')
    .option('--allow-scheduled', 'forward calls for later, judged for their time', false)
    .option('--deadline <ms>', 'how long the gate may take to decide about a request', '2000')
    .addHelpText(
      'after',
      '\nThe API key comes from the variable CALLGATE_KEY. It needs the right decide and no other.\n' +
        '\nExample:\n' +
        '  callgate proxy --platform retell --gate http://127.0.0.1:8480\n',
    )
    .action(async (_options, command: Command) => {
      const options = command.opts<ProxyCommandOptions>()
      const parsed = parseOptions(options)
      const ended = waitForSignal()
      const { log, output } = openLog('info')
      const proxy = await openProxy({ ...parsed, log, timers: systemTimers }).catch((cause) => {
        throw new CommandFailure(`--listen '${options.listen}': ${getErrorMessage(cause)}`, 2)
      })
      output.write(`callgate: proxy for ${options.platform} listens on ${proxy.url}\n`)
      await ended
      await proxy.close()
    })
}

function parseOptions(options: ProxyCommandOptions) {
  const platform = platforms[options.platform]
  const upstream = options.upstream ?? platform.upstream
  if (upstream === undefined) {
    throw new CommandFailure(
      `--upstream is missing: the address of your ${platform.name} project`,
      2,
    )
  }
  const deadlineMs = Number(options.deadline)
  if (!/^\d{1,5}$/.test(options.deadline) || deadlineMs === 0) {
    throw new CommandFailure(`--deadline '${options.deadline}': must be 1 to 99999 (ms)`, 2)
  }
  const gate = new GateClient({
    url: parseOrigin('--gate', options.gate),
    key: readKey(),
    callKind: options.kind,
    projectId: options.project,
    campaignId: options.campaign,
    deadlineMs,
    timers: systemTimers,
  })
  return {
    platform,
    gate,
    upstream: new Upstream({ origin: parseOrigin('--upstream', upstream) }),
    allowScheduled: options.allowScheduled,
    ...parseListen(options.listen),
  }
}

function parseOrigin(option: string, text: string): string {
  const url = /^https?:\/\/[^\s/?#@]+\/?$/.test(text) ? parseUrl(text) : undefined
  if (url) return url.origin
  throw new CommandFailure(`${option} '${text}': must be http://host:port or https://host`, 2)
}

function parseListen(text: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, port = ''] =
    /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(text) ?? []
  const host = bracketed ?? plain
  if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) }
  throw new CommandFailure(`--listen '${text}': must be an address and a port: 127.0.0.1:8485`, 2)
}

function readKey(): string {
  const key = readProxyKeyFromEnvironment()
  if (key === undefined) {
    throw new CommandFailure('an API key is required: set CALLGATE_KEY', 2)
  }
  if (isApiKey(key)) return key
  throw new CommandFailure(`CALLGATE_KEY: must be ${apiKeyRule}`, 2)
}
