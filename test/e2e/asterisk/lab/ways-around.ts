/** The ways to dial on a trunk past the gate, as whoever has the access would take them. */
import type { AriReply, AsteriskServer } from './asterisk-server.js'
import { type RunningCalls, startCalls } from './sipp-caller.js'
import { startTrunk } from './sipp-trunk.js'
import type { TrunkBehaviour } from './trunk-scenario.js'
import { until } from './until.js'

export interface WayAround {
  readonly name: string
  /** What is dialled on the trunk named `trunk`. */
  readonly number: string
  /** The word that the bypass watch must have for it. */
  readonly why: 'no-caller' | 'no-permit' | 'permit-not-valid'
  /** Dials, or has it dialled. */
  take(lab: WaysLab, number: string): Promise<void>
}

/** The Asterisk must have the contexts of {@link nakedContexts} and the trunks below. */
interface WaysLab {
  readonly server: AsteriskServer
  /** A Stasis application of whoever goes around, connected to the same Asterisk. */
  readonly app: string
  /** Takes what is to be done at the end, when no channel is left. */
  atEnd(end: () => Promise<unknown>): void
}

/** A trunk for gated calls that are answered, the context of its gate, and what may be dialled there. */
const gated = { trunk: 'trunk-manual', context: 'gate-manual', number: '2125550106' } as const

/** What a careless site may have: contexts that dial without asking, and one for answered calls. */
export const nakedContexts = `
[naked]
exten => _X.,1,Dial(PJSIP/\${EXTEN}@trunk)
[naked-ai]
exten => _X.,1,Dial(PJSIP/\${EXTEN}@trunk-ai)
[naked-open]
exten => _X.,1,Dial(PJSIP/\${EXTEN}@trunk-open)
[answered]
exten => s,1,Wait(30)
`

/** The gate refuses it: a litigator. */
const refused = '2125550105'

/** Right in form, as somebody would make it up who has seen others. */
const forged = `1.zzzzzzzz.0mwpj83s86ce52e66b0fb41ceaba1.${'A'.repeat(43)}`
const forgedVariable = `__CALLGATE_PERMIT=${forged}`

const onTrunk = (number: string) => `PJSIP/${number}@trunk`
const throughNaked = (number: string) => `Local/${number}@naked/n`
const talk = { Application: 'Wait', Data: '30' }

export const waysAround: readonly WayAround[] = [
  {
    name: 'Dial() in a context without the gate',
    number: refused,
    why: 'no-permit',
    async take({ server, atEnd }, number) {
      const patient = { giveUpAfterMs: 60_000 }
      const calls = await startCalls({ server, context: 'naked', numbers: [number], ...patient })
      atEnd(calls.kill)
    },
  },
  {
    name: 'AMI Originate with a forged permit',
    number: refused,
    why: 'no-caller',
    async take({ server }, number) {
      const channel = onTrunk(number)
      await server.originateByAmi({ Channel: channel, ...talk, Variable: forgedVariable })
    },
  },
  {
    name: 'AMI Originate into such a context with a forged permit',
    number: refused,
    why: 'permit-not-valid',
    async take({ server }, number) {
      const channel = throughNaked(number)
      await server.originateByAmi({ Channel: channel, ...talk, Variable: forgedVariable })
    },
  },
  {
    name: 'AMI Originate into such a context with the permit of a call to that very number',
    number: gated.number,
    why: 'permit-not-valid',
    async take(lab, number) {
      const variable = `__CALLGATE_PERMIT=${await permitOfLivingCall(lab)}`
      await lab.server.originateByAmi({
        Channel: throughNaked(number),
        ...talk,
        Variable: variable,
      })
    },
  },
  {
    name: 'a call file with a forged permit',
    number: refused,
    why: 'no-caller',
    async take({ server }, number) {
      server.callFile(callFile(onTrunk(number)))
    },
  },
  {
    name: 'a call file into such a context with a forged permit',
    number: refused,
    why: 'permit-not-valid',
    async take({ server }, number) {
      server.callFile(callFile(throughNaked(number)))
    },
  },
  {
    name: 'ARI originate with a forged permit',
    number: refused,
    why: 'no-caller',
    async take({ server }, number) {
      await originateByAri(server, onTrunk(number))
    },
  },
  {
    name: 'ARI originate into such a context with a forged permit',
    number: refused,
    why: 'permit-not-valid',
    async take({ server }, number) {
      await originateByAri(server, throughNaked(number))
    },
  },
  {
    name: 'ARI create and dial with a forged permit',
    number: refused,
    why: 'no-caller',
    async take({ server, app }, number) {
      expectDone(await createAndDial(server, { app, number }))
    },
  },
  {
    name: 'channel originate on the command line',
    number: refused,
    why: 'no-caller',
    async take({ server }, number) {
      await server.cli(`channel originate ${onTrunk(number)} application Wait 30`)
    },
  },
  {
    name: 'a transfer by the calling party of a gated call',
    number: refused,
    why: 'no-permit',
    async take(lab, number) {
      await gatedCall(lab, { transferTo: number })
    },
  },
  {
    name: 'a transfer by the called party of a gated call',
    number: refused,
    why: 'permit-not-valid',
    async take(lab, number) {
      await gatedCall(lab, { behaviour: { does: 'transfer', to: number } })
    },
  },
]

