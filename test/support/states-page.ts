/** The rows of docs/states.md, and what a server shows compared with them. */
import { join } from 'node:path'
import { expect } from 'vitest'
import { tableRows } from './markdown-table.js'
import { callgate, type Serving } from './program.js'

const statesPage = join(import.meta.dirname, '../../docs/states.md')

export const stateRows = tableRows(statesPage).filter((row) => row.has('State'))

const plain = (text: string) => text.replaceAll('`', '')

/** By column. Throws for a state that the page does not have. */
export function cellsOf(state: string): Readonly<Record<string, string>> {
  const row = stateRows.find((one) => one.get('State') === state)
  if (!row) throw new Error(`docs/states.md has no state '${state}'`)
  return Object.fromEntries([...row].map(([name, text]) => [plain(name), plain(text)]))
}

/** Where somebody looks at a server, each in the words of the page. */
export interface ShownState {
  callGets(): Promise<string>
  readiness(): Promise<string>
  /** The subjects of what is to be done now. */
  doctor(): Promise<string>
  metrics(): Promise<string>
}

export interface CheckAnswer {
  readonly name: string
  readonly ready: boolean
}

export function describeReadiness(checks: readonly CheckAnswer[]): string {
  const failed = checks.filter(({ ready }) => !ready).map(({ name }) => name)
  return failed.length === 0 ? '200' : `503 ${failed.join(', ')}`
}

/** The machine of the tests decides what the disk has left, and whose files these are. */
const ofMachine: ReadonlySet<string> = new Set(['disk', 'files'])

export function describeSubjects(subjects: readonly string[]): string {
  const found = new Set(subjects.filter((subject) => !ofMachine.has(subject)))
  return [...found].sort().join(', ') || 'nothing'
}

/**
 * The state has been set up. A call counts more the later it came, so it is asked until earlier ones are outweighed.
 */
export async function expectState(
  state: string,
  { callGets, readiness, doctor, metrics }: ShownState,
): Promise<void> {
  const { 'A call gets': gets = '', '/readyz': ready, 'Doctor: now': now, Metric } = cellsOf(state)
  const either = gets.split(' or ')
  const look = async () => {
    const got = await callGets()
    return [either.includes(got) ? gets : got, await readiness()]
  }
  await expect.poll(look, { interval: 5 }).toEqual([gets, ready])
  // A server that nobody asks is judged by its probes alone.
  const asked = async <Result>(read: () => Promise<Result>) => {
    await callGets()
    return await read()
  }
  await expect.poll(() => asked(doctor)).toBe(now)
  const pattern = new RegExp(`^${Metric?.replace('}', '.*}')} ([1-9]|0$)`, 'm')
  const isZero = async () => pattern.exec(await asked(metrics))?.[1] === '0'
  await expect.poll(isZero).toBe(Metric?.startsWith('callgate_ready'))
}

/** Of the built program with its environment. `call` is the body of a decision. */
export function shownBy(
  serving: Serving,
  environment: Readonly<Record<string, string>>,
  call: object,
): ShownState {
  const { url, keys } = serving
  const get = (path: string) => fetch(`${url}${path}`, { headers: { connection: 'close' } })
  return {
    async callGets() {
      const response = await fetch(`${url}/v1/decisions`, {
        method: 'POST',
        headers: {
          loginId: keys.main,
          'content-type': 'application/json',
          connection: 'close',
        },
        body: JSON.stringify(call),
      })
      const { decision, reason } = (await response.json()) as { decision?: string; reason: string }
      return decision === undefined ? `status ${response.status}` : `${decision} ${reason}`
    },
    async readiness() {
      const { checks } = (await (await get('/readyz')).json()) as { checks: CheckAnswer[] }
      return describeReadiness(checks)
    },
    async doctor() {
      const { out } = await callgate(['doctor', '--url', url], environment)
      return describeSubjects(
        [...out.matchAll(/^\[NOW \] ([^:]+):/gm)].map(([, name = '']) => name),
      )
    },
    metrics: async () => await (await get('/metrics')).text(),
  }
}
