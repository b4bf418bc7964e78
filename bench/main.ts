/**
 * `npm run bench [-- decisions|http|bulk|holds|hostile|lists|sources|asterisk] [--small]`: measures and prints tables.
 * Nothing here passes or fails; every figure is shown with a baseline of the same run. `--small`
 * is a quick form of the lists and the attack.
 */
import { benchAsterisk } from './asterisk.js'
import { benchBulk } from './bulk.js'
import { benchDecisions } from './decisions.js'
import { benchHolds } from './holds.js'
import { benchHostile } from './hostile.js'
import { benchHttp } from './http.js'
import { benchLists } from './lists/lists.js'
import { machineFacts } from './machine.js'
import { benchSources } from './sources.js'

const benches = {
  decisions: benchDecisions,
  http: benchHttp,
  bulk: benchBulk,
  holds: benchHolds,
  hostile: benchHostile,
  lists: benchLists,
  sources: benchSources,
  asterisk: benchAsterisk,
} as const
type BenchName = keyof typeof benches

const names = Object.keys(benches) as BenchName[]
const words = process.argv.slice(2)
const small = words.includes('--small')
const wanted = words.filter((word) => word !== '--small')
const unknown = wanted.filter((name) => !names.includes(name as BenchName))

if (unknown.length > 0) {
  process.stderr.write(
    `bench: '${unknown.join(' ')}' is no benchmark; there are ${names.join(', ')}\n`,
  )
  process.exitCode = 2
} else {
  process.stdout.write(machineFacts())
  for (const name of names) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    process.stdout.write(`\n${name}; repeat with: npm run bench -- ${name}\n`)
    await benches[name]({ small })
  }
}
