/** What values of fields may be, in the specification's words. */

export const isText = (value: unknown): value is string => typeof value === 'string'

export const isTextOrNull = (value: unknown) => value === null || isText(value)

export const isInteger = (value: unknown): value is number => Number.isInteger(value)

export const isCount = (value: unknown) => isInteger(value) && value >= 0

export const isInt32 = (value: unknown) => isInteger(value) && Math.abs(value) < 2 ** 31

export const isTrueOrFalse = (value: unknown) => typeof value === 'boolean'

export const isTrueFalseOrNull = (value: unknown) => value === null || isTrueOrFalse(value)

export const isTenDigits = (value: unknown) => isText(value) && /^\d{10}$/.test(value)

export const isUuid = (value: unknown) =>
  isText(value) && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)

export const isOneOf = (words: readonly unknown[]) => (value: unknown) => words.includes(value)

/** `MM/DD/YYYY HH:MM:SS`, a time that exists. */
export const isComplaintTime = (value: unknown) => {
  const parts = isText(value) && /^(\d\d)\/(\d\d)\/(\d{4}) (\d\d:\d\d:\d\d)$/.exec(value)
  return parts
    ? !Number.isNaN(Date.parse(`${parts[3]}-${parts[1]}-${parts[2]}T${parts[4]}Z`))
    : false
}

/** `YYYY-MM-DD`, a day that exists. */
export const isDay = (value: unknown) =>
  isText(value) &&
  /^\d{4}-\d\d-\d\d$/.test(value) &&
  !Number.isNaN(Date.parse(`${value}T00:00:00Z`)) &&
  new Date(`${value}T00:00:00Z`).toISOString().startsWith(value)

export const isDayOrNull = (value: unknown) => value === null || isDay(value)

/** ISO 8601 in UTC, such as `2026-11-23T17:00:00Z`. */
export const isUtcTimestamp = (value: unknown) =>
  isText(value) &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)$/.test(value) &&
  !Number.isNaN(Date.parse(value))

export const isOptional = (holds: (value: unknown) => boolean) => (value: unknown) =>
  value === null || holds(value)

/** Each starts with a capital letter and has letters and digits alone. */
export const isPascalCase = (name: string) => /^[A-Z][A-Za-z0-9]*$/.test(name)
