/** The rows of calling rules for people, and what differs between two states of them. */

/** One row in force. Days are `YYYY-MM-DD`; an open end is `null`. */
export interface RuleRow {
  /** Where it is in the file, such as `hours` or `holidays.juneteenth`. */
  readonly rule: string
  readonly value: string
  readonly from: string | null
  readonly until: string | null
  readonly citation: string
  readonly confidence: string | null
}

/** A row that differs; `null` on the side that has none. */
export interface RuleChange {
  readonly region: string
  readonly rule: string
  readonly before: RuleRow | null
  readonly after: RuleRow | null
}

/** Rows of one rule are compared in their order. */
export function compareRows(
  region: string,
  before: readonly RuleRow[],
  after: readonly RuleRow[],
): readonly RuleChange[] {
  const [old, next] = [groupByRule(before), groupByRule(after)]
  return [...new Set([...old.keys(), ...next.keys()])].flatMap((rule) => {
    const [from = [], to = []] = [old.get(rule), next.get(rule)]
    const count = Math.max(from.length, to.length)
    return Array.from({ length: count }, (_, index): RuleChange => {
      return { region, rule, before: from[index] ?? null, after: to[index] ?? null }
    }).filter((change) => JSON.stringify(change.before) !== JSON.stringify(change.after))
  })
}

function groupByRule(rows: readonly RuleRow[]): ReadonlyMap<string, readonly RuleRow[]> {
  const groups = new Map<string, RuleRow[]>()
  for (const row of rows) groups.set(row.rule, [...(groups.get(row.rule) ?? []), row])
  return groups
}