const callFile = (channel: string) => [
  `Channel: ${channel}`,
  `Setvar: ${forgedVariable}`,
  'Application: Wait',
  'Data: 30',
]

async function originateByAri(server: AsteriskServer, endpoint: string): Promise<void> {
  const place = { context: 'answered', extension: 's', priority: '1' }
  const variables = { __CALLGATE_PERMIT: forged }
  const query = { endpoint, formats: 'ulaw', ...place }
  expectDone(await server.ari('POST', '/channels', query, { variables }))
}

interface CreateAndDial {
  readonly app: string
  readonly number: string
}

/** A channel made in an application, which then has it dialled; gives the reply to the dialling. */
export async function createAndDial(
  server: AsteriskServer,
  { app, number }: CreateAndDial,
): Promise<AriReply> {
  const variables = { __CALLGATE_PERMIT: forged }
  const query = { endpoint: onTrunk(number), app, formats: 'ulaw' }
  const created = await server.ari('POST', '/channels/create', query, { variables })
  expectDone(created)
  const { id } = created.body as { id: string }
  return await until('the channel is in the application, or gone', async () => {
    const reply = await server.ari('POST', `/channels/${id}/dial`, { timeout: '30' })
    return reply.status !== 409 && reply
  })
}

function expectDone(reply: AriReply): void {
  if (reply.status >= 300) throw new Error(`not done: ${JSON.stringify(reply)}`)
}

interface GatedCallOptions {
  readonly behaviour?: TrunkBehaviour
  readonly transferTo?: string
}

/** An allowed call over a trunk of its own, which goes on until it is ended. */
async function gatedCall(
  { server, atEnd }: WaysLab,
  options: GatedCallOptions = {},
): Promise<RunningCalls> {
  const { behaviour = { does: 'answer' }, ...more } = options
  const trunk = await startTrunk({ server, trunk: gated.trunk, behaviour })
  atEnd(trunk.close)
  const { context, number } = gated
  const whole = { server, context, numbers: [number], hangUpAfterMs: 30_000, ...more }
  const calls = await startCalls(whole)
  atEnd(calls.kill)
  return calls
}

/** Genuine, and of a call that is under way. */
async function permitOfLivingCall(lab: WaysLab): Promise<string> {
  const { server } = lab
  const calls = await gatedCall(lab)
  await until('the gated call is answered', () => calls.placed()[0]?.status === 200)
  const { body } = await server.ari('GET', '/channels')
  const channels = body as readonly { readonly id: string; readonly name: string }[]
  const caller = channels.find(({ name }) => name.startsWith(`PJSIP/caller-${gated.context}-`))
  const about = { variable: 'CALLGATE_PERMIT' }
  const answer = await server.ari('GET', `/channels/${caller?.id}/variable`, about)
  const { value: permit } = answer.body as { value?: string }
  if (!permit) throw new Error(`no permit on the gated channel: ${JSON.stringify(answer)}`)
  return permit
}

/** Hangs up every channel there is, and waits until none is left. */
export async function hangUpAll(server: AsteriskServer): Promise<void> {
  await until('every channel is hung up', async () => {
    const { body } = await server.ari('GET', '/channels')
    const channels = body as readonly { readonly id: string }[]
    await Promise.all(channels.map(({ id }) => server.ari('DELETE', `/channels/${id}`)))
    return channels.length === 0
  })
}
