import { Histogram, type Registry } from 'prom-client'

/** What prom-client keeps for each value of the label; it has no method to set it. */
interface Distribution {
  /** By upper bound; not cumulated. */
  readonly bucketValues: Record<number, number>
  sum: number
  count: number
}

/**
 * A histogram with at most one label, which is counted in plain numbers until the metrics are read. The returned function adds an observation, which must
 * be a finite number, with the value of the label if there is one.
 */
export function createTallyHistogram(
  registry: Registry,
  about: {
    readonly name: string
    readonly help: string
    readonly label?: string
    readonly buckets: readonly number[]
  },
): (observed: number, labelValue?: string) => void {
  const { label, buckets } = about
  const tallies = new Map<string, { readonly counts: number[]; sum: number }>()
  const begin = (labelValue: string) => {
    const tally = { counts: new Array<number>(buckets.length + 1).fill(0), sum: 0 }
    tallies.set(labelValue, tally)
    return tally
  }
  // A histogram without a label is there from the start.
  if (label === undefined) begin('')
  new Histogram({
    name: about.name,
    help: about.help,
    labelNames: label === undefined ? [] : [label],
    buckets: [...buckets],
    registers: [registry],
    collect() {
      this.reset()
      for (const value of tallies.keys()) this.zero(label === undefined ? {} : { [label]: value })
      const { hashMap } = this as unknown as { readonly hashMap: Record<string, Distribution> }
      const distributions = Object.values(hashMap)
      for (const [index, { counts, sum }] of [...tallies.values()].entries()) {
        const distribution = distributions[index] as Distribution
        distribution.sum = sum
        for (const [bucket, count] of counts.entries()) {
          distribution.count += count
          const upperBound = buckets[bucket]
          if (upperBound !== undefined) distribution.bucketValues[upperBound] = count
        }
      }
    },
  })
  return (observed, labelValue = '') => {
    const tally = tallies.get(labelValue) ?? begin(labelValue)
    let bucket = 0
    while (observed > (buckets[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1
    tally.counts[bucket] = (tally.counts[bucket] ?? 0) + 1
    tally.sum += observed
  }
}
