/**
 * The ways a call can take to the trunk: without a gate, through a trivial application, through callgate
 * over ARI and CURL(). Each has a separate Asterisk, so that none slows down another.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startAlwaysAllow } from '../test/e2e/asterisk/lab/always-allow.js'
import { type AsteriskServer, startAsterisk } from '../test/e2e/asterisk/lab/asterisk-server.js'
import { type CallgateProcess, startCallgate } from '../test/e2e/asterisk/lab/callgate-process.js'
import { unlimitedAreaCodes } from './unlimited-area-codes.js'

export interface Lane {
  readonly name: string
  readonly server: AsteriskServer
  /** The dialplan context in which calls enter. */
  readonly context: string
  /** `CALLGATE_ID_HEADER` of the recipe; `X-Callgate-Id` when absent. */
  readonly idHeader?: string
  /** Processor time of the program beside Asterisk, in seconds; 0 without one. */
  appSeconds(): number
}

export interface Lanes {
  readonly plain: Lane
  /** A trivial application in the shortest dialplan that a gate can have. */
  readonly shortest: Lane
  /** The same application in the shipped recipe. */
  readonly trivial: Lane
  readonly stasis: Lane
  /** Both without a header on the trunk leg. */
  readonly trivialPlain: Lane
  readonly stasisPlain: Lane
  readonly curl: Lane
  /** Numbers that callgate allows, one per area code. */
  readonly numbers: readonly string[]
  close(): Promise<void>
}

const version = 22
const program = join(import.meta.dirname, '../src/main.js')

const plainDialplan = `
[plain]
exten => _X.,1,Dial(PJSIP/\${EXTEN}@trunk,60)
 same => n,Hangup()
`

/** Fails closed and does nothing else: no facts, no emergency codes, no header, no number formats. */
const shortestGate = `
[shortest]
exten => _X.,1,Set(CALLGATE_DECISION=)
 same => n,Set(CALLGATE_NUMBER=)
 same => n,Set(LIMIT=\${TIMEOUT(absolute)})
 same => n,Set(TIMEOUT(absolute)=3)
 same => n,Stasis(callgate,\${EXTEN})
 same => n,Set(TIMEOUT(absolute)=\${LIMIT})
 same => n,Set(DECIDED=\${FILTER(a-z,\${CALLGATE_DECISION:0:16})}:\${FILTER(0-9,\${CALLGATE_NUMBER:0:20})})
 same => n,GotoIf($["\${DECIDED}" != "allow:\${EXTEN}"]?deny)
 same => n,Dial(PJSIP/\${EXTEN}@trunk,60)
 same => n,Hangup()
 same => n(deny),Hangup(21)
exten => T,1,Hangup(42)
`

export async function openLanes(): Promise<Lanes> {
  const ends: (() => Promise<unknown>)[] = []
  const atEnd = <Opened extends { close(): Promise<unknown> }>(opened: Opened): Opened => {
    ends.push(() => opened.close())
    return opened
  }
  const close = async () => {
    for (const end of ends.splice(0).reverse()) await end()
  }
  try {
    return { ...(await open(atEnd)), close }
  } catch (cause) {
    await close()
    throw cause
  }
}

type AtEnd = <Opened extends { close(): Promise<unknown> }>(opened: Opened) => Opened

async function open(atEnd: AtEnd): Promise<Omit<Lanes, 'close'>> {
  const asterisk = async (more: Omit<Parameters<typeof startAsterisk>[0], 'version'> = {}) =>
    atEnd(await startAsterisk({ version, ...more }))
  const bare = await asterisk({ extensions: plainDialplan, callerContexts: ['plain'] })
  const withTrivial = await asterisk({ extensions: shortestGate, callerContexts: ['shortest'] })
  const trivial = await startAlwaysAllow({ server: withTrivial })
  atEnd({ close: () => trivial.end() })
  const withStasis = await asterisk()
  const gate = atEnd(await startCallgate({ server: withStasis, program }))
  const predial = atEnd(await startCallgate({ program }))
  const withCurl = await asterisk({ globals: askingBy(predial, atEnd) })
  const inRecipe: Lane = {
    name: 'always-allow, gate.conf',
    server: withTrivial,
    context: 'gate',
    appSeconds: trivial.cpuSeconds,
  }
  const gated: Lane = {
    name: 'callgate, gate.conf',
    server: withStasis,
    context: 'gate',
    appSeconds: gate.cpuSeconds,
  }
  return {
    plain: { name: 'plain dialplan', server: bare, context: 'plain', appSeconds: () => 0 },
    shortest: {
      name: 'always-allow, shortest gate',
      server: withTrivial,
      context: 'shortest',
      appSeconds: trivial.cpuSeconds,
    },
    trivial: inRecipe,
    stasis: gated,
    trivialPlain: withoutHeader(inRecipe),
    stasisPlain: withoutHeader(gated),
    curl: {
      name: 'callgate, gate-curl.conf',
      server: withCurl,
      context: 'gate-curl',
      appSeconds: predial.cpuSeconds,
    },
    numbers: await allowedNumbers(predial),
  }
}

const withoutHeader = (lane: Lane): Lane => ({
  ...lane,
  name: `${lane.name}, no header`,
  idHeader: '',
})

function askingBy({ url, keys }: CallgateProcess, atEnd: AtEnd): Readonly<Record<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), 'callgate-bench-'))
  atEnd({ close: async () => rmSync(folder, { recursive: true, force: true }) })
  const file = join(folder, 'key')
  writeFileSync(file, `${keys.sandbox}\n`)
  return { CALLGATE_URL: `${url}/v1/predial`, CALLGATE_KEY_FILE: file }
}

/** The line with a permission record; in some states it is a holiday or too early to call. */
async function allowedNumbers({ url, keys }: CallgateProcess): Promise<readonly string[]> {
  const headers = { loginId: keys.sandbox }
  const allowed: string[] = []
  for (const areaCode of unlimitedAreaCodes) {
    const number = `${areaCode}5550106`
    const reply = await fetch(`${url}/v1/predial?number=${number}&kind=ai`, { headers })
    if ((await reply.text()).startsWith('allow:')) allowed.push(number)
  }
  if (allowed.length === 0) throw new Error('callgate allows none of the numbers')
  return allowed
}
