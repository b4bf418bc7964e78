/**
 * Whether two words are equal or one slip apart: a letter that is missing, too many, wrong, or
 * swapped with its neighbor.
 */
export function isOneEdit(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1) return false
  let at = 0
  while (at < one.length && one[at] === other[at]) at += 1
  const [rest, otherRest] = [one.slice(at), other.slice(at)]
  const isSwapped =
    rest.length > 1 && rest[0] === otherRest[1] && rest[1] === otherRest[0]
      ? rest.slice(2) === otherRest.slice(2)
      : false
  return (
    rest.slice(1) === otherRest.slice(1) ||
    rest.slice(1) === otherRest ||
    rest === otherRest.slice(1) ||
    isSwapped
  )
}
