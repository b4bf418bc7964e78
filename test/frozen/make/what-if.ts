/** Worlds of calls at other instants, and of previews. */
import type { World } from '../script.js'
import { change, type Pool } from './acts.js'
import { dayMs, hourMs, Maker } from './maker.js'
import {
  chooseCall,
  createProjects,
  importLists,
  projects,
  realNumbers,
  sandboxNumbers,
} from './own.js'
import { edges, merge, ownSettings } from './settings.js'

export function makeWhatIfWorld(seed: number, calls: number): World {
  const settings = merge(ownSettings[seed % ownSettings.length] ?? {}, edges)
  const maker = new Maker({
    name: `what-if-${seed}`,
    stratum: 'what-if',
    mode: 'own',
    seed,
    settings,
  })
  createProjects(maker)
  const isSandbox = seed % 3 > 0
  const numbers = isSandbox ? sandboxNumbers(maker, 60) : realNumbers(maker, 60)
  if (!isSandbox)
    importLists(maker, numbers, ['us-dnc', 'canada-dnc', 'litigators', 'state-dnc-tx'])
  const pool: Pool = {
    key: isSandbox ? 'sandbox' : 'main',
    numbers,
    projects,
    hasRegister: seed % 4 === 0,
  }
  while (maker.calls < calls) {
    if (maker.once(8)) change(maker, pool)
    if (maker.once(25)) maker.pass(maker.pick([hourMs, 7 * hourMs, dayMs]))
    else maker.pass(maker.pick([20, 20, 20, 20, 1_100, 4_000]))
    const isPreview = maker.once(2)
    const doors = isPreview ? (['preview'] as const) : (['decide'] as const)
    maker.call(
      chooseCall(maker, { pool, doors, ...(!(isPreview && maker.once(2)) && { whatIf: true }) }),
    )
  }
  return maker.world
}
