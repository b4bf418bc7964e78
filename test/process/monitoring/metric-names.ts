/** The metrics that may be queried, with their labels, as docs/metrics.md lists them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../../..')
const row = /^\| `(callgate_\w+)` +\| (\w+) +\| ([^|]+)\|/gm
const suffixes = ['_bucket', '_sum', '_count']

/** Not ours; which labels those have is not checked. */
const foreign = /^(?:up|asterisk_\w+|probe_\w+|nodejs_\w+|process_\w+|ALERTS)$/
/** What Prometheus adds to each series. */
const added = ['job', 'instance', 'le', '__name__']

function readMetrics(): ReadonlyMap<string, readonly string[]> {
  const metrics = new Map<string, readonly string[]>()
  for (const [, name = '', type, labels = ''] of readFileSync(
    join(root, 'docs/metrics.md'),
    'utf8',
  ).matchAll(row)) {
    const own = [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label ?? '')
    if (type !== 'histogram') metrics.set(name, own)
    else for (const suffix of suffixes) metrics.set(name + suffix, own)
  }
  return metrics
}

const selector = /\b([a-z_][a-z0-9_]*)\{([^}]*)\}/gi
const label = /(\w+)\s*(?:=~|!~|!=|=)/g
const grouping = /\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g

/** What in a PromQL expression names no metric, or no label of the metrics that it uses. */
export function findUnknownNames(expression: string): readonly string[] {
  const metrics = readMetrics()
  const unknown: string[] = []
  const known = new Set(added)
  let isForeign = false
  for (const [, name = '', matchers = ''] of expression.matchAll(selector)) {
    const labels = metrics.get(name)
    if (labels === undefined) {
      if (!foreign.test(name)) unknown.push(name)
      else isForeign = true
      continue
    }
    for (const one of labels) known.add(one)
    for (const [, used = ''] of matchers.matchAll(label)) {
      if (!labels.includes(used) && !added.includes(used)) unknown.push(`${name}{${used}}`)
    }
  }
  // Names of our metrics without a selector would query every callgate there is.
  for (const [bare = ''] of expression.matchAll(/\bcallgate_\w+(?![\w{])/g))
    unknown.push(`${bare} without {}`)
  for (const [, list = ''] of expression.matchAll(grouping)) {
    for (const used of list.split(',').map((one) => one.trim())) {
      if (used !== '' && !isForeign && !known.has(used)) unknown.push(`by (${used})`)
    }
  }
  return unknown
}
