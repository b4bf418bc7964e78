/** `callgate proxy`: stands between an AI voice platform and its clients until a signal arrives. */
import { type Command, Option } from 'commander'
import {
  readAgentKeyFromEnvironment,
  readPlatformSecretsFromEnvironment,
} from '../../config/load.js'
import { apiKeyRule, isApiKey } from '../../config/secret-file.js'
import { type CallKind, callKinds } from '../../domain/decision.js'
import { getErrorMessage } from '../../errors.js'
import { openLog } from '../../observability/log.js'
import { type PlatformName, platformNames } from '../../platform-events/call-event.js'
import { checkSecret } from '../../platform-events/signatures.js'
import { DeliveryQueue } from '../../proxy/delivery-queue.js'
import { eventsPath, openEventServer } from '../../proxy/events/event-server.js'
import { startFetching } from '../../proxy/fetch-words.js'
import { GateClient } from '../../proxy/gate-client.js'
import type { Platform } from '../../proxy/platforms/platform.js'
import { platforms } from '../../proxy/platforms/platforms.js'
import { openProxy } from '../../proxy/proxy-server.js'
import { Upstream } from '../../proxy/upstream.js'
import { parseUrl } from '../../runtime/parse-url.js'
import { systemClock, systemTimers } from '../../runtime/runtime.js'
import { waitForSignal } from '../../runtime/signals.js'
import { CommandFailure, type RegisterCommand } from '../command.js'
import { parseListen } from '../option-values.js'

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
  readonly eventsListen?: string
  readonly eventsUrl?: string
}

export const registerProxy: RegisterCommand = (program) => {
  program
    .command('proxy')
    .description('proxy an AI voice platform and forward only calls that the gate allows')
    .addOption(
      new Option('--platform <name>', 'the platform').choices(platformNames).makeOptionMandatory(),
    )
    .requiredOption('--gate <url>', 'the running callgate that decides')
    .option(
      '--upstream <url>',
      'address of the platform (default: its public address, if it has one for all customers)',
    )
    .option('--listen <host:port>', 'where clients of the platform connect', '127.0.0.1:8485')
    .addOption(new Option('--kind <kind>', 'kind of the calls').choices(callKinds).default('ai'))
    .option('--project <id>', 'project of the calls')
    .option('--campaign <id>', 'campaign of the calls')
    .option('--allow-scheduled', 'forward calls for later, judged for their time', false)
    .option('--deadline <ms>', 'how long the gate may take to decide about a request', '2000')
    .option('--events-listen <host:port>', 'receive the events of the platform here')
    .option('--events-url <url>', 'the address of --events-listen as the platform knows it')
    .addHelpText(
      'after',
      '\nEnvironment variables:\n' +
        '  CALLGATE_KEY                     the API key, with the rights decide and records\n' +
        '  CALLGATE_EVENTS_SECRET           with --events-listen: the secret that the platform signs events with\n' +
        '  CALLGATE_EVENTS_SECRET_PREVIOUS  a previous secret that is still valid\n' +
        '  CALLGATE_PLATFORM_READ_KEY       a key of the platform, to fetch words that no event contained\n' +
        '\nExample:\n' +
        '  callgate proxy --platform retell --gate http://127.0.0.1:8480\n',
    )
    .action(async (_options, command: Command) => {
      const options = command.opts<ProxyCommandOptions>()
      const parsed = parseOptions(options)
      const { platform, gate, origin } = parsed
      const events = parseEventOptions(options)
      const readKey = parseReadKey(platform)
      const ended = waitForSignal()
      const { log, output } = openLog('info')
      const publicOrigin = parsePublicOrigin(options)
      const eventsUrl = publicOrigin && publicOrigin + eventsPath(platform)
      const upstream = new Upstream({ origin })
      const shared = { ...parsed, upstream, log, timers: systemTimers, clock: systemClock }
      const deliveries = new DeliveryQueue(shared)
      const opened: { close(): Promise<void> }[] = []
      try {
        const proxy = await openProxy({ ...shared, deliveries, eventsUrl }).catch((cause) => {
          throw new CommandFailure(`--listen '${options.listen}': ${getErrorMessage(cause)}`, 2)
        })
        opened.push(proxy)
        output.write(`callgate: proxy for ${platform.name} listens on ${proxy.url}\n`)
        if (events) {
          const receiver = await openEventServer({ ...shared, ...events, deliveries }).catch(
            (cause) => {
              const option = `--events-listen '${options.eventsListen}'`
              throw new CommandFailure(`${option}: ${getErrorMessage(cause)}`, 2)
            },
          )
          opened.push(receiver)
          const address = receiver.url + eventsPath(platform)
          output.write(`callgate: events of ${platform.name} come in on ${address}\n`)
        }
        const canFetch = readKey !== undefined
        if (canFetch) {
          const reader = new Upstream({ origin, headersTimeoutMs: fetchTimeoutMs })
          opened.push(startFetching({ ...shared, ...readKey, upstream: reader }))
        }
        deliveries.add({
          what: 'report of the proxy',
          details: { canFetch },
          bytes: 0,
          send: () => gate.report({ canFetch }),
        })
        await ended
      } finally {
        await Promise.all(opened.map((one) => one.close()))
        await deliveries.close()
      }
    })
}

