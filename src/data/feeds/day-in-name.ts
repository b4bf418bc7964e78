/** The day a downloaded file bears in its name. */
import { type LocalDay, parseDay } from '../../domain/clock.js'

/**
 * The day that stands right after `prefix`, or else anywhere in the name, such as 2026-11-18;
 * `undefined` when there is none, `several` when the name has different ones.
 */
export function dayInName(name: string, prefix = ''): LocalDay | 'several' | undefined {
  const found = [...name.matchAll(/(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)/g)].flatMap(
    ({ 0: text, index }) => {
      const day = parseDay(text)
      return day === undefined ? [] : [{ day, after: name.slice(0, index) }]
    },
  )
  const marked = found.filter(({ after }) => prefix !== '' && after.endsWith(prefix))
  const days = new Set((marked.length > 0 ? marked : found).map(({ day }) => day))
  if (days.size > 1) return 'several'
  return [...days][0]
}
