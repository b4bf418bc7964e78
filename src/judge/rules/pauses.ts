/** Whether somebody has paused such calls. */
import type { ReasonCode } from '../../domain/decision.js'
import type { Mandate, Pause } from '../../domain/mandate.js'
import { formatInstant } from '../../domain/time/dates.js'
import type { Said } from '../../domain/words/words.js'
import type { Judged, Rule } from '../judged.js'
import { createKeyFinding } from './key.js'

/** `number` is empty for a call to an extension or abroad. */
type AboutPauses = Pick<Judged, 'call' | 'law' | 'times' | 'stored'> & { readonly number: string }

export const pausesRule = {
  id: 'pauses',
  check: 'mandate',
  replaces: true,
  judge({ call, number, law, times: { now }, stored: { pauses } }: AboutPauses) {
    const deny = (reason: ReasonCode, said: Said) =>
      createKeyFinding({ verdict: 'deny', reason, says: [said] }, now)
    if (pauses === undefined) return undefined
    if (pauses === 'unread') {
      const says = [{ code: 'pauses-unread' }] as const
      return createKeyFinding({ verdict: 'unknown', reason: 'check-unanswered', says }, now)
    }
    const { accountId, keyId, mandate, callKind } = call
    const find = (subject: string) => pauses.find((one) => one.subject === subject)
    const ai = callKind === 'ai' ? (find('ai') ?? find(`ai:${accountId}`)) : undefined
    if (ai) return deny('ai-paused', { code: 'paused', ...toSaid(ai) })
    const key = keyId === undefined ? undefined : find(`key:${keyId}`)
    if (key) return deny('key-paused', { code: 'paused', ...toSaid(key) })
    const agents = mandate && isAgent(mandate) ? find(`agents:${accountId}`) : undefined
    if (agents) return deny('key-paused', { code: 'agents-paused', ...toSaid(agents) })
    const country = law.findCountry(number)
    const uncalled = country && find(`country:${country}:${accountId}`)
    if (!uncalled) return undefined
    const { params, quote } = toSaid(uncalled)
    return deny('foreign-number', {
      code: 'country-paused',
      params: { country, ...params },
      quote,
    })
  },
} as const satisfies Rule

/** A key for AI calls alone. */
const isAgent = ({ callKinds }: Mandate) =>
  callKinds !== 'any' && callKinds.length === 1 && callKinds.includes('ai')

const toSaid = ({ pausedAt, pausedBy: by, because: quote }: Pause) => ({
  params: { at: formatInstant(pausedAt), by },
  quote,
})