const fetchTimeoutMs = 15_000

/** `undefined` if no events are to be received. */
function parseEventOptions(options: ProxyCommandOptions) {
  const { platform, eventsListen, eventsUrl } = options
  if (eventsListen === undefined) return undefined
  const { eventSecrets } = readPlatformSecretsFromEnvironment()
  if (eventSecrets.length === 0) {
    throw new CommandFailure('--events-listen: set CALLGATE_EVENTS_SECRET', 2)
  }
  if ((platform === 'twilio' || platform === 'signalwire') && eventsUrl === undefined) {
    throw new CommandFailure(
      `--events-url is missing: required with --platform ${platform}, which signs the address of its events`,
      2,
    )
  }
  for (const { name, secret } of eventSecrets) {
    const rule = checkSecret(platform, secret)
    if (rule !== undefined) throw new CommandFailure(`${name}: must be ${rule}`, 2)
  }
  return {
    ...parseListen('--events-listen', eventsListen),
    secrets: eventSecrets.map(({ secret }) => secret),
    publicOrigin: parsePublicOrigin(options) ?? '',
  }
}

function parsePublicOrigin({ eventsUrl }: ProxyCommandOptions) {
  return eventsUrl === undefined ? undefined : parseOrigin('--events-url', eventsUrl)
}

/** The key to fetch calls with; `undefined` if there is none. */
function parseReadKey({ name, fetching }: Platform) {
  const { readKey: given, eventSecrets } = readPlatformSecretsFromEnvironment()
  // Retell signs its events with a key that reads calls, too.
  const readKey = given ?? (name === 'retell' ? eventSecrets[0]?.secret : undefined)
  if (readKey === undefined) return undefined
  const fail = (rule: string) => {
    throw new CommandFailure(`CALLGATE_PLATFORM_READ_KEY: ${rule}`, 2)
  }
  if (!fetching)
    return fail(`must not be set with --platform ${name}, which keeps no words to fetch`)
  const isPair = name === 'twilio' || name === 'signalwire'
  if (isPair && !/^[^:]+:[^:]+$/.test(readKey)) fail('must be <account or project id>:<token>')
  if (!/^[\x21-\x7e]+$/.test(readKey)) fail('must be visible ASCII characters without spaces')
  return { fetching, readKey }
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
    platform: options.platform,
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
    origin: parseOrigin('--upstream', upstream),
    allowScheduled: options.allowScheduled,
    ...parseListen('--listen', options.listen),
  }
}

function parseOrigin(option: string, text: string): string {
  const url = /^https?:\/\/[^\s/?#@]+\/?$/.test(text) ? parseUrl(text) : undefined
  if (url) return url.origin
  throw new CommandFailure(`${option} '${text}': must be http://host:port or https://host`, 2)
}

function readKey(): string {
  const key = readAgentKeyFromEnvironment()
  if (key === undefined) {
    throw new CommandFailure('an API key is required: set CALLGATE_KEY', 2)
  }
  if (isApiKey(key)) return key
  throw new CommandFailure(`CALLGATE_KEY: must be ${apiKeyRule}`, 2)
}
