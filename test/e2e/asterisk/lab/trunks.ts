/** The trunks of one Asterisk together: each a SIPp, and what arrived at any of them. */
import { type Arrival, startTrunk, type TrunkOptions } from './sipp-trunk.js'
import type { TrunkBehaviour } from './trunk-scenario.js'

export interface TrunkArrival extends Arrival {
  readonly trunk: string
}

export interface Trunks {
  /** INVITEs so far, trunk by trunk. */
  arrived(): readonly TrunkArrival[]
  /** Ends them all; gives SIPp's own count of the calls that were made to them. */
  close(): Promise<number>
}

export async function startTrunks(
  server: TrunkOptions['server'],
  behaviours: Readonly<Record<string, TrunkBehaviour>>,
): Promise<Trunks> {
  const trunks = await Promise.all(
    Object.entries(behaviours).map(async ([name, behaviour]) => ({
      name,
      trunk: await startTrunk({ server, trunk: name, behaviour }),
    })),
  )
  return {
    arrived: () =>
      trunks.flatMap(({ name, trunk }) => trunk.arrived().map((one) => ({ ...one, trunk: name }))),
    async close() {
      const counts = await Promise.all(trunks.map(({ trunk }) => trunk.close()))
      return counts.reduce((total, { created }) => total + created, 0)
    },
  }
}
