/** Whether somebody has paused such calls. */
import type { Finding, ReasonCode } from '../../domain/decision.js'
import type { Mandate, Pause } from '../../domain/mandate.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { Said } from '../../domain/words/words.js'
import type { Judged, Rule } from '../judged.js'
import { createKeyFinding } from './key.js'

type AboutPauses = Pick<Judged, 'call' | 'number' | 'law' | 'now'> & {
  readonly stored: Pick<Judged['stored'], 'pauses'>
}

export const pausesRule: Rule<AboutPauses> = {
  judge({ call, number, law, now, stored: { pauses } }): Finding | undefined {
    const deny = (reason: ReasonCode, said: Said) =>
      createKeyFinding({ verdict: 'deny', reason, says: [said] }, now)
    if (pauses === undefined) {
      const says = [{ code: 'pauses-unread' }] as const
      return createKeyFinding({ verdict: 'unknown', reason: 'check-unanswered', says }, now)
    }
    if (pauses.size === 0) return undefined
    const { accountId, keyId, mandate, callKind } = call
    const ai = callKind === 'ai' ? (pauses.get('ai') ?? pauses.get(`ai:${accountId}`)) : undefined
    if (ai) return deny('ai-paused', { code: 'paused', ...toSaid(ai) })
    const key = keyId === undefined ? undefined : pauses.get(`key:${keyId}`)
    if (key) return deny('key-paused', { code: 'paused', ...toSaid(key) })
    const agents = mandate && isAgent(mandate) ? pauses.get(`agents:${accountId}`) : undefined
    if (agents) return deny('key-paused', { code: 'agents-paused', ...toSaid(agents) })
    const country = law.findCountry(number)
    const uncalled = country && pauses.get(`country:${country}:${accountId}`)
    if (!uncalled) return undefined
    const { params, quote } = toSaid(uncalled)
    return deny('foreign-number', {
      code: 'country-paused',
      params: { country, ...params },
      quote,
    })
  },
}

/** A key for AI calls alone. */
const isAgent = ({ callKinds }: Mandate) =>
  callKinds !== 'any' && callKinds.length === 1 && callKinds.includes('ai')

const toSaid = ({ pausedAt, pausedBy: by, because: quote }: Pause) => ({
  params: { at: formatInstant(pausedAt), by },
  quote,
})
