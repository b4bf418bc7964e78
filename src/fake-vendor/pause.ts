/** Waits for a while, but no longer than somebody waits for the answer. */
import type { ServerResponse } from 'node:http'
import type { Timers } from '../domain/clock.js'

/** Gives whether the connection is still there; at once when it goes, and for no time at all. */
export function pause(response: ServerResponse, ms: number, timers: Timers): Promise<boolean> {
  const isOpen = () => !response.destroyed && response.socket?.destroyed === false
  if (ms <= 0 || !isOpen()) return Promise.resolve(isOpen())
  return new Promise((resolve) => {
    const end = () => {
      callOff()
      response.off('close', end)
      resolve(isOpen())
    }
    const callOff = timers.after(ms, end)
    response.once('close', end)
  })
}
