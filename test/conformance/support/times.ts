/** Instants by the clock of a place, for the cases about calling hours. */

const dayMs = 86_400_000

/** The instant at which clocks of a zone show a local time; none of the days used has two. */
export function instantAt(zone: string, day: string, time: string): string {
  const wanted = Date.parse(`${day}T${time}Z`)
  let at = wanted
  // Twice, since the first guess may lie on the other side of a change of clocks.
  for (let turn = 0; turn < 2; turn += 1) at += wanted - shownAt(zone, at)
  return iso(at)
}

/** What clocks of the zone show, as if it were UTC. */
function shownAt(zone: string, at: number): number {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(at)
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? ''
  const day = `${part('year')}-${part('month')}-${part('day')}`
  return Date.parse(`${day}T${part('hour')}:${part('minute')}:${part('second')}Z`)
}

export function iso(at: number): string {
  return new Date(at).toISOString().replace('.000Z', 'Z')
}

/** `YYYY-MM-DD` of so many days after today, in UTC. */
export function dayFromToday(days: number): string {
  return new Date(Date.now() + days * dayMs).toISOString().slice(0, 10)
}

/** The same date so many years on or back; 29 February becomes 1 March. */
export function instantInYears(years: number, moreDays = 0): string {
  const date = new Date(Date.now() + moreDays * dayMs)
  date.setUTCFullYear(date.getUTCFullYear() + years)
  return iso(Math.floor(date.getTime() / 1000) * 1000)
}

/** `MM/DD/YYYY`. */
export function american(day: string): string {
  return `${day.slice(5, 7)}/${day.slice(8, 10)}/${day.slice(0, 4)}`
}

/** The day so many months after a day; the last one of a shorter month. */
export function monthsAfter(day: string, months: number): string {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number)
  const last = new Date(Date.UTC(year, month - 1 + months + 1, 0)).getUTCDate()
  return new Date(Date.UTC(year, month - 1 + months, Math.min(date, last)))
    .toISOString()
    .slice(0, 10)
}
