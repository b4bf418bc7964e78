/** `callgate proxy`: stands between an AI voice platform and its clients until a signal arrives. */
import { type Command, Option } from 'commander'
import {
  readAgentKeyFromEnvironment,
  readEventsSecretFromEnvironment,
  resolveShippedFile,
} from '../../config/load.js'
import { apiKeyRule, isApiKey } from '../../config/secret-file.js'
import { readCallOutcomes } from '../../data/files/call-outcomes.js'
import { loadOptOutReader } from '../../data/files/opt-out-phrases.js'
import { readOptOutSignals } from '../../data/files/opt-out-signals.js'
import { type CallKind, callKinds } from '../../domain/decision.js'
import { getErrorMessage } from '../../errors.js'
import { type Logger, openLog } from '../../observability/log.js'
import { createEventReader } from '../../platform-events/read-event.js'
import { checkSecret } from '../../platform-events/signatures.js'
import { EventClient } from '../../proxy/events/event-client.js'
import { openEventServer } from '../../proxy/events/event-server.js'
import { GateClient } from '../../proxy/gate-client.js'
import { type PlatformName, platformNames } from '../../proxy/platforms/platform.js'
import { platforms } from '../../proxy/platforms/platforms.js'
import { openProxy } from '../../proxy/proxy-server.js'
import { Upstream } from '../../proxy/upstream.js'
import type { Listener } from '../../runtime/listen.js'
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
  readonly phrases: string
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
    .option('--events-listen <host:port>', 'receive the events of the platform here')
    .option('--events-url <url>', 'the address of --events-listen as the platform knows it')
    .option('--phrases <file>', 'what to take for an opt-out', 'config/opt-out-phrases.yaml')
    .addHelpText(
      'after',
      '\nThe API key comes from the variable CALLGATE_KEY. It needs the right decide; with --events-listen\n' +
        'also the right records, and the secret of the events in CALLGATE_EVENTS_SECRET.\n' +
        '\nExample:\n' +
        '  callgate proxy --platform retell --gate http://127.0.0.1:8480\n',
    )
    .action(async (_options, command: Command) => {
      const options = command.opts<ProxyCommandOptions>()
      const parsed = parseOptions(options)
      const events = parseEventOptions(options)
      const ended = waitForSignal()
      const { log, output } = openLog('info')
      const opened: Listener[] = []
      try {
        const proxy = await openProxy({ ...parsed, log, timers: systemTimers }).catch((cause) => {
          throw new CommandFailure(`--listen '${options.listen}': ${getErrorMessage(cause)}`, 2)
        })
        opened.push(proxy)
        output.write(`callgate: proxy for ${options.platform} listens on ${proxy.url}\n`)
        if (events) {
          const receiver = await openEvents(options, events, log)
          opened.push(receiver)
          const address = `${receiver.url}/v1/platforms/${options.platform}/events`
          output.write(`callgate: events of ${options.platform} come in on ${address}\n`)
        }
        await ended
      } finally {
        await Promise.all(opened.map((one) => one.close()))
      }
    })
}

type EventOptions = NonNullable<ReturnType<typeof parseEventOptions>>

/** `undefined` if no events are to be received. */
function parseEventOptions(options: ProxyCommandOptions) {
  const { platform, eventsListen, eventsUrl } = options
  if (eventsListen === undefined) return undefined
  const secret = readEventsSecretFromEnvironment()
  if (secret === undefined) {
    throw new CommandFailure('--events-listen: set CALLGATE_EVENTS_SECRET', 2)
  }
  if (platform === 'twilio' && eventsUrl === undefined) {
    throw new CommandFailure('--events-url is missing: Twilio signs the address of its events', 2)
  }
  const rule = checkSecret(platform, secret)
  if (rule !== undefined) throw new CommandFailure(`CALLGATE_EVENTS_SECRET: must be ${rule}`, 2)
  return {
    ...parseListen('--events-listen', eventsListen),
    signature: { secrets: [secret] },
    readEvent: createEventReader({
      outcomes: readCallOutcomes(resolveShippedFile('config/call-outcomes.yaml')),
      signals: readOptOutSignals(resolveShippedFile('config/opt-out-signals.yaml')),
    }),
    publicOrigin: eventsUrl === undefined ? '' : parseOrigin('--events-url', eventsUrl),
    readWords: loadOptOutReader(resolveShippedFile(options.phrases)),
  }
}

async function openEvents(
  { platform, gate, project, kind, eventsListen }: ProxyCommandOptions,
  events: EventOptions,
  log: Logger,
): Promise<Listener> {
  const client = new EventClient({
    url: parseOrigin('--gate', gate),
    key: readKey(),
    callKind: kind,
    projectId: project,
    timeoutMs: eventTimeoutMs,
  })
  try {
    return await openEventServer({ ...events, platform, client, clock: systemClock, log })
  } catch (cause) {
    throw new CommandFailure(`--events-listen '${eventsListen}': ${getErrorMessage(cause)}`, 2)
  }
}

/** Platforms wait about ten seconds. */
const eventTimeoutMs = 5_000

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
