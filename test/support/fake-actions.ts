/** An Asterisk that does what it is told, fails, or answers when the test says so. */

import type {
  AsteriskActions,
  AsteriskChannel,
  DialplanLocation,
  HangupReason,
} from '../../src/asterisk/asterisk-port.js'
import { AriError, type AriErrorKind } from '../../src/asterisk/asterisk-port.js'

export type ActionName = keyof AsteriskActions
/** `later`: waits for `answer()`; `hidden fault`: rejects with an error that is no `AriError`. */
export type Behaviour = 'done' | 'later' | 'hidden fault' | AriErrorKind

interface Held {
  readonly name: ActionName
  readonly settle: (how: Exclude<Behaviour, 'later'>) => void
}

export class FakeActions implements AsteriskActions {
  /** What was asked for, in order: `resume c1`, `resume c1 blocked,s,1`, `hangup c1 congestion`. */
  readonly asked: string[] = []
  /** What each channel was set to last. */
  readonly set = new Map<string, Readonly<Record<string, string>>>()
  /** What `variable()` finds, by name. */
  readonly variables = new Map<string, string>()
  /** Whether `claim()` wins. */
  claimWins = true
  readonly #behaviour = new Map<ActionName, Behaviour>()
  readonly #held: Held[] = []
  readonly #watchers: { readonly wanted: string; readonly resolve: () => void }[] = []

  /** Until told otherwise every action is done at once. */
  will(name: ActionName, behaviour: Behaviour): void {
    this.#behaviour.set(name, behaviour)
  }

  /** Resolves once an action beginning with `wanted` has been asked for, such as `resume c1`. */
  whenAsked(wanted: string): Promise<void> {
    if (this.asked.some((line) => line.startsWith(wanted))) return Promise.resolve()
    return new Promise((resolve) => {
      this.#watchers.push({ wanted, resolve })
    })
  }

  /** Ends the oldest action of the name that was told to answer later. */
  answer(name: ActionName, how: Exclude<Behaviour, 'later'> = 'done'): void {
    const at = this.#held.findIndex((held) => held.name === name)
    const [held] = this.#held.splice(at, at < 0 ? 0 : 1)
    if (!held) throw new Error(`no ${name} waits for an answer`)
    held.settle(how)
  }

  setVariables(channelId: string, values: Readonly<Record<string, string>>): Promise<void> {
    const done = () => void this.set.set(channelId, values)
    return this.#act('setVariables', `setVariables ${channelId}`, done)
  }

  getVariable(channelId: string, name: string): Promise<string | undefined> {
    return this.#act('getVariable', `variable ${channelId} ${name}`, () => this.variables.get(name))
  }

  resume(channelId: string, place?: DialplanLocation): Promise<void> {
    const where = place ? ` ${place.context},${place.extension},${place.priority}` : ''
    return this.#act('resume', `resume ${channelId}${where}`, () => undefined)
  }

  hangup(channelId: string, reason: HangupReason): Promise<void> {
    return this.#act('hangup', `hangup ${channelId} ${reason}`, () => undefined)
  }

  claim(channelId: string): Promise<boolean> {
    return this.#act('claim', `claim ${channelId}`, () => this.claimWins)
  }

  #act<Result>(name: ActionName, line: string, done: () => Result): Promise<Result> {
    this.asked.push(line)
    const behaviour = this.#behaviour.get(name) ?? 'done'
    const acted = new Promise<Result>((resolve, reject) => {
      const settle: Held['settle'] = (how) => {
        if (how === 'done') resolve(done())
        else reject(how === 'hidden fault' ? new Error('broken') : new AriError(how, name, how))
      }
      if (behaviour === 'later') this.#held.push({ name, settle })
      else settle(behaviour)
    })
    for (const { wanted, resolve } of this.#watchers) if (line.startsWith(wanted)) resolve()
    return acted
  }
}

/** A channel as it enters our application. */
export function aChannel(more: Partial<AsteriskChannel> = {}): AsteriskChannel {
  return {
    id: 'c1',
    name: 'PJSIP/caller-00000001',
    callerNumber: '',
    variables: {},
    application: { name: 'Stasis', data: 'callgate,2125550100,kind=ai' },
    ...more,
  }
}
