/**
 * `npm run bench [-- NAME ...] [--small|--full]`: measures and prints tables. Nothing here passes or fails;
 * every figure is shown with a baseline of the same run. docs/development.md says what each measures.
 */
import { benchAsterisk } from './asterisk.js'
import { benchAttempts } from './attempts.js'
import { benchBulk } from './bulk.js'
import { benchCerbos } from './cerbos.js'
import { benchCluster } from './cluster.js'
import { benchDecisions } from './decisions.js'
import { benchDisk } from './disk.js'
import { benchEdges } from './edges.js'
import { benchHolds } from './holds.js'
import { benchHostile } from './hostile.js'
import { benchHttp } from './http.js'
import { benchKept } from './kept.js'
import { benchLists } from './lists/lists.js'
import { machineFacts, watchMachine } from './machine.js'
import { benchMaintenance } from './maintenance.js'
import { benchSearch } from './search.js'
import { benchSoak } from './soak.js'
import { benchSources } from './sources.js'
import { benchStrangers } from './strangers.js'
import { benchSustained } from './sustained.js'

const benches = {
  decisions: benchDecisions,
  http: benchHttp,
  cerbos: benchCerbos,
  cluster: benchCluster,
  edges: benchEdges,
  attempts: benchAttempts,
  bulk: benchBulk,
  holds: benchHolds,
  hostile: benchHostile,
  strangers: benchStrangers,
  disk: benchDisk,
  soak: benchSoak,
  sustained: benchSustained,
  maintenance: benchMaintenance,
  kept: benchKept,
  search: benchSearch,
  lists: benchLists,
  sources: benchSources,
  asterisk: benchAsterisk,
} as const
type BenchName = keyof typeof benches

const names = Object.keys(benches) as BenchName[]
const words = process.argv.slice(2)
const small = words.includes('--small')
const full = words.includes('--full')
const wanted = words.filter((word) => word !== '--small' && word !== '--full')
const unknown = wanted.filter((name) => !names.includes(name as BenchName))

if (unknown.length > 0) {
  process.stderr.write(
    `bench: unknown benchmark '${unknown.join(' ')}'; must be ${names.join(', ')}\n`,
  )
  process.exitCode = 2
} else {
  process.stdout.write(machineFacts())
  for (const name of names) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    process.stdout.write(`\n${name}; repeat with: npm run bench -- ${name}\n`)
    const describeMeanwhile = watchMachine()
    await benches[name]({ small, full })
    process.stdout.write(describeMeanwhile())
  }
}
