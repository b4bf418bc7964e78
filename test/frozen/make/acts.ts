/** What changes between calls, in every world. */
import { dayMs, type Maker } from './maker.js'

export interface Pool {
  /** Key of the account's administrator. */
  readonly key: string
  readonly numbers: readonly string[]
  readonly projects: readonly string[]
  /** Whether the account has a register of its own numbers, and its calls mostly show one. */
  readonly hasRegister?: boolean
}

const rpc = '/app/main/rpc'

export function optOut(maker: Maker, { key, numbers, projects }: Pool): void {
  const number = maker.pick(numbers)
  const projectId = maker.pick([undefined, ...projects])
  if (maker.once(2)) {
    maker.send({
      method: 'POST',
      path: '/v1/opt-outs',
      key,
      body: { number, projectId, said: 'stop' },
    })
  } else {
    const query = `phoneList=${number}&actionType=add${projectId ? `&projId=${projectId}` : ''}`
    maker.send({ method: 'GET', path: `${rpc}/pdnc?${query}`, key })
  }
}

function takeOff(maker: Maker, { key, numbers }: Pool): void {
  const some = numbers.slice(maker.below(numbers.length)).slice(0, 12).join(',')
  maker.send({ method: 'GET', path: `${rpc}/pdnc?phoneList=${some}&actionType=remove`, key })
}

export function storeRecord(maker: Maker, { key, numbers, projects }: Pool): void {
  const projId = maker.pick([undefined, undefined, ...projects])
  const ebrList = Array.from({ length: 1 + maker.below(3) }, () => ({
    phoneNumber: maker.pick(numbers),
    type: maker.pick(['P', 'P', 'P', 'S', 'I', 'T']),
    dateOfLastContact: maker.day(-maker.pick([0, 0, 1, 20, 80, 100, 200, 500])),
  }))
  maker.send({ method: 'POST', path: `${rpc}/ebr`, key, body: { ebrList, projId } })
}

function giveConsent(maker: Maker, { key, numbers, projects }: Pool): void {
  const givenMs = maker.pick([0, 60_000, dayMs, 40 * dayMs, 200 * dayMs])
  const body = {
    number: maker.pick(numbers),
    givenAt: maker.instant(-givenMs),
    seller: 'Acme Inc.',
    channel: maker.pick(['web', 'phone', 'paper']),
    method: maker.pick(['oral', 'recorded', 'written']),
    wording: 'I agree to calls.',
    projectId: maker.pick([undefined, undefined, ...projects]),
    kinds: maker.pick([undefined, undefined, ['ai'], ['manual', 'autodialed']]),
    purposes: maker.pick([undefined, undefined, undefined, ['telemarketing']]),
    endsOn: maker.pick([undefined, undefined, maker.day(givenMs > 2 * dayMs ? -1 : 30)]),
    certificate: maker.pick([undefined, 'https://witness.example/1']),
  }
  maker.send({ method: 'POST', path: '/v1/consents', key, body: removeEmpty(body) })
}

export function addCallerIds(maker: Maker, { key, numbers, projects }: Pool): void {
  const own = maker.pick(numbers)
  const ends = maker.once(4)
  const entry = {
    number: `${own.slice(0, 3)}5550${150 + maker.below(6)}`,
    owner: 'Acme Inc.',
    proof: 'invoice 7',
    projectId: maker.pick([undefined, undefined, ...projects]),
    from: !ends && maker.once(4) ? maker.instant(dayMs) : undefined,
    until: ends ? maker.instant(2 * 3_600_000) : undefined,
    presence: maker.pick([undefined, 'office']),
  }
  maker.send({
    method: 'POST',
    path: '/v1/caller-ids',
    key,
    body: { callerIds: [removeEmpty(entry)] },
  })
}

export function removeEmpty<T extends object>(value: T): Partial<T> {
  const given = Object.entries(value).filter(([, one]) => one !== undefined)
  return Object.fromEntries(given) as Partial<T>
}

/** Now and then one of what people do. */
export function change(maker: Maker, pool: Pool): void {
  const what = maker.below(10)
  if (what < 2) optOut(maker, pool)
  else if (what === 2) takeOff(maker, pool)
  else if (what < 6) storeRecord(maker, pool)
  else if (what < 9) giveConsent(maker, pool)
  else if (pool.hasRegister) addCallerIds(maker, pool)
  // What was read before is read again.
  maker.pass(1_001)
}
