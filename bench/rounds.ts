/**
 * Repeats measurements and prints the results. Contenders take turns, so that other load on the machine
 * affects all of them alike.
 */

export interface Contender {
  readonly name: string
  /** Returns one measured value, in the unit of the table. */
  readonly run: () => number | Promise<number>
  /** Shown after the row, such as a goal. */
  readonly note?: string
}

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** The values of each contender, round by round, in the contenders' order. */
async function takeTurns(
  contenders: readonly Pick<Contender, 'run'>[],
  rounds: number,
): Promise<readonly (readonly number[])[]> {
  const values: number[][] = contenders.map(() => [])
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { run }] of contenders.entries()) values[index]?.push(await run())
  }
  return values
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((one, other) => one - other)
  const at = (index: number) => sorted[index] ?? Number.NaN
  const middle = (sorted.length - 1) / 2
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    min: at(0),
    max: at(sorted.length - 1),
  }
}

/** Measures the contenders in turns and prints a row for each; returns the medians. */
export async function compare(
  title: string,
  contenders: readonly Contender[],
  rounds: number,
): Promise<readonly number[]> {
  const values = await takeTurns(contenders, rounds)
  const spreads = values.map(spreadOf)
  const rows = spreads.map(({ median, min, max }, index) => [
    contenders[index]?.name ?? '',
    figure(median),
    range({ median, min, max }),
    contenders[index]?.note ?? '',
  ])
  printTable([title, 'median', `min .. max of ${rounds}`, ''], rows)
  return spreads.map(({ median }) => median)
}

/** Three significant digits; all digits of an integer. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '-'
  return Math.abs(value) >= 100
    ? Math.round(value).toLocaleString('en-US')
    : String(Number(value.toPrecision(3)))
}

export function range({ min, max }: Spread): string {
  return `${figure(min)} .. ${figure(max)}`
}

/** The first column is text, the others are right-aligned figures; an empty last column is omitted. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (row: readonly string[]) =>
    row
      .map((text, column) => {
        const width = widths[column] ?? 0
        return column === 0 || column > 2 ? text.padEnd(width) : text.padStart(width)
      })
      .join('  ')
      .trimEnd()
  const all = [head, widths.map((width) => '-'.repeat(width)), ...rows]
  process.stdout.write(`${all.map((row) => `  ${line(row)}`).join('\n')}\n`)
}
