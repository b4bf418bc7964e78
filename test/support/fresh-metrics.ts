/** The current metrics of a server, which repeats the last ones when it is asked more often than it makes them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Credit } from '../../src/http/limits/credit.js'

/** By server, with a reserve: it counts a request a little later than we do. */
const credits = new Map<string, Credit>()

export async function fetchMetrics(url: string, options: RequestInit = {}): Promise<string> {
  const credit = credits.get(url) ?? new Credit(0.9, 8)
  credits.set(url, credit)
  while (credit.left < 1) await sleep(50)
  credit.take(1)
  const response = await fetch(`${url}/metrics`, options)
  return await response.text()
}
