/** The metrics of a server as they are now: asked more often than once a second for long, it repeats those of the last second. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Credit } from '../../src/http/limits/credit.js'

/** What the server has left for each address, counted with a reserve for its later clock. */
const credits = new Map<string, Credit>()

export async function fetchMetrics(url: string, options: RequestInit = {}): Promise<string> {
  const credit = credits.get(url) ?? new Credit(0.9, 8)
  credits.set(url, credit)
  while (credit.left < 1) await sleep(50)
  credit.take(1)
  const response = await fetch(`${url}/metrics`, options)
  return await response.text()
}
